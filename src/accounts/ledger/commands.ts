import type { Context } from '../../core/context.ts';
import type { Tx } from '../../core/database/db.ts';
import type { AppError } from '../../core/http/errors.ts';
import { adjustStatusToPaidAmount } from '../status/commands.ts';
import { numberChanges } from './event-rules.ts';
import { type AccompanyingRows, type AccountRow, applyEvents, type MoneyEvent } from './rules.ts';
import { writeEvents } from './store.ts';

// README.md draws the path of a payment. `postAll` does steps 3 and 4 of that path.

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
 * @param further - rows that belong to none of the events.
 */
export async function postAll(
  tx: Tx,
  context: Context,
  accounts: ReadonlyMap<number, AccountRow>,
  events: readonly MoneyEvent[],
  further: AccompanyingRows = {},
): Promise<PostedEvents> {
  const { refusals, entries, books: newBooks } = applyEvents(accounts, events);
  const posted = events.filter((_event, at) => !refusals[at]);
  const rows = [further, ...posted.flatMap((event) => event.rows ?? [])];
  const { changes, books } = numberChanges(accounts, newBooks, posted, further.changes);
  const derived = await writeEvents(tx, {
    count: events.length,
    entries,
    books: [...books.values()],
    rows: {
      payments: rows.flatMap(({ payments = [] }) => payments),
      notifications: rows.flatMap(({ notifications = [] }) => notifications),
      idempotency_keys: rows.flatMap(({ idempotency_keys = [] }) => idempotency_keys),
      changes,
    },
  });
  const changed = new Map<number, AccountRow>();
  for (const columns of derived) {
    const { id } = columns;
    const before = accounts.get(id);
    if (!before) continue;
    const account = { ...before, ...books.get(id), ...columns };
    const cause = posted.findLast((event) => movesMoney(event, id));
    changed.set(
      id,
      cause ? await adjustStatusToPaidAmount(tx, context, account, { event: cause.event }) : account,
    );
  }
  return { refusals, accounts: changed };
}

/** Posts one money event. @throws AppError if the event does not pass the checks of its account. */
export async function post(
  tx: Tx,
  context: Context,
  accounts: ReadonlyMap<number, AccountRow>,
  event: MoneyEvent,
): Promise<Map<number, AccountRow>> {
  const { refusals, accounts: changed } = await postAll(tx, context, accounts, [event]);
  if (refusals[0]) throw refusals[0];
  return changed;
}

/** Whether the event moves money on the account. An event that opens, cancels or writes off an account moves no money. */
function movesMoney({ movements }: MoneyEvent, accountId: number): boolean {
  return movements.some((one) => one.accountId === accountId && 'amountMinor' in one.movement);
}
