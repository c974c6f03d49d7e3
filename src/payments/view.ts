import { formatAccountNumber } from '../accounts/account-number-rules.ts';
import { amountOf, type Currency } from '../core/context.ts';
import { MATCH_METHODS } from './matching/rules.ts';
import type { PaymentRow } from './rules.ts';

export function toPayment(row: PaymentRow, currency: Currency) {
  return {
    id: row.id,
    accountId: row.account_id,
    accountNumber: row.account_id === null ? null : formatAccountNumber(row.account_id),
    amount: amountOf(row.amount_minor, currency),
    currency: currency.code,
    paymentMethodId: row.payment_method_id,
    transactionRef: row.transaction_ref,
    paymentDate: row.payment_date,
    status: row.status,
    source: row.source,
    matchMethod: row.match_method,
    matchReason: row.match_reason ?? (row.match_method && MATCH_METHODS[row.match_method].reason),
    reconciliationId: row.reconciliation_id,
    reconciliationDate: row.reconciliation_date,
    reversedAt: row.reversed_at,
    reversalReason: row.reversal_reason,
    externalId: row.external_id,
    metadata: row.metadata,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
