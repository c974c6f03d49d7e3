import { amountOf, type Context, type Currency, totalOf } from '../../core/context.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import { obstacleOf, type ReconciliationResult } from './rules.ts';
import type { ReconciliationRow } from './store.ts';

/** The row of a reconciliation never changes, so `updatedAt` is the time of its creation. Reversed payments are counted at each read. */
export function toReconciliation(row: ReconciliationRow, currency: Currency) {
  return {
    id: row.id,
    reconciliationDate: row.reconciliation_date,
    paymentCount: row.payment_count,
    total: amountOf(row.total_minor, currency),
    reversedCount: row.reversed_count,
    reversedTotal: amountOf(row.reversed_minor, currency),
    currency: currency.code,
    providerStatementId: row.provider_statement_id,
    createdAt: row.created_at,
    updatedAt: row.created_at,
  };
}

const FEWER_PAYMENTS = { path: 'paymentIds', advice: 'send fewer ids at a time' };

/** @throws AppError VALIDATION_ERROR if a total is too large for an exact number. */
export function toReconciliationResult(
  { currency }: Context,
  date: PlainDate,
  reconciliationId: number | null,
  outcomes: readonly ReconciliationResult[],
) {
  const ofResult = (result: ReconciliationResult['result']) =>
    outcomes.filter((outcome) => outcome.result === result);
  const total = (result: ReconciliationResult['result']) => {
    const minor = ofResult(result).reduce((sum, { payment }) => sum + BigInt(payment?.amount_minor ?? 0), 0n);
    return totalOf(minor, currency, FEWER_PAYMENTS);
  };
  return {
    reconciliationId,
    reconciliationDate: date,
    currency: currency.code,
    counts: {
      reconciled: ofResult('reconciled').length,
      already_reconciled: ofResult('already_reconciled').length,
      not_found: ofResult('not_found').length,
      not_reconcilable: ofResult('not_reconcilable').length,
    },
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
      reconciliationId: result === 'reconciled' ? reconciliationId : (payment?.reconciliation_id ?? null),
    })),
  };
}
