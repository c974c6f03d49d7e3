import { lockAccount } from '../accounts/store.ts';
import { type Context, SYSTEM } from '../core/context.ts';
import { businessDay } from '../core/dates.ts';
import { type Db, inTransaction, type Tx } from '../core/db.ts';
import { AppError } from '../core/errors.ts';
import type { NotificationOutcome } from '../core/tables.ts';
import { getMobileMoneyId } from '../payment-methods/store.ts';
import { bookPayment } from './booking.ts';
import {
  findPendingIds,
  hasEarlierNotification,
  insertNotification,
  lockConflictsWith,
  lockPending,
  type NotificationRow,
  type ReadNotification,
  recordFailure,
  type Settlement,
  settleNotification,
} from './inbox-store.ts';
import { decideMatch, findCandidates, type LadderMethod, readReference } from './matching.ts';
import { findProviderPayment, linkToProvider, lockHandEntry } from './store.ts';

/** What became of a notification: `repeated` for one that came before, `pending` for one to be tried again. */
export interface Receipt {
  outcome: NotificationOutcome | 'repeated' | 'pending';
  paymentId: number | null;
}

interface Log {
  error(details: object, message: string): void;
}

const MAX_ATTEMPTS = 3;

/**
 * Stores a notification and what it leads to in one transaction. Where the processing fails, the
 * notification alone is stored, to be tried again by the minute job.
 * @throws when nothing could be stored; the provider must send it again.
 */
export async function receiveNotification(
  context: Context,
  log: Log,
  notification: ReadNotification,
): Promise<Receipt> {
  try {
    return await settleAnew(context.db, async (tx) => {
      const row = await insertNotification(tx, notification);
      if (!row) return { outcome: 'repeated' as const, paymentId: null };
      return settle(tx, context, row);
    });
  } catch (error) {
    const failure = error instanceof Error ? error.message : String(error);
    await inTransaction(context.db, (tx) => insertNotification(tx, notification, failure));
    log.error(
      { err: error, transId: notification.transId },
      'a notification is stored and will be tried again',
    );
    return { outcome: 'pending', paymentId: null };
  }
}

/** Tries the stored notifications again whose processing failed; each in a transaction of its own. */
export async function retryPendingNotifications(context: Context, log: Log): Promise<number> {
  const batchSize = 500;
  let settled = 0;
  for (const id of await findPendingIds(context.db, batchSize)) {
    try {
      const done = await settleAnew(context.db, async (tx) => {
        const row = await lockPending(tx, id);
        return row && settle(tx, context, row);
      });
      if (done) settled += 1;
    } catch (error) {
      log.error({ err: error, notificationId: id }, 'a stored notification failed again');
      await recordFailure(context.db, id, error instanceof Error ? error.message : String(error));
    }
  }
  return settled;
}

/** Books what had to wait while a hand entry with the same reference and another amount stood. */
export async function bookWaitingConflict(
  tx: Tx,
  context: Context,
  reversedPaymentId: number,
): Promise<void> {
  for (const row of await lockConflictsWith(tx, reversedPaymentId)) await settle(tx, context, row);
}

/**
 * Someone may be booking the same transaction at the same moment; the constraint lets one of the two
 * through, and the other looks again.
 */
async function settleAnew<T>(db: Db, work: (tx: Tx) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await inTransaction(db, work);
    } catch (error) {
      const raced = error instanceof AppError && error.code === 'DUPLICATE_ENTRY';
      if (!raced || attempt >= MAX_ATTEMPTS) throw error;
    }
  }
}

async function settle(tx: Tx, context: Context, row: NotificationRow): Promise<Receipt> {
  const settlement = await findSettlement(tx, context, row);
  await settleNotification(tx, row.id, settlement);
  return { outcome: settlement.outcome, paymentId: settlement.paymentId };
}

async function findSettlement(tx: Tx, context: Context, row: NotificationRow): Promise<Settlement> {
  const { trans_id: transId, amount_minor: amount, flags } = row;
  if (transId === null || amount === null) throw new Error(`Notification ${row.id} was never readable.`);
  const provider = { name: row.provider, transId };

  // One payment per transaction, for ever: whatever comes later under its id credits nothing.
  const booked = await findProviderPayment(tx, provider.name, transId);
  if (booked || (row.outcome === null && (await hasEarlierNotification(tx, row)))) {
    return { outcome: 'differs', paymentId: booked?.id ?? null, flags: [...flags, 'differs_from_first'] };
  }

  const paymentMethodId = await getMobileMoneyId(tx);
  const handEntry = await lockHandEntry(tx, paymentMethodId, transId);
  if (handEntry && handEntry.amount_minor === amount) {
    await linkToProvider(tx, handEntry.id, provider);
    return { outcome: 'linked', paymentId: handEntry.id, flags };
  }
  if (handEntry) return { outcome: 'conflict', paymentId: null, conflictPaymentId: handEntry.id, flags };

  const match = await findAccount(tx, context, row);
  const payment = await bookPayment(tx, { ...SYSTEM, name: `provider ${provider.name}` }, match?.account, {
    amountMinor: BigInt(amount),
    paymentMethodId,
    transactionRef: transId,
    paymentDate: businessDay(row.trans_time ?? row.received_at, context.config.BUSINESS_TIMEZONE),
    source: 'webhook',
    matchMethod: match?.method ?? null,
    provider,
  });
  return { outcome: match ? 'matched' : 'unmatched', paymentId: payment.id, flags };
}

async function findAccount(tx: Tx, context: Context, row: NotificationRow) {
  if (row.flags.includes('other_short_code')) return undefined;
  const readings = readReference(row.bill_ref, row.payer, context.config.PHONE_REGION);
  const match = decideMatch(await findCandidates(tx, readings), readings.referenceIsEmpty);
  if (match.accountId === null) return undefined;
  const account = await lockAccount(tx, match.accountId);
  return account && { account, method: match.method satisfies LadderMethod };
}
