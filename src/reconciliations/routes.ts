import type { Context } from '../core/context.ts';
import { actorOf } from '../core/http/access.ts';
import type { Api } from '../core/http/api.ts';
import { Envelope, ListEnvelope, ok, okList } from '../core/http/envelope.ts';
import { notFound } from '../core/http/errors.ts';
import { IdParams } from '../core/http/fields.ts';
import { repeatable } from '../core/http/idempotency.ts';
import { reconcile } from './commands.ts';
import { ReconcileBody, Reconciliation, ReconciliationResult, reconciliationList } from './schema.ts';
import { findReconciliation, listReconciliations } from './store.ts';

/**
 * 10,000 payments that are not in the memory of the database take some seconds. A service that stops does not wait
 * as long: the caller asks again, which is safe.
 */
const LONGEST_BATCH_MS = 30_000;

export function reconciliationRoutes(api: Api, context: Context): void {
  api.post(
    '/payments/reconcile',
    {
      config: {
        access: 'reconciliations:create',
        rate: 'bulk',
        repeatable: true,
        answerTimeoutMs: LONGEST_BATCH_MS,
      },
      schema: {
        tags: ['Reconciliation'],
        operationId: 'reconcilePayments',
        summary: 'Reconcile up to 10,000 payments',
        description:
          'Makes a batch of those that were not reconciled before; safe to repeat. Answers for each id.',
        body: ReconcileBody,
        response: { 200: Envelope(ReconciliationResult, 'Payments reconciled.') },
      },
    },
    async (request, reply) =>
      repeatable(context, request, reply, async (once) =>
        ok(await reconcile(once, actorOf(request), request.body), 'Payments reconciled.'),
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
      return okList(
        await listReconciliations(context.db, context.currency, request.query),
        'Reconciliations found.',
      );
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
        description: 'Its payments: GET /payments?filter[reconciliationId]=:id',
        params: IdParams,
        response: { 200: Envelope(Reconciliation, 'Reconciliation found.') },
      },
    },
    async (request) => {
      const batch = await findReconciliation(context.db, context.currency, request.params.id);
      if (!batch) throw notFound('reconciliation', request.params.id);
      return ok(batch, 'Reconciliation found.');
    },
  );
}
