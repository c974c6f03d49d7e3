import { formatAccountNumber } from '../../accounts/account-number-rules.ts';
import { amountOf, type Currency } from '../../core/context.ts';
import { okList, type Page } from '../../core/http/envelope.ts';
import type { EndReason } from '../providers/provider.ts';
import type { PaymentRequestRow } from './rules.ts';

export function requestsFound(page: Page<PaymentRequestRow>, currency: Currency) {
  const rows = page.rows.map((row) => toPaymentRequest(row, currency));
  return okList({ ...page, rows }, 'Payment requests found.');
}

export function toPaymentRequest(row: PaymentRequestRow, currency: Currency) {
  return {
    id: row.id,
    accountId: row.account_id,
    accountNumber: formatAccountNumber(row.account_id),
    phone: row.phone,
    amount: amountOf(row.amount_minor, currency),
    currency: currency.code,
    status: row.status,
    // The column is text, but the service writes only these reasons.
    reason: row.reason as EndReason | null,
    providerMessage: row.provider_message,
    transactionRef: row.receipt,
    paymentId: row.payment_id,
    requestedBy: row.requested_by,
    createdAt: row.created_at,
    sentAt: row.sent_at,
    endedAt: row.ended_at,
  };
}
