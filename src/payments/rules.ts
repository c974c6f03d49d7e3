import type { PaymentStatus, Row } from '../core/database/tables.ts';

export type PaymentRow = Row<'payments'>;
export type NotificationRow = Row<'notifications'>;

/** The statuses of a payment, and the statuses that follow each of them. */
export const PAYMENT_STATUSES: Record<PaymentStatus, { next: readonly PaymentStatus[] }> = {
  matched: { next: ['unmatched', 'reversed'] },
  unmatched: { next: ['matched', 'reversed'] },
  reversed: { next: [] },
};
