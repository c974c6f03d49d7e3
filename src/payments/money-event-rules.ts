import type { Entry, Movement } from '../accounts/ledger/money-on-account-rules.ts';
import type { MoneyEvent } from '../accounts/ledger/rules.ts';
import { auditRow, type ChangeRow, event, eventRow, type NewEvent } from '../changes/events/change-rules.ts';
import type { Actor } from '../core/context.ts';
import type { LedgerEvent } from '../core/database/tables.ts';
import { referenceKey } from '../core/values/reference.ts';
import type { PaymentRow } from './rules.ts';

// Makes the money events of payments, with their entries on `clearing` and `unmatched`, and the rows of a new payment.
// accounts/ledger/money-on-account-rules.ts adds the entries on the customer account.

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

type PaymentColumns = Partial<Pick<PaymentRow, 'corrects_payment_id'>> &
  Omit<
    PaymentRow,
    | 'id'
    | 'reference_key'
    | 'status'
    | 'reversed_at'
    | 'reversal_reason'
    | 'reconciliation_id'
    | 'reconciliation_date'
    | 'import_id'
    | 'corrects_payment_id'
    | 'created_at'
    | 'updated_at'
  >;

/** The row of a new payment, in the form in which the database returns it. */
export function paymentRow(id: number, now: Date, columns: PaymentColumns): PaymentRow {
  const { account_id: accountId, transaction_ref: reference } = columns;
  return {
    id,
    reference_key: reference === null ? null : referenceKey(reference),
    status: accountId === null ? 'unmatched' : 'matched',
    reversed_at: null,
    reversal_reason: null,
    reconciliation_id: null,
    reconciliation_date: null,
    import_id: null,
    corrects_payment_id: null,
    created_at: now.toISOString(),
    updated_at: now.toISOString(),
    ...columns,
  };
}

/** The money event of a new payment, with the rows to insert. */
export function recordedEvent(payment: PaymentRow, actor: Actor, now: Date): MoneyEvent {
  return {
    rows: {
      payments: [{ ...payment, reversed_at: null, created_at: now, updated_at: now }],
      changes: [
        auditRow(actor, {
          action: 'payment.record',
          resource: 'payment',
          resourceId: payment.id,
          after: {
            accountId: payment.account_id,
            amountMinor: BigInt(payment.amount_minor),
            paymentMethodId: payment.payment_method_id,
            transactionRef: payment.transaction_ref,
            valueDate: payment.payment_date,
            ...(payment.external_id !== null && { externalId: payment.external_id }),
            ...(Object.keys(payment.metadata).length > 0 && { metadata: payment.metadata }),
          },
          event: receiptOf(payment),
        }),
        ...(payment.source === 'manual' ? [] : [matchOf(payment, actor)]),
      ],
    },
    ...receivedEvent(payment, actor),
  };
}

function receiptOf(payment: PaymentRow): NewEvent {
  const data = {
    accountId: payment.account_id,
    amountMinor: payment.amount_minor,
    paymentMethodId: payment.payment_method_id,
    paymentDate: payment.payment_date,
    source: payment.source,
    status: payment.status,
  };
  return event('payment.received', data, accountOf(payment));
}

function matchOf(payment: PaymentRow, actor: Actor): ChangeRow {
  const { account_id: accountId, amount_minor: amountMinor } = payment;
  const {
    payment_method_id: paymentMethodId,
    payment_date: paymentDate,
    match_method: matchMethod,
  } = payment;
  return eventRow(
    actor,
    { resource: 'payment', resourceId: payment.id },
    accountId === null
      ? event('payment.unmatched', { amountMinor, paymentMethodId, paymentDate })
      : event('payment.matched', { accountId, amountMinor, matchMethod }, accountOf(payment)),
  );
}

function accountOf({ account_id: id }: PaymentRow) {
  return id === null ? undefined : { id };
}
