import { amountOf, type Currency } from '../../core/context.ts';
import { asFlags } from './rules.ts';
import type { ListedNotification } from './store.ts';

const WILL_BE_TRIED_AGAIN = 'Processing failed. The service retries it every minute.';

export function toNotification(row: ListedNotification, currency: Currency) {
  return {
    id: row.id,
    status: row.status,
    outcome: row.outcome,
    flags: asFlags(row.flags),
    source: row.source,
    transactionRef: row.trans_id,
    amount: row.amount_minor === null ? null : amountOf(row.amount_minor, currency),
    reference: row.bill_ref,
    payer: row.payer,
    businessShortCode: row.business_short_code,
    paymentId: row.payment_id,
    conflictingPaymentId: row.conflict_payment_id,
    // The failure of a pending notification is an internal error, which is shown only in the log.
    failure: row.status === 'pending' && row.failure !== null ? WILL_BE_TRIED_AGAIN : row.failure,
    attempts: row.attempts,
    rawBody: row.raw_body,
    processedAt: row.processed_at,
    createdAt: row.received_at,
  };
}
