import { bookOnAccount, settleAccount } from '../accounts/commands.ts';
import { bookMoneyIn, bookMoneyOut, canTake } from '../accounts/rules.ts';
import { type AccountRow, booksOf } from '../accounts/store.ts';
import type { Actor, Context } from '../core/context.ts';
import type { Tx } from '../core/db.ts';
import { invalidField } from '../core/errors.ts';
import { type LedgerLine, postToLedger } from '../core/ledger.ts';
import type { Minor } from '../core/money.ts';
import type { LedgerEvent } from '../core/tables.ts';
import { type Along, type NewPaymentRow, type PaymentRow, paymentInsert, whyRefused } from './store.ts';

/** @throws AppError VALIDATION_ERROR when the account would hold more than an amount can express. */
export function checkRoom(account: AccountRow, amountMinor: Minor, path: string): void {
  if (!canTake(booksOf(account), amountMinor)) {
    throw invalidField(
      path,
      'is more than this account can still take: what is paid must stay below 10^15 minor units',
    );
  }
}

/**
 * Puts received money into the books: the payment, its ledger entries and the account's balance.
 * @param account locked by the transaction; undefined when it is not known whose money it is.
 * @param along what is to be written by the same statement.
 * @throws AppError DUPLICATE_ENTRY when an unreversed payment of the method has the reference, NOT_FOUND for the method.
 */
export async function bookPayment(
  tx: Tx,
  context: Context,
  actor: Actor,
  account: AccountRow | undefined,
  payment: Omit<NewPaymentRow, 'accountId'>,
  along?: Along,
): Promise<PaymentRow> {
  const paid = { ...payment, accountId: account?.id ?? null };
  const rows = await insertPayment(tx, context, actor, account, paid, along).catch((error: unknown) => {
    throw whyRefused(error, paid);
  });
  const [row] = rows;
  if (!row) throw new Error('An insert returns its row.');
  return row;
}

async function insertPayment(
  tx: Tx,
  context: Context,
  actor: Actor,
  account: AccountRow | undefined,
  payment: NewPaymentRow,
  along?: Along,
): Promise<PaymentRow[]> {
  const { amountMinor, paymentMethodId } = payment;
  const arrived = clearing(amountMinor, paymentMethodId);
  if (!account) {
    return (await paymentInsert(actor, payment, [arrived, unmatched(-amountMinor)], along).execute(tx)).rows;
  }
  const booking = bookMoneyIn(booksOf(account), amountMinor);
  const entries = paymentInsert(actor, payment, [arrived, ...booking.lines], along);
  const settling = { booking, event: 'payment_received' as const, valueDate: payment.paymentDate };
  return (await settleAccount(tx, context, account, settling, entries)).posted;
}

/** Moves unmatched money onto the account that it belongs to. */
export async function bookAssignment(
  tx: Tx,
  context: Context,
  account: AccountRow,
  payment: PaymentRow,
): Promise<void> {
  const amountMinor = BigInt(payment.amount_minor);
  const event = eventOf('payment_assigned', payment);
  const booking = bookMoneyIn(booksOf(account), amountMinor);
  await bookOnAccount(tx, context, account, { ...event, booking, contra: unmatched(amountMinor) });
}

/** Takes money off the account that it was matched to: it is unmatched once more. */
export async function bookUnassignment(
  tx: Tx,
  context: Context,
  account: AccountRow,
  payment: PaymentRow,
): Promise<void> {
  const amountMinor = BigInt(payment.amount_minor);
  const event = eventOf('payment_unassigned', payment);
  const booking = bookMoneyOut(booksOf(account), amountMinor);
  await bookOnAccount(tx, context, account, { ...event, booking, contra: unmatched(-amountMinor) });
}

/**
 * Takes a payment out of the books again by entries of the opposite sign.
 * @returns the account as it is then.
 */
export async function bookReversal(
  tx: Tx,
  context: Context,
  account: AccountRow | undefined,
  payment: PaymentRow,
): Promise<AccountRow | undefined> {
  const amountMinor = BigInt(payment.amount_minor);
  const event = eventOf('payment_reversed', payment);
  const contra = clearing(-amountMinor, payment.payment_method_id);
  if (account) {
    const booking = bookMoneyOut(booksOf(account), amountMinor);
    return bookOnAccount(tx, context, account, { ...event, booking, contra });
  }
  await postToLedger(tx, { ...event, accountId: null, lines: [contra, unmatched(amountMinor)] });
  return undefined;
}

/** Whatever becomes of a payment counts for the payment's own day. */
function eventOf(event: LedgerEvent, payment: PaymentRow) {
  return { event, paymentId: payment.id, valueDate: payment.payment_date };
}

function clearing(amountMinor: Minor, paymentMethodId: number): LedgerLine {
  return { ledgerAccount: 'clearing', amountMinor, paymentMethodId };
}

function unmatched(amountMinor: Minor): LedgerLine {
  return { ledgerAccount: 'unmatched', amountMinor };
}
