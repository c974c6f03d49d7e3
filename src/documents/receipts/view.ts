import { formatAccountNumber } from '../../accounts/account-number-rules.ts';
import { amountOf, type Context } from '../../core/context.ts';
import { businessDay } from '../../core/values/dates.ts';
import { formatReceiptNumber } from './rules.ts';
import type { ReceiptRow } from './store.ts';

export function toReceipt({ config, currency }: Pick<Context, 'config' | 'currency'>, row: ReceiptRow) {
  const numberOf = (id: number | null) => (id === null ? null : formatReceiptNumber(id));
  return {
    number: formatReceiptNumber(row.payment_id),
    paymentId: row.payment_id,
    amount: amountOf(row.amount_minor, currency),
    currency: currency.code,
    paymentDate: row.payment_date,
    accountId: row.account_id,
    accountNumber: formatAccountNumber(row.account_id),
    status: row.status === 'reversed' ? ('reversed' as const) : ('valid' as const),
    reversedOn:
      row.reversed_at === null ? null : businessDay(new Date(row.reversed_at), config.BUSINESS_TIMEZONE),
    correctsNumber: numberOf(row.corrects_payment_id),
    correctedByNumber: numberOf(row.corrected_by_id),
    isPrinted: row.first_printed_at !== null,
  };
}
