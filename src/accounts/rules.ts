import { compareDates, daysBetween, firstOfMonth, type PlainDate } from '../core/dates.ts';
import { AppError, illegalMove, invalidField } from '../core/errors.ts';
import type { LedgerLine } from '../core/ledger.ts';
import { LARGEST_EXACT_MINOR, type Minor, minMinor } from '../core/money.ts';
import type { AccountStatus } from '../core/tables.ts';

/** The moves that staff may make; `completed` is set and undone by the system alone. */
const MOVES: Record<AccountStatus, readonly AccountStatus[]> = {
  pending: ['active', 'suspended', 'cancelled'],
  active: ['suspended', 'defaulted', 'cancelled'],
  suspended: ['active', 'defaulted', 'repossessed', 'written_off', 'cancelled'],
  defaulted: ['active', 'repossessed', 'written_off'],
  repossessed: ['active', 'written_off'],
  completed: [],
  written_off: [],
  cancelled: [],
};

const NEEDS_REASON: ReadonlySet<AccountStatus> = new Set([
  'defaulted',
  'repossessed',
  'written_off',
  'cancelled',
]);
/** Statuses in which nothing falls due any more. */
const CLOSED: ReadonlySet<AccountStatus> = new Set(['cancelled', 'written_off']);
/** Statuses from which an account completes when it is paid in full. */
export const COMPLETES: ReadonlySet<AccountStatus> = new Set([
  'active',
  'suspended',
  'defaulted',
  'written_off',
]);

/** Statuses in which a payment may still be expected: what matching by anything but the number looks at. */
export const OPEN_STATUSES = [
  'pending',
  'active',
  'suspended',
  'defaulted',
] as const satisfies AccountStatus[];

/** @throws AppError VALIDATION_ERROR with `{from, to, allowed}`, or naming a missing reason. */
export function checkMove(from: AccountStatus, to: AccountStatus, reason: string | undefined): void {
  const allowed = MOVES[from];
  if (!allowed.includes(to)) throw illegalMove('An account', from, to, allowed);
  if (NEEDS_REASON.has(to) && reason === undefined) throw invalidField('reason', `is required for ${to}`);
}

/** What the ledger says of an account, in minor units, and the status that it has. */
export interface AccountBooks {
  status: AccountStatus;
  totalMinor: Minor;
  paidMinor: Minor;
  receivableMinor: Minor;
  creditMinor: Minor;
  writtenOffMinor: Minor;
}

/** The change of an account's books, and the ledger's lines on the account's side of it. */
export interface Booking {
  after: Omit<AccountBooks, 'status' | 'totalMinor'>;
  lines: LedgerLine[];
}

/** The latest month that money of an account counts for, by its first day, and the sum of what counts for it. */
export interface PaidMonth {
  month: PlainDate | null;
  minor: Minor;
}

/** @param amountMinor below 0 for money that leaves, or was never there, on its own value date. */
export function paidMonthAfter(paid: PaidMonth, valueDate: PlainDate, amountMinor: Minor): PaidMonth {
  const month = firstOfMonth(valueDate);
  if (paid.month === null || compareDates(month, paid.month) > 0) return { month, minor: amountMinor };
  if (month === paid.month) return { month, minor: paid.minor + amountMinor };
  return paid;
}

/** What of the total is not paid yet. */
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
export function canTake({ paidMinor }: Pick<AccountBooks, 'paidMinor'>, amountMinor: Minor): boolean {
  return paidMinor + amountMinor <= LARGEST_EXACT_MINOR;
}

/**
 * Money comes onto an account: it pays what is owed, and what is beyond becomes the customer's credit.
 * What had been written off is recovered rather than owed. On a cancelled account all is credit.
 */
export function bookMoneyIn(books: AccountBooks, amountMinor: Minor): Booking {
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
 *
 * @throws AppError VALIDATION_ERROR where the account would owe more than an amount can express.
 */
export function bookMoneyOut(books: AccountBooks, amountMinor: Minor): Booking {
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

/**
 * Credit leaves an account, for another one or for the customer.
 * @throws AppError VALIDATION_ERROR naming an amount beyond the credit.
 */
export function bookCreditOut(books: AccountBooks, amountMinor: Minor): Booking {
  if (amountMinor > books.creditMinor) throw invalidField('amount', 'is more than the credit of the account');
  return bookMoneyOut(books, amountMinor);
}

/** The sale is undone: nothing of it is owed any more, and all that was paid is the customer's. */
export function bookCancellation(books: AccountBooks): Booking {
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

/**
 * What is outstanding is given up as a loss.
 * @throws AppError VALIDATION_ERROR where nothing is: a later reversal would have no loss to add to.
 */
export function bookWriteOff(books: AccountBooks): Booking {
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

export function isClosed(status: AccountStatus): boolean {
  return CLOSED.has(status);
}

/** Whether an account in this status, with this paid, is to be completed now. */
export function isToComplete(status: AccountStatus, paidMinor: Minor, totalMinor: Minor): boolean {
  return paidMinor >= totalMinor && COMPLETES.has(status);
}

/** What the lateness policy asks of an account. */
export interface Lateness {
  /** Of the first item that is not fully paid; null when all are. */
  nextDueDate: PlainDate | null;
  graceDays: number;
}

export function isBeyondGrace({ nextDueDate, graceDays }: Lateness, today: PlainDate): boolean {
  return nextDueDate !== null && daysBetween(nextDueDate, today) > graceDays;
}

/** "12 days past due, 7 days of grace": why the lateness policy moves an account. */
export function describeLateness({ nextDueDate, graceDays }: Lateness, today: PlainDate): string {
  const daysPastDue = nextDueDate === null ? 0 : Math.max(0, daysBetween(nextDueDate, today));
  const days = (count: number) => (count === 1 ? '1 day' : `${count} days`);
  return `${days(daysPastDue)} past due, ${days(graceDays)} of grace`;
}
