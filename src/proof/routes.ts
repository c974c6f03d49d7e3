import { type Context, today } from '../core/context.ts';
import type { LongReads } from '../core/database/long-reads.ts';
import { callerOf } from '../core/http/access.ts';
import type { Api } from '../core/http/api.ts';
import { Envelope, ok } from '../core/http/envelope.ts';
import type { PlainDate } from '../core/values/dates.ts';
import { Proof, ProofQuery } from './schema.ts';
import { PROOF_READS } from './store.ts';
import { readProof } from './view.ts';

export function proofRoutes(api: Api, context: Context, verifier: LongReads): void {
  api.get(
    '/reports/proof',
    {
      config: { access: 'reports:read', rate: 'bulk', answerTimeoutMs: PROOF_READS.timeoutMs },
      schema: {
        tags: ['Reports'],
        operationId: 'getProof',
        summary: 'Run all checks on the books',
        description:
          'Compares the payments of a day with the ledger, and runs every check on the whole database, in one snapshot. ' +
          'Takes many seconds for large books. Answers 503 while another proof runs.',
        querystring: ProofQuery,
        response: { 200: Envelope(Proof, 'Proof made.') },
      },
    },
    async (request) => {
      const day = (request.query.date as PlainDate | undefined) ?? today(context);
      const proof = await verifier.read(callerOf(request), (tx) => readProof(tx, context.currency, day));
      return ok(proof, 'Proof made.');
    },
  );
}
