import { type ChangeRow, event, eventRow } from '../../changes/events/change-rules.ts';
import { addPeriods, type PlainDate } from '../../core/values/dates.ts';
import { isStatusIn } from '../status/rules.ts';
import type { AccountRow, BooksToWrite, MoneyEvent, NewBooks } from './rules.ts';

/**
 * Sets the account version of each change row, and adds rows for accounts whose due date or credit has changed.
 *
 * @param accounts - all accounts of the events, locked by the transaction.
 * @param posted - the money events that passed the checks of their accounts.
 * @param further - change rows that belong to no event in `posted` and to no account.
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
    nextDueDate: nextDueDate(before, after.paid_minor),
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

/** The value that the generated column `next_due_date` gets from a paid amount. */
function nextDueDate(
  {
    status,
    frequency,
    activation_date: start,
    deposit_minor: deposit,
    instalment_minor: instalment,
    total_minor: total,
  }: Pick<
    AccountRow,
    'status' | 'frequency' | 'activation_date' | 'deposit_minor' | 'instalment_minor' | 'total_minor'
  >,
  paidMinor: number,
): PlainDate | null {
  if (isStatusIn(status, 'closed') || paidMinor >= Number(total)) return null;
  if (paidMinor < deposit) return start;
  return addPeriods(start, frequency, Math.floor((paidMinor - deposit) / instalment) + 1);
}
