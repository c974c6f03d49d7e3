import { formatAccountNumber } from '../accounts/account-number-rules.ts';
import { findMethodNames } from '../catalogue/payment-methods/store.ts';
import { amountOf, type Currency, totalOf } from '../core/context.ts';
import type { Tx } from '../core/database/db.ts';
import { pageNumbers } from '../core/http/envelope.ts';
import { invalidField } from '../core/http/errors.ts';
import type { PlainDate } from '../core/values/dates.ts';
import type { Minor } from '../core/values/money.ts';
import { type PageOf, paymentRows, paymentSums, type Sums } from './payments-store.ts';
import { daysOf, MAX_GROUPS, type ReportPeriod } from './rules.ts';

const SHORTER_PERIOD = { path: 'endDate', advice: 'ask for a shorter period, or for format=csv' };

/**
 * The totals of a period's payments and refunds and one page of its payments, from one snapshot.
 *
 * @throws AppError VALIDATION_ERROR if a total is too large for an exact number, or the period has too many days or methods.
 */
export async function reportPayments(
  tx: Tx,
  currency: Currency,
  period: ReportPeriod,
  today: PlainDate,
  { page, limit }: PageOf,
) {
  const sums = await paymentSums(tx, period);
  const rows = await paymentRows(tx, period, { page, limit });
  const methods = await findMethodNames(tx);
  const lastDay = sums.findLast(({ payment_date }) => payment_date !== null)?.payment_date;
  const days = daysOf(period, today, lastDay ?? undefined);
  const sumsOfMethods = sums.filter(isOfMethod);
  if (Math.max(days.length, sumsOfMethods.length) > MAX_GROUPS) {
    const groups = `more than ${MAX_GROUPS} days or methods`;
    throw invalidField(SHORTER_PERIOD.path, `gives a period with ${groups}; ${SHORTER_PERIOD.advice}`);
  }
  const sumsOfDay = new Map(sums.map((row) => [row.payment_date, row]));
  const nameOf = new Map(methods.map(({ id, name }) => [id, name]));
  const amounts = (row: Sums | undefined) => {
    const received = BigInt(row?.received_minor ?? 0);
    const reversed = BigInt(row?.reversed_minor ?? 0);
    const refunded = BigInt(row?.refunded_minor ?? 0);
    const total = (minor: Minor) => totalOf(minor, currency, SHORTER_PERIOD);
    return {
      received: total(received),
      reversed: total(reversed),
      refunded: total(refunded),
      net: total(received - reversed - refunded),
      unmatched: total(BigInt(row?.unmatched_minor ?? 0)),
    };
  };
  const all = sums.find(
    ({ payment_method_id, payment_date }) => payment_method_id === null && payment_date === null,
  );
  const { count = 0, matched = 0, unmatched = 0, refunds = 0 } = all ?? {};
  const data = {
    period,
    currency: currency.code,
    totals: {
      ...amounts(all),
      counts: {
        received: count,
        matched,
        unmatched,
        reversed: count - matched - unmatched,
        refunded: refunds,
      },
    },
    byMethod: sumsOfMethods.map((row) => ({
      paymentMethodId: row.payment_method_id,
      paymentMethod: nameOf.get(row.payment_method_id) ?? '',
      ...amounts(row),
      count: row.count,
    })),
    byDay: days.map((paymentDate) => {
      const row = sumsOfDay.get(paymentDate);
      return { paymentDate, ...amounts(row), count: row?.count ?? 0 };
    }),
    rows: rows.map((row) => ({
      id: row.id,
      paymentDate: row.payment_date,
      accountId: row.account_id,
      accountNumber: row.account_id === null ? null : formatAccountNumber(row.account_id),
      customerName: row.customer_name,
      amount: amountOf(row.amount_minor, currency),
      currency: currency.code,
      paymentMethod: row.payment_method,
      transactionRef: row.transaction_ref,
      status: row.status,
      reconciliationDate: row.reconciliation_date,
    })),
  };
  return { data, pagination: pageNumbers(page, limit, count) };
}

function isOfMethod(row: Sums): row is Sums & { payment_method_id: number } {
  return row.payment_method_id !== null;
}
