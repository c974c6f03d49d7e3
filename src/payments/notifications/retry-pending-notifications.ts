import type { Log } from '../../core/log.ts';
import { isMissed, type PostingContext } from '../posting/post-payments.ts';
import type { NotificationRow } from '../rules.ts';
import { messageOf } from './receive-notification.ts';
import { storedToPost } from './reprocess-notifications.ts';
import { findPending, recordNotificationFailure } from './store.ts';

const RETRIED_AT_ONCE = 100;
const RETRIED_IN_A_RUN = 500;

/**
 * Retries notifications that are stored because posting failed.
 * @param signal - stops the retries between two batches.
 * @returns the number of notifications that were processed.
 */
export async function retryPendingNotifications(
  context: PostingContext,
  log: Log,
  signal: AbortSignal,
): Promise<number> {
  const rows = await findPending(context.db, RETRIED_IN_A_RUN);
  let processed = 0;
  for (let at = 0; at < rows.length && !signal.aborted; at += RETRIED_AT_ONCE) {
    const batch = rows.slice(at, at + RETRIED_AT_ONCE);
    const results = await Promise.all(batch.map((row) => retry(context, log, row)));
    processed += results.filter((isProcessed) => isProcessed).length;
  }
  return processed;
}

/** @returns whether the notification was processed. The job retries it a minute later if another transaction holds its locks. */
async function retry(context: PostingContext, log: Log, row: NotificationRow): Promise<boolean> {
  try {
    await context.queue.submit(storedToPost(context, row));
    return true;
  } catch (error) {
    if (isMissed(error)) return false;
    log.error({ err: error, notificationId: row.id }, 'the retry of a notification failed');
    await recordNotificationFailure(context.db, row.id, messageOf(error));
    return false;
  }
}
