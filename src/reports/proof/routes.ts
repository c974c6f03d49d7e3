import { type Context, today } from '../../core/context.ts';
import type { SnapshotReads } from '../../core/database/snapshot-reads.ts';
import { callerOf } from '../../core/http/access.ts';
import type { Api } from '../../core/http/api.ts';
import { Envelope, ok } from '../../core/http/envelope.ts';
import { setSnapshotAge } from '../../core/http/snapshot-age.ts';
import { recordResult } from './check-books-unattended.ts';
import { findLastResult } from './result-store.ts';
import { LastProof, Proof, ProofQuery } from './schema.ts';
import { readProof, toLastProof } from './view.ts';

export function proofRoutes(api: Api, context: Context, verifier: SnapshotReads): void {
  api.get(
    '/reports/proof',
    {
      config: {
        access: 'reports:read',
        rate: 'bulk',
        answerTimeoutMs: context.config.limits.proofMs,
        snapshot: true,
      },
      schema: {
        tags: ['Reports'],
        operationId: 'getProof',
        summary: 'Run all checks on the books',
        description:
          'A proof compares the payments of a day with the ledger, and runs every check on the whole database, in one ' +
          'snapshot. For large books, a proof takes many seconds. Only one proof runs at a time, and other requests wait. A ' +
          'request that waits too long gets 503, or 429 if the same caller runs the current proof.',
        querystring: ProofQuery,
        response: { 200: Envelope(Proof, 'Proof made.') },
      },
    },
    async (request, reply) => {
      const day = request.query.date ?? today(context);
      const { value: proof, takenAtMs } = await verifier.read(callerOf(request), (tx) =>
        readProof(tx, context.currency, day),
      );
      await recordResult(context.db, proof);
      setSnapshotAge(reply, takenAtMs);
      return ok(proof, 'Proof made.');
    },
  );

  api.get(
    '/reports/proof/last',
    {
      config: { access: 'reports:read' },
      schema: {
        tags: ['Reports'],
        operationId: 'getLastProof',
        summary: 'Show the result of the last checks',
        description:
          'The service runs all checks once a day, after 02:00 of the business time zone. `npm run verify` and `GET /reports/proof` also store their result.',
        response: { 200: Envelope(LastProof, 'Result found.') },
      },
    },
    async () => ok(toLastProof(await findLastResult(context.db), context.clock.now()), 'Result found.'),
  );
}
