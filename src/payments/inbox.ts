import { formatAccountNumber } from '../accounts/account-number.ts';
import { canTake } from '../accounts/rules.ts';
import { type AccountRow, accountLock, booksOf, lockAccount } from '../accounts/store.ts';
import { mayDo } from '../core/access.ts';
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
  findPendingIds,
  findUndecided,
  flagRepeatAfterReversal,
  insertNotification,
  type KnownTransaction,
  lockNotification,
  lockPending,
  lockUndecided,
  type NotificationRow,
  OTHER_ACCOUNT,
  otherNotification,
  REPEATED_AFTER_REVERSAL,
  type ReadNotification,
  recordFailure,
  reopenNotification,
  type Settlement,
  settleNotification,
} from './inbox-store.ts';
import { decideMatch, learnedReason, type Match, type Readings, readReference } from './matching.ts';
import { candidatesOf, findMatch } from './matching-store.ts';
import {
  getPaymentRow,
  linkToProvider,
  type ManualPayment,
  manualPaymentsLock,
  type PaymentRow,
  type ProviderTransaction,
  providerPayment,
  referenceLock,
  unlinkFromProvider,
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
      return processNotification(tx, context, row);
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

async function repeated(tx: Tx, notification: ReadNotification): Promise<Receipt> {
  const { provider: name, transId } = notification;
  const { rows } = await providerPayment({ name, transId }).execute(tx);
  if (rows[0]?.status === 'reversed') await flagRepeatAfterReversal(tx, notification);
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
        return row && processNotification(tx, context, row);
      });
      if (done) settled += 1;
    } catch (error) {
      log.error({ err: error, notificationId: id }, 'a stored notification failed again');
      await recordFailure(context.db, id, error instanceof Error ? error.message : String(error));
    }
  }
  return settled;
}

/**
 * Decides again about the notifications that a change of a manual payment concerns: those that conflict with payments
 * recorded under the reference, and the one that was linked to a payment that is reversed now.
 */
export async function decideAgain(
  tx: Tx,
  context: Context,
  reference: string,
  reversedId?: number,
): Promise<void> {
  for (const row of await lockUndecided(tx, reference, reversedId))
    await processNotification(tx, context, row);
}

/**
 * A reversed transaction is recorded by hand: the payment that held it gives it up, and the notification is linked to
 * the new one.
 */
export async function takeOverTransaction(
  tx: Tx,
  context: Context,
  { notificationId, paymentId }: KnownTransaction,
  record: () => Promise<PaymentRow>,
): Promise<PaymentRow> {
  const row = await lockNotification(tx, notificationId);
  if (!row) throw new Error(`Notification ${notificationId} is gone.`);
  await unlinkFromProvider(tx, paymentId);
  await reopenNotification(tx, notificationId);
  const { id } = await record();
  await processNotification(tx, context, row, id);
  return getPaymentRow(tx, id);
}

/** The accounts that deciding again about a reference may post to. */
export async function findAccountsOfUndecided(
  tx: Tx,
  context: Context,
  reference: string,
  reversedId?: number,
): Promise<number[]> {
  const matches = [];
  for (const row of await findUndecided(tx, reference, reversedId))
    matches.push(await matchOf(tx, context, row));
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

/**
 * Decides what a notification leads to and posts it.
 * @param accepted the manual payment that staff say is the transaction, whatever account it is on.
 */
export async function processNotification(
  tx: Tx,
  context: Context,
  row: NotificationRow,
  accepted: number | null = null,
): Promise<Receipt> {
  const { trans_id: transId, amount_minor: amount } = row;
  if (transId === null || amount === null) throw new Error(`Notification ${row.id} was never readable.`);
  const provider = { name: row.provider, transId };
  const readings = readingsOf(context, row);

  // The reference's lock comes first: of all who report this transaction, one at a time looks further.
  const [, [manual, another], [booked], others, methods, candidates, [named]] = await together(
    tx,
    referenceLock(transId),
    manualPaymentsLock(transId, amount),
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
  const flags = row.flags.filter((flag) => !DECIDED_FLAGS.has(flag));

  // A provider transaction is paid once. Later notifications with the same id never credit again.
  const isFirst = row.outcome === null;
  if (booked?.status === 'reversed') flags.push(REPEATED_AFTER_REVERSAL);
  if (booked && tellsTheSame(row, booked)) {
    return settleAs({ outcome: 'repeated', paymentId: booked.id, flags });
  }
  if (booked || (isFirst && others.length > 0)) {
    return settleAs({
      outcome: 'differs',
      paymentId: booked?.id ?? null,
      flags: [...flags, DIFFERS_FROM_FIRST],
    });
  }
  const match = decideMatch(candidates, readings?.referenceIsEmpty ?? false);
  const told = { row: { ...row, flags }, provider, methodId: idOf(methods), match, named };
  if (!manual) return book(tx, context, told);

  const namesOther = isOnAnotherAccount(manual, match);
  const conflicting = another ?? (manual.amount_minor === amount ? undefined : manual);
  if (conflicting || (namesOther && manual.id !== accepted && !isAuthoritative(manual))) {
    return settleAs({
      outcome: 'conflict',
      paymentId: null,
      conflictPaymentId: (conflicting ?? manual).id,
      flags: namesOther ? [...flags, OTHER_ACCOUNT] : flags,
    });
  }
  return settleAs(await link(tx, manual, told));
}

const DIFFERS_FROM_FIRST = 'differs_from_first';
const OTHER_METHOD = 'other_method';
const ACCOUNT_FULL = 'account_full';
/** Flags that follow from the decision, as opposed to those of the reading. A further decision sets them again. */
const DECIDED_FLAGS: ReadonlySet<string> = new Set([
  DIFFERS_FROM_FIRST,
  OTHER_ACCOUNT,
  OTHER_METHOD,
  ACCOUNT_FULL,
  REPEATED_AFTER_REVERSAL,
]);

function isOnAnotherAccount(payment: PaymentRow, { accountId }: Match): boolean {
  return accountId !== null && payment.account_id !== null && payment.account_id !== accountId;
}

/**
 * Whether the account of a manual payment counts more than the one that the payer named: whoever recorded it, or put it
 * there, may also assign money whose account is not known.
 */
function isAuthoritative({ recorder_role: role, match_method: method }: ManualPayment): boolean {
  return method === 'assigned' || role === null || mayDo(role, 'payments:assign');
}

/** The provider's statement and its notification spell the payer and the time differently; the amount decides. */
function tellsTheSame(row: NotificationRow, booked: PaymentRow): boolean {
  const oneIsOfTheStatement = row.source === 'import' || booked.source === 'import';
  return oneIsOfTheStatement && row.amount_minor === booked.amount_minor;
}

/**
 * The manual payment is the transaction. Where it disagrees with the notification, that is flagged. One that staff
 * have taken off its account stays in the worklist, where what the payer sent counts now: it may name the very account
 * that they took it off.
 */
async function link(tx: Tx, manual: ManualPayment, { row, provider, methodId, match }: Told) {
  await linkToProvider(tx, manual.id, provider);
  await audit(tx, providerActor(provider), {
    action: 'payment.link',
    resource: 'payment',
    resourceId: manual.id,
    before: { matchMethod: manual.match_method },
    after: { matchMethod: 'hand_entry', transId: provider.transId },
  });
  const flags = [
    ...row.flags,
    ...(isOnAnotherAccount(manual, match) ? [OTHER_ACCOUNT] : []),
    ...(manual.payment_method_id === methodId ? [] : [OTHER_METHOD]),
  ];
  return { outcome: 'linked' as const, paymentId: manual.id, flags };
}

/** Books the money and says so of its notification, by one statement. */
async function book(tx: Tx, context: Context, told: Told): Promise<Receipt> {
  const { row, provider, methodId, match } = told;
  const amountMinor = BigInt(row.amount_minor ?? 0);
  const found = await lockMatched(tx, told);
  const full = found !== undefined && !canTake(booksOf(found), amountMinor);
  const account = full ? undefined : found;
  const outcome = account ? 'matched' : 'unmatched';
  const flags = full ? [...row.flags, ACCOUNT_FULL] : row.flags;
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
