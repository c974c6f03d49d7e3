import { audit } from '../core/audit.ts';
import { type Actor, amountOf, type Context, today, totalOf } from '../core/context.ts';
import type { Tx } from '../core/database/db.ts';
import { inTransaction } from '../core/database/transactions.ts';
import { compareDates, type PlainDate } from '../core/values/dates.ts';
import type { Minor } from '../core/values/money.ts';
import type { REASONS, RESULTS, ReconcileBody } from './schema.ts';
import { insertReconciliation, type LockedPayment, lockPayments } from './store.ts';

const FEWER_PAYMENTS = { path: 'paymentIds', advice: 'send fewer ids at a time' };

type Result = (typeof RESULTS)[number];
type Reason = (typeof REASONS)[number];

/**
 * Marks that payments arrived, as a batch. Saying it again changes nothing: each id answers what it
 * is. Unmatched money can be reconciled; reversed money, and money that is dated after the batch, cannot.
 * @throws AppError VALIDATION_ERROR, and changes nothing, where a total is beyond an exact number.
 */
export async function reconcile(context: Context, actor: Actor, body: ReconcileBody) {
  const date = body.reconciliationDate ?? today(context);
  const ids = [...new Set(body.paymentIds)];
  return inTransaction(context.db, async (tx) => {
    const payments = new Map((await lockPayments(tx, ids)).map((payment) => [payment.id, payment]));
    const results: Outcome[] = [];
    const fresh: LockedPayment[] = [];
    for (const id of ids) {
      const payment = payments.get(id);
      const result = resultOf(payment, date);
      results.push({ id, payment, result });
      if (payment && result === 'reconciled') fresh.push(payment);
    }

    const batchId = fresh.length > 0 ? await makeBatch(tx, actor, { date, payments: fresh }) : null;
    return answer(context, date, batchId, results);
  });
}

interface Batch {
  date: PlainDate;
  payments: readonly Pick<LockedPayment, 'id' | 'amount_minor'>[];
  /** Which of the provider's statements proves it, where one does. */
  providerStatementId?: number | null;
}

/** Makes a batch of payments that the transaction has locked, that are not reversed and in no batch. */
export async function makeBatch(
  tx: Tx,
  actor: Actor,
  { date, payments, providerStatementId = null }: Batch,
): Promise<number> {
  const paymentIds = payments.map(({ id }) => id);
  const totalMinor = sumOf(payments);
  const batchId = await insertReconciliation(tx, {
    date,
    paymentIds,
    totalMinor,
    providerStatementId,
    createdBy: actor.userId,
  });
  const after = { date, paymentCount: payments.length, totalMinor, providerStatementId };
  await audit(tx, actor, {
    action: 'payments.reconcile',
    resource: 'reconciliation',
    resourceId: batchId,
    after,
  });
  return batchId;
}

interface Outcome {
  id: number;
  payment: LockedPayment | undefined;
  result: Result;
}

/** What reconciling a payment as of a date would lead to: `reconciled` where it can be. */
export function resultOf(payment: LockedPayment | undefined, date: PlainDate): Result {
  if (!payment) return 'not_found';
  if (payment.reconciliation_id !== null) return 'already_reconciled';
  return obstacleOf(payment, date) === null ? 'reconciled' : 'not_reconcilable';
}

/** No statement of a day proves that money of a later day has arrived. */
function obstacleOf({ status, payment_date: paymentDate }: LockedPayment, date: PlainDate): Reason | null {
  if (status === 'reversed') return 'reversed';
  return compareDates(paymentDate, date) > 0 ? 'dated_later' : null;
}

function answer({ currency }: Context, date: PlainDate, batchId: number | null, outcomes: Outcome[]) {
  const counts = { reconciled: 0, already_reconciled: 0, not_found: 0, not_reconcilable: 0 };
  const sums = { reconciled: 0n, already_reconciled: 0n, not_found: 0n, not_reconcilable: 0n };
  for (const { payment, result } of outcomes) {
    counts[result] += 1;
    if (payment) sums[result] += BigInt(payment.amount_minor);
  }
  const total = (result: Result) => totalOf(sums[result], currency, FEWER_PAYMENTS);
  return {
    reconciliationId: batchId,
    reconciliationDate: date,
    currency: currency.code,
    counts,
    totals: {
      reconciled: total('reconciled'),
      already_reconciled: total('already_reconciled'),
      not_reconcilable: total('not_reconcilable'),
    },
    results: outcomes.map(({ id, payment, result }) => ({
      paymentId: id,
      result,
      reason: payment && result === 'not_reconcilable' ? obstacleOf(payment, date) : null,
      amount: payment ? amountOf(payment.amount_minor, currency) : null,
      reconciliationId: result === 'reconciled' ? batchId : (payment?.reconciliation_id ?? null),
    })),
  };
}

function sumOf(payments: readonly Pick<LockedPayment, 'amount_minor'>[]): Minor {
  return payments.reduce((sum, { amount_minor: amount }) => sum + BigInt(amount), 0n);
}
