import { AppError, unavailable } from '../../core/http/errors.ts';
import type { Log } from '../../core/log.ts';
import type { PostingContext } from '../posting/post-payments.ts';
import type { Notification } from '../posting/rules.ts';
import type { NotificationResult, Refusal } from '../rules.ts';
import { notificationToPost } from './rules.ts';
import { insertPending, insertRejected } from './store.ts';

/**
 * Posts the payment of a notification, and stores the notification. If posting fails, stores the notification as `pending`, and a
 * job retries it every minute. Exception: if posting a refusable notification fails, the function throws, because the provider
 * needs the outcome at once.
 *
 * @returns the outcome. For a refused payment, returns the reason: the provider gives the money back to the payer.
 * @throws if the notification could not be stored, or if posting a refusable notification failed. The provider must then send the
 *   notification again.
 */
export async function receiveNotification(
  context: PostingContext,
  log: Log,
  notification: Notification,
): Promise<NotificationResult | Refusal> {
  try {
    const outcome = await context.queue.submit(notificationToPost(notification, context.config.PHONE_REGION));
    if ('refusal' in outcome) {
      const { provider, rawBody } = notification;
      const failure = `refused: ${outcome.refusal}`;
      await insertRejected(context.db, provider, rawBody, failure, 'webhook', notification);
      return { reason: outcome.refusal };
    }
    if ('outcome' in outcome) return outcome;
    throw new Error('Posting a notification returned no outcome.');
  } catch (error) {
    // Answer 503, which neither accepts nor refuses the payment: another instance may be posting the same notification.
    if (notification.isRefusable) throw unavailable(error);
    await insertPending(context.db, notification, messageOf(error));
    log.error(
      { err: error, transId: notification.transId },
      'a notification was not posted; it is stored and will be retried',
    );
    return { outcome: 'pending', paymentId: null };
  }
}

/** The message for operators. For an AppError with a cause, this is the message of the cause. */
export function messageOf(error: unknown): string {
  if (error instanceof AppError && error.cause) return messageOf(error.cause);
  return error instanceof Error ? error.message : String(error);
}

/** Processes statement lines or pulled payments as notifications, because the provider's own notifications were lost. */
export async function importNotifications(
  context: PostingContext,
  log: Log,
  notifications: readonly Notification[],
): Promise<void> {
  // Throw only after every notification is done, so that none is still being posted during the next step of the caller.
  const results = await Promise.allSettled(
    notifications.map((notification) => receiveNotification(context, log, notification)),
  );
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}
