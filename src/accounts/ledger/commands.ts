import { type Context, today } from '../../core/context.ts';
import type { Tx } from '../../core/database/db.ts';
import type { LockedAccount } from '../payoffs/posting-rules.ts';
import { findPayoffFacts } from '../payoffs/store.ts';
import { findStatusHistories } from '../status/store.ts';
import { closeBooks } from './close-books-rules.ts';
import { accountsNearPayoff, postWithPayoffs } from './payoff-rules.ts';
import { type AccountRow, type MoneyEvent, openBooks } from './rules.ts';
import { writeLedger } from './store.ts';

/**
 * Posts money events in the given order, and changes the status of accounts whose paid amount now requires another status.
 *
 * @param accounts - all accounts of the events, locked by the transaction.
 * @returns the changed accounts, with their new values.
 * @throws AppError if an event does not pass the checks of an account.
 */
export async function post(
  tx: Tx,
  context: Context,
  accounts: ReadonlyMap<number, LockedAccount>,
  ...events: MoneyEvent[]
): Promise<Map<number, AccountRow>> {
  const histories = await findStatusHistories(tx, [...accounts.values()]);
  const near = accountsNearPayoff(
    accounts,
    events.flatMap(({ movements }) => movements),
  );
  const payoffs = await findPayoffFacts(tx, near, context.currency, {
    paymentIds: events.flatMap(({ paymentId }) => paymentId ?? []),
    creditMoveIds: events.flatMap(({ creditMoveId }) => creditMoveId ?? []),
  });
  const books = openBooks(accounts, payoffs);
  for (const event of events) {
    const refusal = postWithPayoffs(books, event);
    if (refusal) throw refusal;
  }
  const rows = closeBooks(books, histories, today(context));
  const derived = new Map((await writeLedger(tx, rows)).map((columns) => [columns.id, columns]));
  const changed = new Map<number, AccountRow>();
  for (const columns of rows.accounts) {
    const before = books.accounts.get(columns.id);
    if (before) changed.set(columns.id, { ...before, ...columns, ...derived.get(columns.id) });
  }
  return changed;
}
