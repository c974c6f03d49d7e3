import type { Context } from '../../core/context.ts';
import { runIsolated } from '../../core/database/batching.ts';
import type { Tx } from '../../core/database/db.ts';
import { changedNothing, LostRace } from '../../core/database/postgres-errors.ts';
import { inTransaction } from '../../core/database/transactions.ts';
import type { Log } from '../../core/log.ts';
import { decideMatch } from '../matching/rules.ts';
import { findCandidates } from '../matching/store.ts';
import { messageOf, openPostingQueue, postIncoming, receiveNotification } from '../posting/commands.ts';
import type { Incoming, Notification } from '../posting/rules.ts';
import { methodCodeOf } from '../provider-name-rules.ts';
import type { NotificationRow } from '../rules.ts';
import { incomingNotification, notificationOf } from './rules.ts';
import {
  findPendingIds,
  findReprocessable,
  lockPending,
  lockReprocessable,
  recordNotificationFailure,
} from './store.ts';

/** Processes statement lines or pulled payments as notifications, because the provider's own notifications were lost. */
export async function importNotifications(
  context: Context,
  log: Log,
  notifications: readonly Notification[],
): Promise<void> {
  const queue = openPostingQueue(context);
  // Throw only after every notification is done, so that none is still being posted during the next step of the caller.
  const results = await Promise.allSettled(
    notifications.map((notification) => receiveNotification(context, log, queue, notification)),
  );
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}

const RETRIED_AT_ONCE = 100;
const RETRIED_IN_A_RUN = 500;

/**
 * Retries notifications that are stored because posting failed.
 * @param signal - stops the retries between two batches.
 * @returns the number of notifications that were processed.
 */
export async function retryPendingNotifications(
  context: Context,
  log: Log,
  signal: AbortSignal,
): Promise<number> {
  const ids = await findPendingIds(context.db, RETRIED_IN_A_RUN);
  let processed = 0;
  for (let at = 0; at < ids.length && !signal.aborted; at += RETRIED_AT_ONCE) {
    const batch = ids.slice(at, at + RETRIED_AT_ONCE);
    // If a batch fails, its notifications are retried one by one until then. The job retries the rest a minute later.
    const until = performance.now() + context.config.limits.oneByOneMs;
    const results = await runIsolated(batch, (some) => retry(context, some), changedNothing, until);
    for (const [n, result] of results.entries()) {
      if ('outcome' in result && result.outcome) processed += 1;
      if (!('error' in result)) continue;
      const id = batch[n] ?? 0;
      log.error({ err: result.error, notificationId: id }, 'the retry of a notification failed');
      await recordNotificationFailure(context.db, id, messageOf(result.error));
    }
  }
  return processed;
}

/** Skips notifications that another transaction has locked. @returns for each id, whether it was processed, or its error. */
async function retry(context: Context, ids: readonly number[]) {
  return inTransaction(context.db, async (tx) => {
    const rows = await lockPending(tx, ids);
    const results = await postIncoming(
      tx,
      context,
      rows.map((row) => incomingOf(context, row)),
    );
    return ids.map((id) => {
      const result = results[rows.findIndex((row) => row.id === id)];
      return result && 'error' in result ? result : { outcome: result !== undefined && 'outcome' in result };
    });
  });
}

function incomingOf(
  { config }: Context,
  row: NotificationRow,
  resolution: Partial<Pick<Notification, 'acceptedPaymentId' | 'bothAreReal'>> = {},
): Incoming {
  const notification = notificationOf(row, methodCodeOf(row.provider));
  return incomingNotification({ ...notification, ...resolution }, config.PHONE_REGION);
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
  const [result] = await postIncoming(tx, context, [incomingOf(context, row, resolution)]);
  if (!result || 'busy' in result)
    throw new LostRace('another transaction has locked an account of the notification');
  if ('error' in result) throw result.error;
  const { outcome } = result;
  const isLinked = 'outcome' in outcome && outcome.outcome === 'linked';
  if (acceptedPaymentId !== null && !isLinked) {
    throw new Error(`Notification ${row.id} cannot be linked to payment ${acceptedPaymentId}.`);
  }
}

/** Finds the accounts to which reprocessing may post, so that the caller can lock them first. */
export async function findAccountsForReprocessing(
  tx: Tx,
  context: Context,
  key: string,
  reversedId?: number,
): Promise<number[]> {
  const rows = await findReprocessable(tx, key, reversedId);
  const interpretations = rows.flatMap((row) => incomingOf(context, row).interpretations ?? []);
  const candidates = await findCandidates(tx, interpretations);
  return interpretations.flatMap(
    ({ referenceIsEmpty }, at) => decideMatch(candidates[at] ?? [], referenceIsEmpty).accountId ?? [],
  );
}
