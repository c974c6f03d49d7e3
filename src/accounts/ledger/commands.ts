import { type Context, today } from '../../core/context.ts';
import type { Tx } from '../../core/database/db.ts';
import type { AppError } from '../../core/http/errors.ts';
import type { Minor } from '../../core/values/money.ts';
import { canEarnPayoff, isReopened, type LockedAccount } from '../payoffs/posting-rules.ts';
import { findPayoffFacts } from '../payoffs/store.ts';
import { needsHistory, type StatusHistory, statusBeforeCompletion } from '../status/paid-amount-rules.ts';
import { findStatusHistories } from '../status/store.ts';
import { closeBooks } from './close-books-rules.ts';
import { postWithPayoffs } from './payoff-rules.ts';
import { type AccountRow, type MoneyEvent, openBooks } from './rules.ts';
import { writeLedger } from './store.ts';

interface PostedEvents {
  /** The error of each event that did not pass the checks of an account; undefined for a posted event. */
  refusals: (AppError | undefined)[];
  /** The changed accounts, with their new values. */
  accounts: Map<number, AccountRow>;
}

/**
 * Posts money events in the given order, and changes the status of accounts whose paid amount now requires another status. An event
 * that does not pass the checks of an account changes nothing. The other events are posted.
 *
 * @param accounts - all accounts of the events, locked by the transaction.
 */
export async function postAll(
  tx: Tx,
  context: Context,
  accounts: ReadonlyMap<number, LockedAccount>,
  events: readonly MoneyEvent[],
): Promise<PostedEvents> {
  const explained = [...accounts.values()].filter(({ status }) => needsHistory(status));
  const histories = await findStatusHistories(
    tx,
    explained.map(({ id }) => id),
  );
  const books = openBooks(accounts, await readPayoffs(tx, context, { accounts, histories }, events));
  const refusals = events.map((event) => postWithPayoffs(books, event));
  const rows = closeBooks(books, histories, today(context));
  const derived = new Map((await writeLedger(tx, rows)).map((columns) => [columns.id, columns]));
  const changed = new Map<number, AccountRow>();
  for (const columns of rows.accounts) {
    const before = books.accounts.get(columns.id);
    if (before) changed.set(columns.id, { ...before, ...columns, ...derived.get(columns.id) });
  }
  return { refusals, accounts: changed };
}

/** Reads what decides about the early payoffs of the accounts to which the events can give or take one. */
function readPayoffs(
  tx: Tx,
  { currency }: Context,
  {
    accounts,
    histories,
  }: { accounts: ReadonlyMap<number, LockedAccount>; histories: ReadonlyMap<number, StatusHistory> },
  events: readonly MoneyEvent[],
) {
  const sums = new Map<number, { inMinor: Minor; netMinor: Minor }>();
  for (const { accountId, movement } of events.flatMap(({ movements }) => movements)) {
    // A change of the price moves no money, but the sum paid can be below the new price.
    const amountMinor = 'amountMinor' in movement ? movement.amountMinor : 0n;
    const isIn = movement.kind === 'money_in';
    const { inMinor, netMinor } = sums.get(accountId) ?? { inMinor: 0n, netMinor: 0n };
    sums.set(accountId, {
      inMinor: isIn ? inMinor + amountMinor : inMinor,
      netMinor: isIn ? netMinor + amountMinor : netMinor - amountMinor,
    });
  }
  const near = [...sums].flatMap(([id, { inMinor, netMinor }]) => {
    const account = accounts.get(id);
    if (!account) return [];
    const reopens = isReopened(account, BigInt(account.paid_minor) + netMinor);
    const reopened = reopens ? { ...account, status: statusBeforeCompletion(histories.get(id)) } : account;
    const canLosePayoff = reopens && account.plan_version > 0;
    return canLosePayoff || (inMinor > 0n && canEarnPayoff(reopened, inMinor)) ? [account] : [];
  });
  return findPayoffFacts(tx, near, currency, {
    paymentIds: events.flatMap(({ paymentId }) => paymentId ?? []),
    creditMoveIds: events.flatMap(({ creditMoveId }) => creditMoveId ?? []),
  });
}

/** Posts one money event. @throws AppError if the event does not pass the checks of its account. */
export async function post(
  tx: Tx,
  context: Context,
  accounts: ReadonlyMap<number, LockedAccount>,
  event: MoneyEvent,
): Promise<Map<number, AccountRow>> {
  const { refusals, accounts: changed } = await postAll(tx, context, accounts, [event]);
  if (refusals[0]) throw refusals[0];
  return changed;
}
