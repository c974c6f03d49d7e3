import { audit } from '../../core/audit.ts';
import { type Actor, amountOf, type Context } from '../../core/context.ts';
import { runIsolated } from '../../core/database/batching.ts';
import { changedNothing } from '../../core/database/postgres-errors.ts';
import { inTransaction } from '../../core/database/transactions.ts';
import { AppError, illegalMove, invalidField, notFound, unavailable } from '../../core/http/errors.ts';
import type { Log } from '../../core/log.ts';
import { lockAccounts } from '../../ledger/store.ts';
import { lockPayments, reverseLocked } from '../commands.ts';
import type { NotificationResult, Refusal } from '../providers/provider.ts';
import {
  decideStored,
  findAccountsOfUndecided,
  openReceiptQueue,
  postReceipts,
  type ReceiptQueue,
} from '../receipts/commands.ts';
import type { ReportedReceipt } from '../receipts/rules.ts';
import { reportOf } from '../receipts/store.ts';
import type { NotificationRow, PaymentRow } from '../rules.ts';
import { findManualPayments, lockReference } from '../store.ts';
import type { Resolution } from './schema.ts';
import {
  findNotification,
  findPendingIds,
  getNotification,
  insertPending,
  insertRejected,
  lockNotification,
  lockPending,
  recordFailure,
} from './store.ts';

/**
 * Stores a notification with what it leads to. Where the processing fails, the notification alone is stored, to be
 * tried again by the minute job; unless the provider waits for the outcome, and so has to send it again.
 *
 * @returns the outcome, or why the money goes back to the payer.
 * @throws when nothing could be stored, or nobody can say whether it was; the provider must send it again.
 */
export async function receiveNotification(
  context: Context,
  log: Log,
  queue: Pick<ReceiptQueue, 'submit'>,
  report: ReportedReceipt,
): Promise<NotificationResult | Refusal> {
  try {
    const recorded = await queue.submit({ report });
    if ('refusal' in recorded) {
      await insertRejected(context.db, report.provider, report.rawBody, `refused: ${recorded.refusal}`);
      return { reason: recorded.refusal };
    }
    if ('outcome' in recorded) return recorded;
    throw new Error('A report leads to an outcome.');
  } catch (error) {
    // Neither yes nor no: the money would be given back, and another instance may be posting the same notification.
    if (report.mustMatch) throw unavailable(error);
    await insertPending(context.db, report, messageOf(error));
    log.error({ err: error, transId: report.transId }, 'a notification is stored and will be tried again');
    return { outcome: 'pending', paymentId: null };
  }
}

/** Posts what a provider's statement reports: each line as the notification that was lost. */
export async function importReports(
  context: Context,
  log: Log,
  reports: readonly ReportedReceipt[],
): Promise<void> {
  const queue = openReceiptQueue(context);
  // Where one fails the others end first, so that none goes on beside what comes next.
  const ends = await Promise.allSettled(
    reports.map((report) => receiveNotification(context, log, queue, report)),
  );
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
}

const RETRIED_AT_ONCE = 100;
const RETRIED_IN_A_RUN = 500;
/** For so long a batch that failed is tried one by one; what is left then has its turn in the next minute. */
const LONGEST_ONE_BY_ONE_MS = 20_000;

/**
 * Tries the stored notifications again whose processing failed; the number that succeeded. Ends early, between two
 * batches, when the signal says so.
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
    const until = performance.now() + LONGEST_ONE_BY_ONE_MS;
    const results = await runIsolated(batch, (some) => retry(context, some), changedNothing, until);
    for (const [n, result] of results.entries()) {
      if ('outcome' in result && result.outcome) processed += 1;
      if (!('error' in result)) continue;
      const id = batch[n] ?? 0;
      log.error({ err: result.error, notificationId: id }, 'a stored notification failed again');
      await recordFailure(context.db, id, messageOf(result.error));
    }
  }
  return processed;
}

/** Of each id whether it was processed now; those that somebody else works on are left to them. */
async function retry(context: Context, ids: readonly number[]) {
  return inTransaction(context.db, async (tx) => {
    const rows = await lockPending(tx, ids);
    const results = await postReceipts(
      tx,
      context,
      rows.map((row) => ({ report: reportOf(row) })),
    );
    return ids.map((id) => {
      const result = results[rows.findIndex((row) => row.id === id)];
      return result && 'error' in result ? result : { outcome: result !== undefined && 'outcome' in result };
    });
  });
}

/** What went wrong, for those who run the service: an answer that says so in general has the reason as its cause. */
function messageOf(error: unknown): string {
  if (error instanceof AppError && error.cause) return messageOf(error.cause);
  return error instanceof Error ? error.message : String(error);
}

/**
 * Says which payment a notification in conflict is: one of the manual payments under its reference, or none of them,
 * so that the notification is posted. The other manual payments are reversed in the same transaction.
 */
export async function resolveConflict(
  context: Context,
  actor: Actor,
  id: number,
  { paymentId, reason }: Resolution,
): Promise<NotificationRow> {
  return inTransaction(context.db, async (tx) => {
    const seen = await findNotification(tx, id);
    if (!seen) throw notFound('notification', id);
    const { trans_id: transId } = seen;
    if (seen.outcome !== 'conflict' || transId === null) throw notInConflict(seen);
    await lockReference(tx, transId);
    const manual = await findManualPayments(tx, transId);
    const locked = await lockPayments(tx, manual, await findAccountsOfUndecided(tx, context, transId));
    const row = await lockNotification(tx, id);
    if (row?.outcome !== 'conflict') throw notInConflict(row ?? seen);
    const payments = locked.map(({ payment }) => payment);
    checkResolution(context, row, payments, paymentId);
    for (const payment of payments.filter((one) => one.id !== paymentId)) {
      // Two of them may be on one account, which the first has changed.
      const account = payment.account_id === null ? undefined : await lockAccounts(tx, [payment.account_id]);
      const [now] = account?.values() ?? [];
      await reverseLocked(tx, context, actor, { payment, account: now, reason });
    }
    await decideStored(tx, context, row, paymentId);
    await audit(tx, actor, {
      action: 'notification.resolve',
      resource: 'notification',
      resourceId: id,
      before: { outcome: 'conflict' },
      after: { paymentId, reason },
    });
    return getNotification(tx, id);
  });
}

function checkResolution(
  { currency }: Context,
  { amount_minor: reported }: NotificationRow,
  payments: PaymentRow[],
  paymentId: number | null,
): void {
  if (paymentId === null) return;
  const accepted = payments.find((payment) => payment.id === paymentId);
  if (!accepted) {
    const ids = payments.map((payment) => payment.id).join(', ');
    throw invalidField('paymentId', `must be null or a payment that conflicts with the notification: ${ids}`);
  }
  if (accepted.amount_minor !== reported) {
    const amount = reported === null ? 'none' : amountOf(reported, currency);
    throw invalidField('paymentId', `must refer to a payment of the reported amount, ${amount}`);
  }
}

function notInConflict({ outcome, status }: NotificationRow): AppError {
  return illegalMove('A notification', outcome ?? status, 'resolved', ['conflict']);
}
