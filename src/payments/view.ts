import { formatAccountNumber } from '../accounts/account-number-rules.ts';
import { expandAccountsOf } from '../accounts/expand-view.ts';
import type { AccountOrCustomer } from '../accounts/schema.ts';
import { type Actor, amountOf, type Context, type Currency } from '../core/context.ts';
import type { Db } from '../core/database/db.ts';
import { type ChoiceText, choicesOf } from '../core/http/fields.ts';
import { formatReceiptNumber } from '../documents/receipts/rules.ts';
import { mayDo } from '../rights.ts';
import { stateRefusal } from './correction-rules.ts';
import { MATCH_METHODS } from './matching/rules.ts';
import type { PaymentRow } from './rules.ts';
import type { PaymentExpansion } from './schema.ts';
import { findPaymentDetails } from './store.ts';

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
    correctsPaymentId: row.corrects_payment_id,
    receiptNumber: row.account_id === null ? null : formatReceiptNumber(row.id),
    externalId: row.external_id,
    metadata: row.metadata,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

/**
 * Payments as reads answer them, with what `expand` names.
 * @throws AppError FORBIDDEN if the actor is not allowed to read accounts or customers that it names.
 */
export async function showPayments(
  { db, currency }: Pick<Context, 'db' | 'currency'>,
  actor: Actor,
  rows: readonly PaymentRow[],
  expand: ChoiceText<PaymentExpansion> | undefined,
) {
  const wanted = choicesOf(expand);
  const payments = wanted.has('people')
    ? await toDetailedPayments(db, actor, rows, currency)
    : rows.map((row) => toPayment(row, currency));
  const others = [...wanted].filter((one) => one !== 'people').join(',') as ChoiceText<AccountOrCustomer>;
  return expandAccountsOf(db, actor, payments, others === '' ? undefined : others);
}

/** Payments with who recorded, reversed and approved them, and with what the actor can do with them. */
export async function toDetailedPayments(
  db: Db,
  actor: Actor,
  rows: readonly PaymentRow[],
  currency: Currency,
) {
  const details = await findPaymentDetails(
    db,
    rows.map(({ id }) => id),
  );
  const mayCorrect = mayDo(actor, 'payments:reverse') && mayDo(actor, 'payments:record');
  return rows.map((row) => {
    const found = details.get(row.id);
    if (!found) return toPayment(row, currency);
    const { id: _id, conflictId, statementId, hasPendingApproval, ...people } = found;
    const refusal = stateRefusal(row, { conflictId, statementId });
    const isCorrectable = mayCorrect && !hasPendingApproval && refusal === undefined;
    return { ...toPayment(row, currency), ...people, isCorrectable };
  });
}
