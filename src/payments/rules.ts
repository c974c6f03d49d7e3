import type { PaymentStatus, Row } from '../core/database/tables.ts';
import { type AppError, illegalMove } from '../core/http/errors.ts';

export type PaymentRow = Row<'payments'>;
export type NotificationRow = Row<'notifications'>;

/** The statuses of a payment, and the statuses that follow each of them. */
export const PAYMENT_STATUSES: Record<PaymentStatus, { next: readonly PaymentStatus[] }> = {
  matched: { next: ['unmatched', 'reversed'] },
  unmatched: { next: ['matched', 'reversed'] },
  reversed: { next: [] },
};

export function refusedMove({ status }: PaymentRow, to: PaymentStatus): AppError {
  return illegalMove('A payment', status, to, PAYMENT_STATUSES[status].next);
}
