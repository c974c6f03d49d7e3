import type { Context } from '../../core/context.ts';
import { actorOf } from '../../core/http/access.ts';
import type { Api } from '../../core/http/api.ts';
import { Envelope, ListEnvelope, ok, okList } from '../../core/http/envelope.ts';
import { notFound } from '../../core/http/errors.ts';
import { IdParams } from '../../core/http/fields.ts';
import { answerOnce } from '../../core/http/idempotency.ts';
import { reconcile } from './reconcile.ts';
import { ReconcileBody, Reconciliation, ReconciliationResult, reconciliationList } from './schema.ts';
import { findReconciliation, listReconciliations } from './store.ts';
import { toReconciliation } from './view.ts';

/** PostgreSQL can need some seconds to read 10,000 payments from disk. After a time-out, repeating the request is safe. */

export function reconciliationRoutes(api: Api, context: Context): void {
  const { db, currency } = context;

  api.post(
    '/payments/reconcile',
    {
      config: {
        access: 'reconciliations:create',
        rate: 'bulk',
        repeatable: true,
        answerTimeoutMs: context.config.limits.bulkAnswerMs,
      },
      schema: {
        tags: ['Reconciliation'],
        operationId: 'reconcilePayments',
        summary: 'Reconcile up to 10,000 payments',
        description:
          'The service creates one batch of the payments that are not reconciled yet, and returns the result of each id. ' +
          'Unmatched payments can be reconciled. Reversed payments and payments dated after the batch cannot be reconciled. Repeating ' +
          'the request changes nothing.',
        body: ReconcileBody,
        response: { 200: Envelope(ReconciliationResult, 'Payments reconciled.') },
      },
    },
    async (request, reply) =>
      answerOnce(context, request, reply, async (txContext) =>
        ok(await reconcile(txContext, actorOf(request), request.body), 'Payments reconciled.'),
      ),
  );

  api.get(
    '/reconciliations',
    {
      config: { access: 'reconciliations:read' },
      schema: {
        tags: ['Reconciliation'],
        operationId: 'listReconciliations',
        summary: 'List reconciliation batches',
        querystring: reconciliationList.query,
        response: { 200: ListEnvelope(Reconciliation, 'Reconciliations found.') },
      },
    },
    async (request) => {
      const page = await listReconciliations(db, request.query);
      const rows = page.rows.map((row) => toReconciliation(row, currency));
      return okList({ ...page, rows }, 'Reconciliations found.');
    },
  );

  api.get(
    '/reconciliations/:id',
    {
      config: { access: 'reconciliations:read', errors: ['NOT_FOUND'] },
      schema: {
        tags: ['Reconciliation'],
        operationId: 'getReconciliation',
        summary: 'Get a reconciliation batch',
        description: 'To list the payments of the batch, use GET /payments?filter[reconciliationId]=:id.',
        params: IdParams,
        response: { 200: Envelope(Reconciliation, 'Reconciliation found.') },
      },
    },
    async (request) => {
      const batch = await findReconciliation(db, request.params.id);
      if (!batch) throw notFound('reconciliation', request.params.id);
      return ok(toReconciliation(batch, currency), 'Reconciliation found.');
    },
  );
}
