import { event, eventRow } from '../../changes/events/change-rules.ts';
import { audit } from '../../changes/events/change-store.ts';
import { type Actor, type Context, today } from '../../core/context.ts';
import type { Tx } from '../../core/database/db.ts';
import { inTransaction } from '../../core/database/transactions.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import { type PaymentToReconcile, resultOf } from './rules.ts';
import type { ReconcileBody } from './schema.ts';
import { insertReconciliation, lockPayments } from './store.ts';
import { toReconciliationResult } from './view.ts';

/**
 * Reconciles payments as one batch, and returns the result of each id. Repeating the request changes nothing.
 * @throws AppError VALIDATION_ERROR if a total is too large for an exact number. Nothing is then changed.
 */
export async function reconcile(context: Context, actor: Actor, body: ReconcileBody) {
  const date = body.reconciliationDate ?? today(context);
  const ids = [...new Set(body.paymentIds)];
  return inTransaction(context.db, async (tx) => {
    const byId = new Map((await lockPayments(tx, ids)).map((payment) => [payment.id, payment]));
    const outcomes = ids.map((id) => ({ id, payment: byId.get(id), result: resultOf(byId.get(id), date) }));
    const payments = outcomes.flatMap(({ payment, result }) =>
      payment && result === 'reconciled' ? [payment] : [],
    );
    const batchId = payments.length > 0 ? await createBatch(tx, actor, { date, payments }) : null;
    return toReconciliationResult(context, date, batchId, outcomes);
  });
}

interface Batch {
  date: PlainDate;
  payments: readonly Pick<PaymentToReconcile, 'id' | 'amount_minor'>[];
  /** The provider statement that has lines for all payments. Missing if the payments are reconciled without a statement. */
  providerStatementId?: number | null;
}

/** Creates a batch of payments. The transaction must have locked the payments, and all of them must be reconcilable. */
export async function createBatch(
  tx: Tx,
  actor: Actor,
  { date, payments, providerStatementId = null }: Batch,
): Promise<number> {
  const paymentIds = payments.map(({ id }) => id);
  const totalMinor = payments.reduce((sum, { amount_minor: amount }) => sum + BigInt(amount), 0n);
  const batchId = await insertReconciliation(tx, {
    date,
    paymentIds,
    totalMinor,
    providerStatementId,
    createdBy: actor.userId,
  });
  const paymentCount = payments.length;
  const reconciled = payments.map(({ id, amount_minor: amountMinor }) =>
    eventRow(
      actor,
      { resource: 'payment', resourceId: id },
      event('payment.reconciled', { amountMinor, reconciliationId: batchId, reconciliationDate: date }),
    ),
  );
  await audit(
    tx,
    actor,
    {
      action: 'payments.reconcile',
      resource: 'reconciliation',
      resourceId: batchId,
      after: { date, paymentCount, totalMinor, providerStatementId },
      event: event('reconciliation.created', {
        reconciliationDate: date,
        paymentCount,
        totalMinor,
        providerStatementId,
      }),
    },
    reconciled,
  );
  return batchId;
}
