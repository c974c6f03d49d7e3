import type { Row } from '../../core/database/tables.ts';
import { compareDates, type PlainDate } from '../../core/values/dates.ts';
import type { REASONS, RESULTS } from './schema.ts';

export type PaymentToReconcile = Pick<
  Row<'payments'>,
  'id' | 'amount_minor' | 'payment_date' | 'status' | 'reconciliation_id'
>;

/** A payment id of a request, with its payment and the result. */
export interface ReconciliationResult {
  id: number;
  payment: PaymentToReconcile | undefined;
  result: Result;
}

type Result = (typeof RESULTS)[number];
type Reason = (typeof REASONS)[number];

export function resultOf(payment: PaymentToReconcile | undefined, date: PlainDate): Result {
  if (!payment) return 'not_found';
  if (payment.reconciliation_id !== null) return 'already_reconciled';
  return obstacleOf(payment, date) === null ? 'reconciled' : 'not_reconcilable';
}

/** Why a payment cannot be reconciled; null if it can. A statement of one day does not prove that money of a later day has arrived. */
export function obstacleOf(payment: PaymentToReconcile, date: PlainDate): Reason | null {
  if (payment.status === 'reversed') return 'reversed';
  return compareDates(payment.payment_date, date) > 0 ? 'dated_later' : null;
}
