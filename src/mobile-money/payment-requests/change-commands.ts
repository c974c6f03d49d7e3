import { event, type NewEvent } from '../../changes/events/change-rules.ts';
import type { AuditAction } from '../../changes/events/change-schema.ts';
import { audit } from '../../changes/events/change-store.ts';
import type { Actor } from '../../core/context.ts';
import type { Tx } from '../../core/database/db.ts';
import { providerActor } from '../../payments/rules.ts';
import type { EndReason, RequestAnswer } from '../providers/provider.ts';
import { shortened } from '../providers/rules.ts';
import { END_STATUS, mayMove, type PaymentRequestRow } from './rules.ts';
import { updateRequest } from './store.ts';

// Changes a payment request that the caller has locked. Each change writes an audit entry and an event.

/** The columns for the provider's ids. Ids that are known already do not change. */
export function idColumns(
  row: PaymentRequestRow,
  { requestId, merchantRequestId }: Pick<RequestAnswer, 'requestId' | 'merchantRequestId'>,
) {
  return {
    provider_request_id: row.provider_request_id ?? requestId,
    merchant_request_id: row.merchant_request_id ?? merchantRequestId,
  };
}

export function setSent(tx: Tx, row: PaymentRequestRow, sentAt: Date, nextStepAt: Date | null) {
  const changes = { status: 'sent' as const, sent_at: sentAt, next_step_at: nextStepAt };
  return change(tx, row, changes, 'payment_request.send', event('payment_request.sent', factsOf(row)));
}

/** @param message - why the outcome is not known. */
export function setUnknown(tx: Tx, row: PaymentRequestRow, message: string | null, nextStepAt: Date | null) {
  const changes = {
    status: 'unknown' as const,
    provider_message: shortened(message) ?? row.provider_message,
    next_step_at: nextStepAt,
  };
  return change(
    tx,
    row,
    changes,
    'payment_request.lose_track',
    event('payment_request.unknown', factsOf(row)),
  );
}

/** Ends the request without a payment. */
export function setEnded(
  tx: Tx,
  row: PaymentRequestRow,
  { reason, message }: { reason: EndReason; message: string | null },
  endedAt: Date,
) {
  const status = END_STATUS[reason];
  const changes = { ...ended(endedAt), status, reason, provider_message: shortened(message) };
  const data = { ...factsOf(row), endReason: reason };
  return status === 'declined'
    ? change(tx, row, changes, 'payment_request.decline', event('payment_request.declined', data))
    : change(tx, row, changes, 'payment_request.expire', event('payment_request.expired', data));
}

/** The answer in which the provider reports the payment. Null if no answer has named the transaction. */
export type PaidAnswer = { receipt: string; body: string } | null;

export function setPaid(
  tx: Tx,
  row: PaymentRequestRow,
  answer: PaidAnswer,
  message: string | null,
  endedAt: Date,
  actor?: Actor,
) {
  const changes = {
    ...ended(endedAt),
    status: 'paid' as const,
    reason: null,
    provider_message: shortened(message),
    receipt: answer?.receipt ?? null,
    paid_body: answer?.body ?? null,
  };
  return change(tx, row, changes, 'payment_request.pay', event('payment_request.paid', factsOf(row)), actor);
}

/** Stores the transaction that the provider reports, and unlinks the payment that the service had found for the request. */
export function replacePayment(tx: Tx, row: PaymentRequestRow, { receipt, body }: NonNullable<PaidAnswer>) {
  const changes = { receipt, paid_body: body, payment_id: null, payment_tried_at: null };
  return change(
    tx,
    row,
    changes,
    'payment_request.replace_payment',
    event('payment_request.paid', factsOf(row)),
  );
}

/** @param receipt - the transaction of the payment. */
export function setPayment(
  tx: Tx,
  row: PaymentRequestRow,
  paymentId: number,
  receipt: string,
  actor?: Actor,
) {
  const found = event('payment_request.payment_found', { ...factsOf(row), paymentId });
  return change(tx, row, { payment_id: paymentId, receipt }, 'payment_request.find_payment', found, actor);
}

function ended(endedAt: Date) {
  return { ended_at: endedAt, next_step_at: null, holds_phone: false };
}

function factsOf({ account_id: accountId, amount_minor: amountMinor }: PaymentRequestRow) {
  return { accountId, amountMinor };
}

async function change(
  tx: Tx,
  row: PaymentRequestRow,
  changes: Parameters<typeof updateRequest>[2],
  action: Extract<AuditAction, `payment_request.${string}`>,
  published: NewEvent,
  // After the request was created, the provider causes nearly every change.
  actor: Actor = providerActor(row.provider),
): Promise<PaymentRequestRow> {
  const { status: to } = changes;
  if (to !== undefined && !mayMove(row.status, to))
    throw new Error(`Payment request ${row.id} cannot go from ${row.status} to ${to}.`);
  const after = await updateRequest(tx, row.id, changes);
  await audit(tx, actor, {
    action,
    resource: 'payment_request',
    resourceId: row.id,
    before: auditedOf(row),
    after: auditedOf(after),
    event: published,
  });
  return after;
}

function auditedOf({ status, reason, receipt, payment_id: paymentId }: PaymentRequestRow) {
  return { status, reason, receipt, paymentId };
}
