import type { Context } from '../../core/context.ts';
import type { Tx } from '../../core/database/db.ts';
import { postNow } from '../posting/post-payments.ts';
import type { Notification, PaymentToPost } from '../posting/rules.ts';
import { methodCodeOf } from '../provider-name-rules.ts';
import type { NotificationRow } from '../rules.ts';
import { notificationOf, notificationToPost } from './rules.ts';
import { lockReprocessable } from './store.ts';

export function storedToPost(
  { config }: Context,
  row: NotificationRow,
  resolution: Partial<Pick<Notification, 'acceptedPaymentId' | 'bothAreReal'>> = {},
): PaymentToPost {
  const notification = notificationOf(row, methodCodeOf(row.provider));
  return notificationToPost({ ...notification, ...resolution }, config.PHONE_REGION);
}

/**
 * Called after a payment was unassigned or reversed. Reprocesses the notifications in conflict that have the reference of the
 * payment. After a reversal, also reprocesses the notification that was linked to the payment.
 * @param key - the reference in the form of `referenceKey`.
 */
export async function reprocessNotifications(
  tx: Tx,
  context: Context,
  key: string,
  reversedId?: number,
): Promise<void> {
  for (const row of await lockReprocessable(tx, key, reversedId)) await reprocess(tx, context, row);
}

/**
 * Reprocesses one notification. The caller has locked its reference, accounts and payments.
 * @param resolution - how staff resolve the conflict of the notification.
 * @throws Error if the notification cannot be linked to the accepted payment.
 */
export async function reprocess(
  tx: Tx,
  context: Context,
  row: NotificationRow,
  resolution: Pick<Notification, 'acceptedPaymentId' | 'bothAreReal'> = {
    acceptedPaymentId: null,
    bothAreReal: false,
  },
): Promise<void> {
  const { acceptedPaymentId } = resolution;
  const outcome = await postNow(tx, context, storedToPost(context, row, resolution));
  const isLinked = 'outcome' in outcome && outcome.outcome === 'linked';
  if (acceptedPaymentId !== null && !isLinked) {
    throw new Error(`Notification ${row.id} cannot be linked to payment ${acceptedPaymentId}.`);
  }
}
