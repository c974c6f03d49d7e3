import type { Entry, Movement } from '../accounts/ledger/money-on-account-rules.ts';
import type { MoneyEvent } from '../accounts/ledger/rules.ts';
import type { Actor } from '../core/context.ts';
import type { LedgerEvent } from '../core/database/tables.ts';
import type { PaymentRow } from './rules.ts';

// Makes money events with their entries on `clearing` and `unmatched`. accounts/ledger/money-on-account-rules.ts adds the entries on the customer
// account.

/** The columns of a payment that determine its ledger entries. */
type PaymentMoney = Pick<
  PaymentRow,
  'id' | 'account_id' | 'amount_minor' | 'payment_date' | 'payment_method_id'
>;

export function receivedEvent(payment: PaymentMoney, actor: Actor): MoneyEvent {
  return eventOf('payment_received', payment, actor, 'money_in', clearing(payment, 1n));
}

/** Moves the money of a payment from `unmatched` to the account to which it is now assigned. */
export function assignedEvent(payment: PaymentMoney, actor: Actor): MoneyEvent {
  return eventOf('payment_assigned', payment, actor, 'money_in', unmatched(BigInt(payment.amount_minor)));
}

/** Moves the money of a payment from its account to `unmatched`. */
export function unassignedEvent(payment: PaymentMoney, actor: Actor): MoneyEvent {
  return eventOf('payment_unassigned', payment, actor, 'money_out', unmatched(-BigInt(payment.amount_minor)));
}

/** Takes the money of a payment back: from its account, or from `unmatched` if it has no account. */
export function reversedEvent(payment: PaymentMoney, actor: Actor): MoneyEvent {
  return eventOf('payment_reversed', payment, actor, 'money_out', clearing(payment, -1n));
}

/** The value date of each event is the date of the payment. */
function eventOf(
  event: LedgerEvent,
  { id: paymentId, account_id: accountId, amount_minor: amount, payment_date: valueDate }: PaymentMoney,
  actor: Actor,
  kind: 'money_in' | 'money_out',
  contra: Entry,
): MoneyEvent {
  const movement: Movement = { kind, amountMinor: BigInt(amount) };
  return accountId === null
    ? { event, actor, paymentId, valueDate, movements: [], contra: [contra, unmatched(-contra.amountMinor)] }
    : { event, actor, paymentId, valueDate, movements: [{ accountId, movement }], contra: [contra] };
}

function clearing(
  { amount_minor: amount, payment_method_id: paymentMethodId }: PaymentMoney,
  sign: bigint,
): Entry {
  return { ledgerAccount: 'clearing', amountMinor: sign * BigInt(amount), paymentMethodId };
}

function unmatched(amountMinor: bigint): Entry {
  return { ledgerAccount: 'unmatched', amountMinor };
}
