import type { ChangeRow } from '../../changes/events/change-rules.ts';
import type { Actor } from '../../core/context.ts';
import type { RowsOf } from '../../core/database/rows.ts';
import type { LedgerAccount, LedgerEvent, Row } from '../../core/database/tables.ts';
import { AppError } from '../../core/http/errors.ts';
import { compareDates, firstOfMonth, type PlainDate } from '../../core/values/dates.ts';
import type { Minor } from '../../core/values/money.ts';
import type { PayoffFacts, PlanMove } from '../payoffs/posting-rules.ts';
import {
  type AccountBooks,
  applyMovement,
  type Balances,
  type Entry,
  type Movement,
} from './money-on-account-rules.ts';

// Applies money events to the books of accounts. money-on-account-rules.ts has the effect of each movement. Amounts are in minor units.

export type AccountRow = Row<'accounts'>;

/** The columns of an account that are needed to apply a money event. */
export type BooksRow = NewBooks & Pick<AccountRow, 'status' | 'total_minor'>;

export function booksOf(row: Omit<BooksRow, 'paid_month' | 'paid_month_minor'>): AccountBooks {
  return {
    status: row.status,
    totalMinor: BigInt(row.total_minor),
    paidMinor: BigInt(row.paid_minor),
    receivableMinor: BigInt(row.receivable_minor),
    creditMinor: BigInt(row.credit_minor),
    writtenOffMinor: BigInt(row.written_off_minor),
  };
}

/** A money event: movements on accounts, contra entries, and rows of other tables. */
export interface MoneyEvent {
  event: LedgerEvent;
  actor: Actor;
  /** The business day that the event counts for. */
  valueDate: PlainDate;
  /** The payment or credit move that the entries refer to. */
  paymentId?: number;
  creditMoveId?: number;
  /** Empty for an unmatched payment. */
  movements: { accountId: number; movement: Movement }[];
  /** Entries that refer to the account of the first movement, and that bring the sum of all entries of the event to zero. */
  contra: Entry[];
  rows?: AccompanyingRows;
  /** The changes of the plan by an early payoff, or by its undo. */
  planMoves?: readonly PlanMove[];
}

/** Rows of other tables. The SQL statement that writes the money events also writes these rows. */
export type AccompanyingRows = RowsOf<'payments' | 'notifications' | 'idempotency_keys'> & {
  /** The changes in chronological order. `numberChanges` sets the version of each change of an account. */
  changes?: ChangeRow[];
};

/** The columns of an account that money events change. */
export type NewBooks = Pick<
  AccountRow,
  | 'id'
  | 'paid_minor'
  | 'receivable_minor'
  | 'credit_minor'
  | 'written_off_minor'
  | 'paid_month'
  | 'paid_month_minor'
>;

/** A ledger entry to write. The SQL statement that writes the entry generates the id of its event. */
export interface NewEntry {
  /** The position of its event in the batch, counted from 1. */
  position: number;
  event: LedgerEvent;
  account_id: number | null;
  payment_id: number | null;
  credit_move_id: number | null;
  value_date: PlainDate;
  ledger_account: LedgerAccount;
  amount_minor: number;
  payment_method_id: number | null;
}

export type BooksToWrite = NewBooks & Pick<AccountRow, 'event_count'>;

/** Everything that the SQL statement of the ledger writes. */
export interface LedgerRows {
  /** The number of events, with those that were refused: the `position` of an entry counts them. */
  count: number;
  entries: NewEntry[];
  accounts: (BooksToWrite & Pick<AccountRow, 'status' | 'status_reason'>)[];
  rows: AccompanyingRows & RowsOf<'account_status_changes'>;
  /** The early payoffs, and those that are undone. */
  planMoves: PlanMove[];
}

/** The books of accounts while a transaction posts one event after another. */
export interface RunningBooks<Account extends BooksRow = AccountRow> {
  /** As they were before the first event, with the terms after an early payoff. The transaction has locked them. */
  readonly accounts: Map<number, Account>;
  /** What decides about the early payoffs of the accounts that the events can give or take one. */
  readonly payoffs: Map<number, PayoffFacts>;
  /** The new books of the accounts that the posted events have changed. */
  readonly changed: Map<number, NewBooks>;
  readonly posted: MoneyEvent[];
  readonly entries: NewEntry[];
  /** The number of events, with those that were refused. */
  count: number;
}

export function openBooks<Account extends BooksRow>(
  accounts: ReadonlyMap<number, Account>,
  payoffs: ReadonlyMap<number, PayoffFacts> = new Map(),
): RunningBooks<Account> {
  return {
    accounts: new Map(accounts),
    payoffs: new Map(payoffs),
    changed: new Map(),
    posted: [],
    entries: [],
    count: 0,
  };
}

/** The books of an account after the events posted so far. Undefined for an account that the transaction has not locked. */
export function runningBooksOf({ accounts, changed }: RunningBooks, id: number): AccountBooks | undefined {
  const account = accounts.get(id);
  return account && booksOf({ ...account, ...changed.get(id) });
}

/** Posts an event. @returns the error if the event does not pass the checks of an account; it then changes nothing. */
export function postEvent(running: RunningBooks<BooksRow>, event: MoneyEvent): AppError | undefined {
  running.count += 1;
  const applied = applyEvent(running.accounts, running.changed, event, running.count);
  if (applied instanceof AppError) return applied;
  for (const account of applied.books) running.changed.set(account.id, account);
  running.entries.push(...applied.entries);
  running.posted.push(event);
  return undefined;
}

/** @param books - the accounts that earlier events of the batch have changed. */
function applyEvent(
  accounts: ReadonlyMap<number, BooksRow>,
  books: ReadonlyMap<number, NewBooks>,
  { event, valueDate, paymentId, creditMoveId, movements, contra }: MoneyEvent,
  position: number,
): { books: NewBooks[]; entries: NewEntry[] } | AppError {
  const entryOf = (accountId: number | null, { ledgerAccount, amountMinor, paymentMethodId }: Entry) => ({
    position,
    event,
    account_id: accountId,
    payment_id: paymentId ?? null,
    credit_move_id: creditMoveId ?? null,
    value_date: valueDate,
    ledger_account: ledgerAccount,
    amount_minor: Number(amountMinor),
    payment_method_id: paymentMethodId ?? null,
  });
  const entries = contra.map((entry) => entryOf(movements[0]?.accountId ?? null, entry));
  const changed: NewBooks[] = [];
  for (const { accountId, movement } of movements) {
    const account = accounts.get(accountId);
    if (!account) throw new Error(`Account ${accountId} is not locked.`);
    const before = books.get(accountId) ?? account;
    try {
      const applied = applyMovement(booksOf({ ...account, ...before }), movement);
      entries.push(...applied.entries.map((entry) => entryOf(accountId, entry)));
      changed.push(newBooksOf(before, applied.after, valueDate));
    } catch (error) {
      if (error instanceof AppError) return error;
      throw error;
    }
  }
  return { books: changed, entries: entries.filter(({ amount_minor: amount }) => amount !== 0) };
}

function newBooksOf(before: NewBooks, after: Balances, valueDate: PlainDate): NewBooks {
  const month = paidMonthAfter(
    { month: before.paid_month, minor: BigInt(before.paid_month_minor) },
    valueDate,
    after.paidMinor - BigInt(before.paid_minor),
  );
  return {
    id: before.id,
    paid_minor: Number(after.paidMinor),
    receivable_minor: Number(after.receivableMinor),
    credit_minor: Number(after.creditMinor),
    written_off_minor: Number(after.writtenOffMinor),
    paid_month: month.month,
    paid_month_minor: Number(month.minor),
  };
}

/** The latest month in which money arrived on an account or left it, and the net amount of that month. */
export interface PaidMonth {
  /** The first day of the month. Null before the first money. */
  month: PlainDate | null;
  minor: Minor;
}

/** @param amountMinor - negative for money that leaves the account. A reversal counts on the date of its payment. */
export function paidMonthAfter(paid: PaidMonth, valueDate: PlainDate, amountMinor: Minor): PaidMonth {
  if (amountMinor === 0n) return paid;
  const month = firstOfMonth(valueDate);
  if (paid.month === null || compareDates(month, paid.month) > 0) return { month, minor: amountMinor };
  if (month === paid.month) return { month, minor: paid.minor + amountMinor };
  return paid;
}
