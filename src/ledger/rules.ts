import type { RowsOf } from '../core/database/rows.ts';
import type { AccountStatus, LedgerAccount, LedgerEvent, Row } from '../core/database/tables.ts';
import { AppError, invalidField } from '../core/http/errors.ts';
import { compareDates, firstOfMonth, type PlainDate } from '../core/values/dates.ts';
import { LARGEST_EXACT_MINOR, type Minor, minMinor } from '../core/values/money.ts';

// What each money event does to the books of an account. Amounts are in minor units.

/** One side of a money event: debit positive, credit negative. */
export interface LedgerLine {
  ledgerAccount: LedgerAccount;
  amountMinor: Minor;
  /** Only, and always, for clearing: which of the clearing accounts. */
  paymentMethodId?: number;
}

/** What the ledger says of an account, and the status that it has. */
export interface AccountBooks {
  status: AccountStatus;
  totalMinor: Minor;
  paidMinor: Minor;
  receivableMinor: Minor;
  creditMinor: Minor;
  writtenOffMinor: Minor;
}

export type AccountRow = Row<'accounts'>;

export function booksOf(row: AccountRow): AccountBooks {
  return {
    status: row.status,
    totalMinor: BigInt(row.total_minor),
    paidMinor: BigInt(row.paid_minor),
    receivableMinor: BigInt(row.receivable_minor),
    creditMinor: BigInt(row.credit_minor),
    writtenOffMinor: BigInt(row.written_off_minor),
  };
}

/** The books after an event, and the ledger's lines on the account's side of it. */
export interface Booking {
  after: Omit<AccountBooks, 'status' | 'totalMinor'>;
  lines: LedgerLine[];
}

/** One money event: what happens on accounts, the lines on the other side, and the rows that are written with it. */
export interface Posting {
  event: LedgerEvent;
  /** The business day that the event counts for. */
  valueDate: PlainDate;
  /** The payment or the move of credit that entries refer to. */
  paymentId?: number;
  creditMoveId?: number;
  /** None where the money belongs to no known account. */
  movements: { accountId: number; movement: Movement }[];
  /** With the lines of the movements they sum to zero. Filed under the account of the first movement. */
  contra: LedgerLine[];
  rows?: PostingRows;
}

/** The columns of an account that postings change. */
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

/** Rows of other tables that belong to postings and are written with them. */
export type PostingRows = RowsOf<'payments' | 'notifications' | 'audit_entries' | 'idempotency_keys'>;

/** What happens on one account. */
export type Movement =
  | { kind: 'money_in' | 'money_out' | 'credit_out'; amountMinor: Minor }
  | { kind: 'open' | 'cancel' | 'write_off' };

/**
 * Applies a movement to the books of an account.
 * @throws AppError VALIDATION_ERROR where the account cannot take it.
 */
export function applyMovement(books: AccountBooks, movement: Movement): Booking {
  switch (movement.kind) {
    case 'money_in':
      return moneyIn(books, movement.amountMinor);
    case 'money_out':
      return moneyOut(books, movement.amountMinor);
    case 'credit_out':
      return creditOut(books, movement.amountMinor);
    case 'open':
      return opening(books);
    case 'cancel':
      return cancellation(books);
    case 'write_off':
      return writeOff(books);
  }
}

/** What the customer has not paid of the total. */
function unpaid({ totalMinor, paidMinor }: Pick<AccountBooks, 'totalMinor' | 'paidMinor'>): Minor {
  return totalMinor > paidMinor ? totalMinor - paidMinor : 0n;
}

/**
 * What the customer still owes. On a cancelled account, whose sale was undone, that is only what was given
 * back to them of payments that were reversed afterwards.
 */
export function balanceOf(books: Pick<AccountBooks, 'status' | 'totalMinor' | 'paidMinor'>): Minor {
  return unpaid(books.status === 'cancelled' ? { ...books, totalMinor: 0n } : books);
}

/** Whether what was paid on the account stays an amount that is exact as a JSON number. */
export function hasRoomFor({ paidMinor }: Pick<AccountBooks, 'paidMinor'>, amountMinor: Minor): boolean {
  return paidMinor + amountMinor <= LARGEST_EXACT_MINOR;
}

/** The refusal of an amount that an account has no room for. @param path the field that brought it. */
export function accountFull(path: string): AppError {
  return invalidField(path, 'must leave what is paid on the account below 10^15 minor units');
}

/**
 * Money comes onto an account: it pays what is owed, and what is beyond becomes the customer's credit.
 * What had been written off is recovered rather than owed. On a cancelled account all is credit.
 */
function moneyIn(books: AccountBooks, amountMinor: Minor): Booking {
  if (!hasRoomFor(books, amountMinor)) throw accountFull('amount');
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
    lines: [
      { ledgerAccount: recovers ? 'recovery' : 'receivable', amountMinor: -owed },
      { ledgerAccount: 'customer_credit', amountMinor: -credit },
    ],
  };
}

/**
 * Money leaves an account again: credit goes first, then what it had paid is owed once more, and more than
 * the total where credit has left the account before. Of a debt that was written off, recoveries are undone
 * first; beyond them the loss grows.
 */
function moneyOut(books: AccountBooks, amountMinor: Minor): Booking {
  if (books.paidMinor - amountMinor < -LARGEST_EXACT_MINOR) {
    throw new AppError('VALIDATION_ERROR', 'The account would owe 10^15 minor units or more.');
  }
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
    lines: [
      { ledgerAccount: 'customer_credit', amountMinor: credit },
      { ledgerAccount: 'recovery', amountMinor: recovered },
      { ledgerAccount: 'bad_debt', amountMinor: lost },
      { ledgerAccount: 'receivable', amountMinor: owed },
    ],
  };
}

/** Credit leaves an account, for another one or for the customer. */
function creditOut(books: AccountBooks, amountMinor: Minor): Booking {
  checkCredit(books, amountMinor);
  return moneyOut(books, amountMinor);
}

/** @throws AppError VALIDATION_ERROR for an amount beyond the credit. */
export function checkCredit({ creditMinor }: AccountBooks, amountMinor: Minor): void {
  if (amountMinor > creditMinor) throw invalidField('amount', 'must be at most the credit of the account');
}

/** The sale: the customer owes the whole price. */
function opening({ totalMinor }: AccountBooks): Booking {
  return {
    after: { paidMinor: 0n, receivableMinor: totalMinor, creditMinor: 0n, writtenOffMinor: 0n },
    lines: [
      { ledgerAccount: 'receivable', amountMinor: totalMinor },
      { ledgerAccount: 'sales', amountMinor: -totalMinor },
    ],
  };
}

/** The sale is undone: nothing of it is owed any more, and all that was paid is the customer's. */
function cancellation(books: AccountBooks): Booking {
  const creditMinor = books.paidMinor > 0n ? books.paidMinor : 0n;
  const receivableMinor = creditMinor - books.paidMinor;
  return {
    after: {
      paidMinor: books.paidMinor,
      receivableMinor,
      creditMinor,
      writtenOffMinor: books.writtenOffMinor,
    },
    lines: [
      { ledgerAccount: 'sales', amountMinor: books.totalMinor },
      { ledgerAccount: 'receivable', amountMinor: receivableMinor - books.receivableMinor },
      { ledgerAccount: 'customer_credit', amountMinor: books.creditMinor - creditMinor },
    ],
  };
}

/** What is outstanding is given up as a loss. Where nothing is, a later reversal would have no loss to add to. */
function writeOff(books: AccountBooks): Booking {
  if (books.receivableMinor === 0n) throw invalidField('status', 'nothing is owed that could be written off');
  return {
    after: {
      paidMinor: books.paidMinor,
      receivableMinor: 0n,
      creditMinor: books.creditMinor,
      writtenOffMinor: books.receivableMinor,
    },
    lines: [
      { ledgerAccount: 'bad_debt', amountMinor: books.receivableMinor },
      { ledgerAccount: 'receivable', amountMinor: -books.receivableMinor },
    ],
  };
}

/** The latest month that money of an account counts for, by its first day, and the sum of what counts for it. */
export interface PaidMonth {
  month: PlainDate | null;
  minor: Minor;
}

/** @param amountMinor below 0 for money that leaves, or was never there, on its own value date. */
export function paidMonthAfter(paid: PaidMonth, valueDate: PlainDate, amountMinor: Minor): PaidMonth {
  if (amountMinor === 0n) return paid;
  const month = firstOfMonth(valueDate);
  if (paid.month === null || compareDates(month, paid.month) > 0) return { month, minor: amountMinor };
  if (month === paid.month) return { month, minor: paid.minor + amountMinor };
  return paid;
}
