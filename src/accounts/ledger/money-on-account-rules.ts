import type { AccountStatus, LedgerAccount } from '../../core/database/tables.ts';
import { AppError, invalidField } from '../../core/http/errors.ts';
import { LARGEST_EXACT_MINOR, type Minor, maxMinor, minMinor } from '../../core/values/money.ts';
import { isStatusIn } from '../status/rules.ts';

// What money does on an account, also on a completed, cancelled or written-off one. Amounts are in minor units.

/** The balances of an account in the ledger, and its status. */
export interface AccountBooks {
  status: AccountStatus;
  totalMinor: Minor;
  paidMinor: Minor;
  receivableMinor: Minor;
  creditMinor: Minor;
  writtenOffMinor: Minor;
}

/** One entry of a money event: a debit is positive, a credit negative. */
export interface Entry {
  ledgerAccount: LedgerAccount;
  amountMinor: Minor;
  /** Only set for entries on clearing, because each payment method has its own clearing account. */
  paymentMethodId?: number;
}

/** The effect of an event on one account. */
export type Movement =
  | { kind: 'money_in' | 'money_out' | 'credit_out'; amountMinor: Minor }
  /** The account has its new terms already. `byMinor`: by how much its price has risen, negative if it has fallen, or 0. */
  | { kind: 'change_price'; byMinor: Minor }
  | { kind: 'open' | 'cancel' | 'write_off' };

export type Balances = Omit<AccountBooks, 'status' | 'totalMinor'>;

/** The balances of an account after a movement, and the entries of the movement. */
export interface AppliedMovement {
  after: Balances;
  entries: Entry[];
}

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
