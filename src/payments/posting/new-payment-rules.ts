import type { AccompanyingRows, MoneyEvent } from '../../accounts/ledger/rules.ts';
import {
  auditRow,
  type ChangeRow,
  event,
  eventRow,
  type NewEvent,
} from '../../changes/events/change-rules.ts';
import type { Actor } from '../../core/context.ts';
import { referenceKey } from '../../core/values/reference.ts';
import { receivedEvent } from '../ledger-entry-rules.ts';
import type { PaymentRow } from '../rules.ts';

// The row, the audit entry and the events of a new payment.

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
export function recordedEvent(
  payment: PaymentRow,
  actor: Actor,
  now: Date,
  rows: AccompanyingRows = {},
): MoneyEvent {
  return {
    rows: {
      ...rows,
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
