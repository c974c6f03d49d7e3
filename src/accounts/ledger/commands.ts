import { type Context, today } from '../../core/context.ts';
import type { Tx } from '../../core/database/db.ts';
import type { AppError } from '../../core/http/errors.ts';
import type { LockedAccount } from '../payoffs/posting-rules.ts';
import { findPayoffFacts } from '../payoffs/store.ts';
import { findStatusHistories } from '../status/store.ts';
import { closeBooks } from './close-books-rules.ts';
import { accountsNearPayoff, postWithPayoffs } from './payoff-rules.ts';
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
  const histories = await findStatusHistories(tx, [...accounts.values()]);
  const near = accountsNearPayoff(
    accounts,
    histories,
    events.flatMap(({ movements }) => movements),
  );
  const payoffs = await findPayoffFacts(tx, near, context.currency, {
    paymentIds: events.flatMap(({ paymentId }) => paymentId ?? []),
    creditMoveIds: events.flatMap(({ creditMoveId }) => creditMoveId ?? []),
  });
  const books = openBooks(accounts, payoffs);
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
