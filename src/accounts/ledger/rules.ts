import type { ChangeRow } from '../../changes/events/change-rules.ts';
import type { Actor } from '../../core/context.ts';
import type { RowsOf } from '../../core/database/rows.ts';
import type { AccountStatus, LedgerAccount, LedgerEvent, Row } from '../../core/database/tables.ts';
import { AppError, invalidField } from '../../core/http/errors.ts';
import { compareDates, firstOfMonth, type PlainDate } from '../../core/values/dates.ts';
import { LARGEST_EXACT_MINOR, type Minor, maxMinor, minMinor } from '../../core/values/money.ts';
import type { PayoffFacts, PlanMove } from '../payoffs/posting-rules.ts';
import { isStatusIn } from '../status/rules.ts';

// Applies money events to the books of accounts. Amounts are in minor units.

/** One entry of a money event: a debit is positive, a credit negative. */
export interface Entry {
  ledgerAccount: LedgerAccount;
  amountMinor: Minor;
  /** Only set for entries on clearing, because each payment method has its own clearing account. */
  paymentMethodId?: number;
}

/** The balances of an account in the ledger, and its status. */
export interface AccountBooks {
  status: AccountStatus;
  totalMinor: Minor;
  paidMinor: Minor;
  receivableMinor: Minor;
  creditMinor: Minor;
  writtenOffMinor: Minor;
}

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

type Balances = Omit<AccountBooks, 'status' | 'totalMinor'>;

/** The balances of an account after a movement, and the entries of the movement. */
export interface AppliedMovement {
  after: Balances;
  entries: Entry[];
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

interface AppliedEvents {
  /** The error of each event that does not pass the checks of an account; undefined for an event to write. */
  refusals: (AppError | undefined)[];
  entries: NewEntry[];
  /** The new books of each account, by account id. */
  books: Map<number, NewBooks>;
}

/**
 * Applies money events to the books of their accounts, in the given order. An event that does not pass the checks of an account
 * changes nothing. The other events are still applied.
 *
 * @param accounts - all accounts of the events.
 */
export function applyEvents(
  accounts: ReadonlyMap<number, BooksRow>,
  events: readonly MoneyEvent[],
): AppliedEvents {
  const running = openBooks(accounts);
  const refusals = events.map((event) => postEvent(running, event));
  return { refusals, entries: running.entries, books: running.changed };
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

/** The effect of an event on one account. */
export type Movement =
  | { kind: 'money_in' | 'money_out' | 'credit_out'; amountMinor: Minor }
  /** The account has its new terms already. `byMinor`: by how much its price has risen, negative if it has fallen, or 0. */
  | { kind: 'change_price'; byMinor: Minor }
  | { kind: 'open' | 'cancel' | 'write_off' };

/**
 * Applies a movement to the books of an account.
 * @throws AppError VALIDATION_ERROR if the account does not allow the movement.
 */
export function applyMovement(books: AccountBooks, movement: Movement): AppliedMovement {
  switch (movement.kind) {
    case 'money_in':
      return moneyIn(books, movement.amountMinor);
    case 'money_out':
      return moneyOut(books, movement.amountMinor);
    case 'credit_out':
      return creditOut(books, movement.amountMinor);
    case 'change_price':
      return priceChange(books, movement.byMinor);
    case 'open':
      return opening(books);
    case 'cancel':
      return cancellation(books);
    case 'write_off':
      return writeOff(books);
  }
}

/** The part of the total that the customer has not paid. */
function unpaid({ totalMinor, paidMinor }: Pick<AccountBooks, 'totalMinor' | 'paidMinor'>): Minor {
  return maxMinor(totalMinor - paidMinor, 0n);
}

/**
 * The amount that the customer owes. After a cancellation, the customer owes something only if credit was refunded or
 * transferred, and a payment of the account was then reversed.
 */
export function balanceOf(books: Pick<AccountBooks, 'status' | 'totalMinor' | 'paidMinor'>): Minor {
  return unpaid(isStatusIn(books.status, 'saleUndone') ? { ...books, totalMinor: 0n } : books);
}

/** Whether the paid amount of the account is still exact as a JSON number after the amount is added. */
export function hasRoomFor({ paidMinor }: Pick<AccountBooks, 'paidMinor'>, amountMinor: Minor): boolean {
  return paidMinor + amountMinor <= LARGEST_EXACT_MINOR;
}

/** The error for an amount that is too large for the account. @param path - the field of the request. */
export function accountFull(path: string): AppError {
  return invalidField(path, 'is refused: the paid amount of the account would reach 10^15 minor units');
}

/**
 * Money arrives on an account. The money pays the debt (`balanceOf`), and the rest becomes the customer's credit. If the debt was
 * written off, the part that pays the debt is a recovery.
 */
function moneyIn(books: AccountBooks, amountMinor: Minor): AppliedMovement {
  if (!hasRoomFor(books, amountMinor)) throw accountFull('amount');
  return lessOwed(books, amountMinor);
}

function lessOwed(books: AccountBooks, amountMinor: Minor): AppliedMovement {
  const owed = minMinor(amountMinor, balanceOf(books));
  const credit = amountMinor - owed;
  const recovers = books.writtenOffMinor > 0n;
  return {
    after: {
      paidMinor: books.paidMinor + amountMinor,
      receivableMinor: books.receivableMinor - (recovers ? 0n : owed),
      creditMinor: books.creditMinor + credit,
      writtenOffMinor: books.writtenOffMinor,
    },
    entries: [
      { ledgerAccount: recovers ? 'recovery' : 'receivable', amountMinor: -owed },
      { ledgerAccount: 'customer_credit', amountMinor: -credit },
    ],
  };
}

/**
 * Money leaves an account. Credit is used first, and the rest becomes debt again. If credit was refunded or transferred before,
 * the debt can exceed the total. If the debt was written off, recoveries are undone first, and the rest increases the loss.
 */
function moneyOut(books: AccountBooks, amountMinor: Minor): AppliedMovement {
  if (books.paidMinor - amountMinor < -LARGEST_EXACT_MINOR) {
    throw new AppError('VALIDATION_ERROR', 'The account would owe 10^15 minor units or more.');
  }
  return moreOwed(books, amountMinor);
}

function moreOwed(books: AccountBooks, amountMinor: Minor): AppliedMovement {
  const credit = minMinor(amountMinor, books.creditMinor);
  const rest = amountMinor - credit;
  const wasWrittenOff = books.writtenOffMinor > 0n;
  const recovered = wasWrittenOff ? minMinor(rest, books.writtenOffMinor - unpaid(books)) : 0n;
  const lost = wasWrittenOff ? rest - recovered : 0n;
  const owed = wasWrittenOff ? 0n : rest;
  return {
    after: {
      paidMinor: books.paidMinor - amountMinor,
      receivableMinor: books.receivableMinor + owed,
      creditMinor: books.creditMinor - credit,
      writtenOffMinor: books.writtenOffMinor + lost,
    },
    entries: [
      { ledgerAccount: 'customer_credit', amountMinor: credit },
      { ledgerAccount: 'recovery', amountMinor: recovered },
      { ledgerAccount: 'bad_debt', amountMinor: lost },
      { ledgerAccount: 'receivable', amountMinor: owed },
    ],
  };
}

/**
 * The price changes, and the sum paid stays. A fall of the price has the effect of money that arrives, and a rise that of money that
 * leaves: what lies beyond the debt is credit.
 */
function priceChange(books: AccountBooks, byMinor: Minor): AppliedMovement {
  const before = { ...books, totalMinor: books.totalMinor - byMinor };
  const { after, entries } = byMinor < 0n ? lessOwed(before, -byMinor) : moreOwed(before, byMinor);
  return {
    after: { ...after, paidMinor: books.paidMinor },
    entries: [...entries, { ledgerAccount: 'sales', amountMinor: -byMinor }],
  };
}

/** Credit leaves an account, to another account or to the customer. */
function creditOut(books: AccountBooks, amountMinor: Minor): AppliedMovement {
  checkCredit(books, amountMinor);
  return moneyOut(books, amountMinor);
}

/** @throws AppError VALIDATION_ERROR for an amount above the credit. */
export function checkCredit({ creditMinor }: AccountBooks, amountMinor: Minor): void {
  if (amountMinor > creditMinor) throw invalidField('amount', 'must be at most the credit of the account');
}

/** The sale: the customer owes the whole price. */
function opening({ totalMinor }: AccountBooks): AppliedMovement {
  return {
    after: { paidMinor: 0n, receivableMinor: totalMinor, creditMinor: 0n, writtenOffMinor: 0n },
    entries: [
      { ledgerAccount: 'receivable', amountMinor: totalMinor },
      { ledgerAccount: 'sales', amountMinor: -totalMinor },
    ],
  };
}

/** The sale is undone. Everything that was paid becomes credit. If the paid amount is negative, the customer owes that amount. */
function cancellation(books: AccountBooks): AppliedMovement {
  const creditMinor = maxMinor(books.paidMinor, 0n);
  const receivableMinor = creditMinor - books.paidMinor;
  return {
    after: {
      paidMinor: books.paidMinor,
      receivableMinor,
      creditMinor,
      writtenOffMinor: books.writtenOffMinor,
    },
    entries: [
      { ledgerAccount: 'sales', amountMinor: books.totalMinor },
      { ledgerAccount: 'receivable', amountMinor: receivableMinor - books.receivableMinor },
      { ledgerAccount: 'customer_credit', amountMinor: books.creditMinor - creditMinor },
    ],
  };
}

/**
 * The debt becomes a loss. An account without a debt is refused, because later money events recognize a write-off by
 * `writtenOffMinor` above 0.
 */
function writeOff(books: AccountBooks): AppliedMovement {
  if (books.receivableMinor === 0n)
    throw invalidField('status', 'cannot be written_off: the account owes nothing');
  return {
    after: {
      paidMinor: books.paidMinor,
      receivableMinor: 0n,
      creditMinor: books.creditMinor,
      writtenOffMinor: books.receivableMinor,
    },
    entries: [
      { ledgerAccount: 'bad_debt', amountMinor: books.receivableMinor },
      { ledgerAccount: 'receivable', amountMinor: -books.receivableMinor },
    ],
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
