import { type ChangeRow, event, eventRow } from '../../changes/events/change-rules.ts';
import { SYSTEM } from '../../core/context.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import { nextDueDate } from '../schedule/rules.ts';
import { changesForPaidAmount, rowsOfChange, type StatusHistory } from '../status/paid-amount-rules.ts';
import { isStatusIn } from '../status/rules.ts';
import { closePayoffs } from './payoff-rules.ts';
import type {
  AccompanyingRows,
  AccountRow,
  BooksToWrite,
  LedgerRows,
  MoneyEvent,
  NewBooks,
  RunningBooks,
} from './rules.ts';

/**
 * The rows of all posted events. An account whose paid amount now requires another status changes to it, once for all events.
 *
 * @param histories - of the accounts whose status `needsHistory`.
 * @param further - further rows, of decisions with and without an event. Their changes belong to no account.
 */
export function closeBooks(
  running: RunningBooks,
  histories: ReadonlyMap<number, StatusHistory>,
  today: PlainDate,
  further: readonly AccompanyingRows[] = [],
): LedgerRows {
  closePayoffs(running, histories);
  const { accounts, changed, posted, entries, count } = running;
  const furtherChanges = further.flatMap((rows) => rows.changes ?? []);
  const { changes, books } = numberChanges(accounts, changed, posted, furtherChanges);
  const statusRows: NonNullable<LedgerRows['rows']['account_status_changes']> = [];
  const written = [...books].map(([id, columns]) => {
    const before = accounts.get(id);
    if (!before) throw new Error(`Account ${id} is not locked.`);
    let account = { ...before, ...columns, next_due_date: dueDateAfter(before, columns) };
    // The money that ended an early payoff is the reason for the status, not the change of the price.
    const cause = posted.findLast((event) => !event.planMoves && setsStatus(event, id));
    const moves = cause ? changesForPaidAmount(account, histories.get(id), cause.event, today) : [];
    for (const move of moves) {
      const made = rowsOfChange(SYSTEM, account, { ...move, date: today });
      account = made.account;
      statusRows.push(made.row);
      changes.push(...made.changes);
    }
    const { event_count, status, status_reason } = account;
    return { ...columns, event_count, status, status_reason };
  });
  const rows = [...further, ...posted.flatMap((event) => event.rows ?? [])];
  return {
    count,
    entries,
    accounts: written,
    rows: {
      payments: rows.flatMap(({ payments = [] }) => payments),
      notifications: rows.flatMap(({ notifications = [] }) => notifications),
      idempotency_keys: rows.flatMap(({ idempotency_keys = [] }) => idempotency_keys),
      account_status_changes: statusRows,
      changes,
    },
    planMoves: posted.flatMap(({ planMoves = [] }) => planMoves),
  };
}

/**
 * Whether the event moves money on the account or changes its terms. An event that opens, cancels or writes off an account does
 * neither: its command sets the status.
 */
function setsStatus({ movements }: MoneyEvent, accountId: number): boolean {
  return movements.some(
    ({ accountId: id, movement }) =>
      id === accountId && ('amountMinor' in movement || movement.kind === 'change_price'),
  );
}

/**
 * Sets the account version of each change row, and adds rows for accounts whose due date or credit has changed.
 *
 * @param accounts - all accounts of the events, locked by the transaction.
 * @param posted - the money events that passed the checks of their accounts.
 * @param further - change rows that belong to no account.
 */
export function numberChanges(
  accounts: ReadonlyMap<number, AccountRow>,
  newBooks: ReadonlyMap<number, NewBooks>,
  posted: readonly MoneyEvent[],
  further: readonly ChangeRow[] = [],
): { changes: ChangeRow[]; books: Map<number, BooksToWrite> } {
  const books = new Map<number, BooksToWrite>();
  for (const [id, columns] of newBooks) {
    books.set(id, { event_count: accounts.get(id)?.event_count ?? 0, ...columns });
  }
  const withVersion = (row: ChangeRow): ChangeRow => {
    if (row.account_id === null) return row;
    const written = books.get(row.account_id);
    if (!written)
      throw new Error(`The change ${row.type} names account ${row.account_id}, whose books do not change.`);
    written.event_count += 1;
    return { ...row, account_version: written.event_count };
  };
  const changes = [...further, ...posted.flatMap(({ rows }) => rows?.changes ?? [])];
  const derived = [...books.values()].flatMap((after) => {
    const before = accounts.get(after.id);
    return before ? changesOfBooks(before, after, posted) : [];
  });
  return { changes: [...changes, ...derived].map(withVersion), books };
}

/** The events for the differences between the old and the new books of an account. */
function changesOfBooks(before: AccountRow, after: NewBooks, posted: readonly MoneyEvent[]): ChangeRow[] {
  const { id } = before;
  const actor = posted.findLast(({ movements }) => movements.some((one) => one.accountId === id))?.actor;
  if (!actor) return [];
  const account = { id };
  const subject = { resource: 'account' as const, resourceId: id };
  const changes: ChangeRow[] = [];
  const dates = {
    nextDueDate: dueDateAfter(before, after),
    previousNextDueDate: before.next_due_date,
  };
  if (dates.nextDueDate !== dates.previousNextDueDate) {
    changes.push(eventRow(actor, subject, event('account.paid_until_changed', dates, account)));
  }
  const credit = { creditMinor: after.credit_minor, previousCreditMinor: before.credit_minor };
  if (credit.creditMinor !== credit.previousCreditMinor) {
    changes.push(eventRow(actor, subject, event('account.credit_changed', credit, account)));
  }
  return changes;
}

/** The value that the column `next_due_date` gets from new books. */
function dueDateAfter(account: AccountRow, { paid_minor: paidMinor }: NewBooks): PlainDate | null {
  return isStatusIn(account.status, 'closed') ? null : nextDueDate(account, paidMinor);
}
