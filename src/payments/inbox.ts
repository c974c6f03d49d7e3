import { formatAccountNumber } from '../accounts/account-number.ts';
import { canTake } from '../accounts/rules.ts';
import { type AccountRow, accountLock, booksOf, lockAccount } from '../accounts/store.ts';
import { audit } from '../core/audit.ts';
import { type Actor, type Context, SYSTEM } from '../core/context.ts';
import { businessDay } from '../core/dates.ts';
import { type Db, inTransaction, LostRace, type Tx, together } from '../core/db.ts';
import { AppError } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import type { NotificationOutcome } from '../core/tables.ts';
import { idOf, mobileMoneyMethod } from '../payment-methods/store.ts';
import { bookPayment } from './booking.ts';
import {
  findConflictsAbout,
  findPendingIds,
  insertNotification,
  lockConflictsAbout,
  lockPending,
  type NotificationRow,
  otherNotification,
  type ReadNotification,
  recordFailure,
  type Settlement,
  settleNotification,
} from './inbox-store.ts';
import { decideMatch, learnedReason, type Match, type Readings, readReference } from './matching.ts';
import { candidatesOf, findMatch } from './matching-store.ts';
import {
  handEntriesLock,
  linkToProvider,
  type PaymentRow,
  type ProviderTransaction,
  providerPayment,
  referenceLock,
} from './store.ts';

/** What became of a notification: `repeated` for one that came before, `pending` for one to be tried again. */
export interface Receipt {
  outcome: NotificationOutcome | 'repeated' | 'pending';
  paymentId: number | null;
}

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
      if (!row) return repeated(tx, notification);
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

async function repeated(tx: Tx, { provider: name, transId }: ReadNotification): Promise<Receipt> {
  const { rows } = await providerPayment({ name, transId }).execute(tx);
  return { outcome: 'repeated', paymentId: rows[0]?.id ?? null };
}

/**
 * Tries the stored notifications again whose processing failed, each in a transaction of its own; the number
 * that succeeded. Ends early, between two of them, when the signal says so.
 */
export async function retryPendingNotifications(
  context: Context,
  log: Log,
  signal: AbortSignal,
): Promise<number> {
  const batchSize = 500;
  let settled = 0;
  for (const id of await findPendingIds(context.db, batchSize)) {
    if (signal.aborted) break;
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

/** Looks anew at what had to wait because of hand entries under a reference, one of which was reversed. */
export async function bookWaitingConflict(tx: Tx, context: Context, reference: string): Promise<void> {
  for (const row of await lockConflictsAbout(tx, reference)) await settle(tx, context, row);
}

/** The accounts that reversing a payment with this reference may book waiting notifications on. */
export async function findAccountsOfConflicts(
  tx: Tx,
  context: Context,
  reference: string,
): Promise<number[]> {
  const matches = [];
  for (const row of await findConflictsAbout(tx, reference)) matches.push(await matchOf(tx, context, row));
  return matches.flatMap(({ accountId }) => accountId ?? []);
}

/**
 * Someone may be booking the same transaction at the same moment: the constraint lets one of the two
 * through, and the other looks again.
 */
async function settleAnew<T>(db: Db, work: (tx: Tx) => Promise<T>): Promise<T> {
  return inTransaction(db, (tx) =>
    work(tx).catch((error: unknown) => {
      const raced = error instanceof AppError && error.code === 'DUPLICATE_ENTRY';
      throw raced ? new LostRace('the transaction was booked meanwhile', { cause: error }) : error;
    }),
  );
}

/** No account has this id. */
const NO_ACCOUNT = 0;

/** What the provider told, the method that its payments are booked under, and whose money it is. */
interface Told {
  row: NotificationRow;
  provider: ProviderTransaction;
  methodId: number;
  match: Match;
  /** The account whose number the reference is, locked. */
  named: AccountRow | undefined;
}

async function settle(tx: Tx, context: Context, row: NotificationRow): Promise<Receipt> {
  const { trans_id: transId, amount_minor: amount } = row;
  if (transId === null || amount === null) throw new Error(`Notification ${row.id} was never readable.`);
  const provider = { name: row.provider, transId };
  const readings = readingsOf(context, row);

  // The reference's lock comes first: of all who tell of this transaction, one at a time looks further.
  const [, [handEntry, another], [booked], others, methods, candidates, [named]] = await together(
    tx,
    referenceLock(transId),
    handEntriesLock(transId, amount),
    providerPayment(provider),
    otherNotification(row),
    mobileMoneyMethod(),
    candidatesOf(readings ? [readings] : []),
    // That of nearly all money, so that it need not be waited for alone.
    accountLock(readings?.accountId ?? NO_ACCOUNT),
  );
  const settleAs = async (settlement: Settlement & { paymentId: number | null }): Promise<Receipt> => {
    await settleNotification(row.id, settlement).execute(tx);
    return { outcome: settlement.outcome, paymentId: settlement.paymentId };
  };

  // One payment per transaction, for ever: whatever comes later under its id credits nothing.
  const isWaiting = row.outcome === 'conflict';
  if (booked && tellsTheSame(row, booked)) {
    return settleAs({ outcome: 'repeated', paymentId: booked.id, flags: row.flags });
  }
  if (booked || (!isWaiting && others.length > 0)) {
    const flags = [...row.flags, 'differs_from_first'];
    return settleAs({ outcome: 'differs', paymentId: booked?.id ?? null, flags });
  }
  // One of two entries is money that nobody sent; which one, staff have to say by reversing it.
  const disputed = another ?? (handEntry?.amount_minor === amount ? undefined : handEntry);
  if (disputed) {
    const conflictPaymentId = disputed.id;
    return settleAs({ outcome: 'conflict', paymentId: null, conflictPaymentId, flags: row.flags });
  }
  const match = decideMatch(candidates, readings?.referenceIsEmpty ?? false);
  const told = { row, provider, methodId: idOf(methods), match, named };
  return handEntry ? settleAs(await link(tx, handEntry, told)) : book(tx, context, told);
}

/** The provider's statement and its notification spell the payer and the time differently; the amount decides. */
function tellsTheSame(row: NotificationRow, booked: PaymentRow): boolean {
  const oneIsOfTheStatement = row.source === 'import' || booked.source === 'import';
  return oneIsOfTheStatement && row.amount_minor === booked.amount_minor;
}

/**
 * Staff were faster: their entry is the payment. Where it disagrees with the notification, that is flagged. One
 * that staff have taken off its account stays in the worklist, where what the payer sent speaks now: it may
 * name the very account that they took it off.
 */
async function link(tx: Tx, entry: PaymentRow, { row, provider, methodId, match }: Told) {
  const otherAccount =
    match.accountId !== null && entry.account_id !== null && match.accountId !== entry.account_id;
  const otherMethod = entry.payment_method_id !== methodId;
  await linkToProvider(tx, entry.id, provider);
  await audit(tx, providerActor(provider), {
    action: 'payment.link',
    resource: 'payment',
    resourceId: entry.id,
    before: { matchMethod: entry.match_method },
    after: { matchMethod: 'hand_entry', transId: provider.transId },
  });
  const flags = [
    ...row.flags,
    ...(otherAccount ? ['other_account'] : []),
    ...(otherMethod ? ['other_method'] : []),
  ];
  return { outcome: 'linked' as const, paymentId: entry.id, flags };
}

/** Books the money and says so of its notification, by one statement. */
async function book(tx: Tx, context: Context, told: Told): Promise<Receipt> {
  const { row, provider, methodId, match } = told;
  const amountMinor = BigInt(row.amount_minor ?? 0);
  const found = await lockMatched(tx, told);
  const full = found !== undefined && !canTake(booksOf(found), amountMinor);
  const account = full ? undefined : found;
  const outcome = account ? 'matched' : 'unmatched';
  const flags = full ? [...row.flags, 'account_full'] : row.flags;
  const payment = await bookPayment(
    tx,
    context,
    providerActor(provider),
    account,
    {
      amountMinor,
      paymentMethodId: methodId,
      transactionRef: provider.transId,
      paymentDate: businessDay(new Date(row.trans_time ?? row.received_at), context.config.BUSINESS_TIMEZONE),
      source: row.source,
      ...(account && match.accountId !== null ? methodOf(match) : { matchMethod: null }),
      provider,
    },
    (paymentId) => settleNotification(row.id, { outcome, paymentId, flags }),
  );
  return { outcome, paymentId: payment.id };
}

async function lockMatched(tx: Tx, { match: { accountId }, named }: Told): Promise<AccountRow | undefined> {
  if (accountId === null) return undefined;
  return named?.id === accountId ? named : lockAccount(tx, accountId);
}

/** None for a notification about money that went to another's number. */
function readingsOf({ config }: Context, row: NotificationRow): Readings | undefined {
  if (row.flags.includes('other_short_code')) return undefined;
  return readReference(row.bill_ref, row.payer, config.PHONE_REGION);
}

async function matchOf(tx: Tx, context: Context, row: NotificationRow): Promise<Match> {
  const readings = readingsOf(context, row);
  return readings ? findMatch(tx, readings) : { accountId: null, candidates: [] };
}

/** How an account was found, as the payment shows it. */
function methodOf(match: Exclude<Match, { accountId: null }>) {
  if (match.method !== 'learned') return { matchMethod: match.method };
  const { accountId, method: matchMethod, assignedOn } = match;
  return { matchMethod, matchReason: learnedReason(formatAccountNumber(accountId), assignedOn) };
}

function providerActor(provider: ProviderTransaction): Actor {
  return { ...SYSTEM, name: `provider ${provider.name}` };
}
