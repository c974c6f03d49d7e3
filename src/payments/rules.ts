import type { Row } from '../core/database/tables.ts';
import { foldVisible } from '../core/values/fold.ts';

export type PaymentRow = Row<'payments'>;
export type NotificationRow = Row<'notifications'>;

/**
 * A transaction's reference as it is compared: only what a reader can see of it, letters of any case and width as one.
 * Providers print references in upper case; staff copy them out of messages with what surrounds them.
 */
export function referenceKey(reference: string): string {
  return foldVisible(reference);
}
