import { amountOf, type Currency } from '../../core/context.ts';
import { okList, type Page } from '../../core/http/envelope.ts';
import { formatAccountNumber } from '../account-number-rules.ts';
import type { CreditMoveRow, ListedCreditMove } from './store.ts';

export function creditMovesFound(page: Page<ListedCreditMove>, currency: Currency) {
  const rows = page.rows.map((row) => toCreditMove(row, row.actor, currency));
  return okList({ ...page, rows }, 'Credit moves found.');
}

export function toCreditMove(row: CreditMoveRow, actor: string, currency: Currency) {
  const to = row.to_account_id;
  return {
    id: row.id,
    kind: to === null ? ('refund' as const) : ('transfer' as const),
    accountId: row.account_id,
    accountNumber: formatAccountNumber(row.account_id),
    toAccountId: to,
    toAccountNumber: to === null ? null : formatAccountNumber(to),
    amount: amountOf(row.amount_minor, currency),
    currency: currency.code,
    reason: row.reason,
    paymentMethodId: row.payment_method_id,
    transactionRef: row.transaction_ref,
    valueDate: row.value_date,
    actor,
    createdAt: row.created_at,
  };
}
