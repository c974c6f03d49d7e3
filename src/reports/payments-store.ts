import { sql } from 'kysely';
import { formatAccountNumber } from '../accounts/account-number.ts';
import { amountOf, type Currency, totalOf } from '../core/context.ts';
import { currencyLiteral, dateLiteral } from '../core/database/copy.ts';
import type { Db, Tx } from '../core/database/db.ts';
import type { PaymentStatus } from '../core/database/tables.ts';
import { inSnapshot } from '../core/database/transactions.ts';
import { invalidField } from '../core/http/errors.ts';
import type { PlainDate } from '../core/values/dates.ts';
import type { Period } from './rules.ts';

export interface PageOf {
  page: number;
  limit: number;
}

/** Ten years of days: each has a row beside those of the page. */
const MAX_GROUPS = 4_000;
const SHORTER_PERIOD = { path: 'endDate', advice: 'ask for a shorter period, or for format=csv' };

/**
 * Totals of a period's payments and one page of its rows, from one snapshot.
 * @throws AppError VALIDATION_ERROR where a total is beyond an exact number, or the payments have too many days.
 */
export async function reportPayments(db: Db, currency: Currency, period: Period, { page, limit }: PageOf) {
  const { sums, rows, methods } = await inSnapshot(db, async (tx) => ({
    sums: await paymentSums(tx, period),
    rows: await paymentRows(tx, period, { page, limit }),
    methods: await tx.selectFrom('payment_methods').select(['id', 'name']).execute(),
  }));
  if (sums.length > MAX_GROUPS) {
    const groups = `payments on more than ${MAX_GROUPS} days or by as many methods`;
    throw invalidField(SHORTER_PERIOD.path, `makes a period that has ${groups}; ${SHORTER_PERIOD.advice}`);
  }
  const nameOf = new Map(methods.map(({ id, name }) => [id, name]));
  const amounts = (row: Sums | undefined) => {
    const [received, reversed] = [BigInt(row?.received ?? 0), BigInt(row?.reversed ?? 0)];
    return {
      received: totalOf(received, currency, SHORTER_PERIOD),
      reversed: totalOf(reversed, currency, SHORTER_PERIOD),
      net: totalOf(received - reversed, currency, SHORTER_PERIOD),
    };
  };
  const all = sums.find(
    ({ payment_method_id, payment_date }) => payment_method_id === null && payment_date === null,
  );
  const data = {
    period,
    currency: currency.code,
    totals: {
      ...amounts(all),
      counts: {
        received: all?.count ?? 0,
        matched: all?.matched ?? 0,
        unmatched: all?.unmatched ?? 0,
        reversed: (all?.count ?? 0) - (all?.matched ?? 0) - (all?.unmatched ?? 0),
      },
    },
    byMethod: sums.flatMap((row) => {
      const id = row.payment_method_id;
      if (id === null) return [];
      return [
        { paymentMethodId: id, paymentMethod: nameOf.get(id) ?? '', ...amounts(row), count: row.count },
      ];
    }),
    byDay: sums.flatMap((row) => {
      if (row.payment_date === null) return [];
      return [{ paymentDate: row.payment_date, ...amounts(row), count: row.count }];
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
  const total = all?.count ?? 0;
  return { data, pagination: { page, limit, total, totalPages: Math.ceil(total / limit) } };
}

interface Sums {
  payment_method_id: number | null;
  payment_date: PlainDate | null;
  count: number;
  matched: number;
  unmatched: number;
  received: string;
  reversed: string;
}

async function paymentSums(tx: Tx, { startDate, endDate }: Period): Promise<Sums[]> {
  const { rows } = await sql<Sums>`
    select payment_method_id, payment_date,
      count(*) as count,
      count(*) filter (where status = 'matched') as matched,
      count(*) filter (where status = 'unmatched') as unmatched,
      coalesce(sum(amount_minor), 0)::text as received,
      coalesce(sum(amount_minor) filter (where status = 'reversed'), 0)::text as reversed
    from payments
    where payment_date between ${startDate}::date and ${endDate}::date
    group by grouping sets ((), (payment_method_id), (payment_date))
    order by payment_date, payment_method_id`.execute(tx);
  return rows;
}

interface ReportRow {
  id: number;
  payment_date: PlainDate;
  account_id: number | null;
  customer_name: string | null;
  amount_minor: number;
  payment_method: string;
  transaction_ref: string | null;
  status: PaymentStatus;
  reconciliation_date: PlainDate | null;
}

async function paymentRows(
  tx: Tx,
  { startDate, endDate }: Period,
  { page, limit }: PageOf,
): Promise<ReportRow[]> {
  const { rows } = await sql<ReportRow>`
    select p.id, p.payment_date, p.account_id, c.first_name || ' ' || c.last_name as customer_name,
      p.amount_minor, m.name as payment_method, p.transaction_ref, p.status, p.reconciliation_date
    from (
      select * from payments
      where payment_date between ${startDate}::date and ${endDate}::date
      order by payment_date, id limit ${limit} offset ${(page - 1) * limit}
    ) p ${sql.raw(JOINS)}
    order by p.payment_date, p.id`.execute(tx);
  return rows;
}

const JOINS = `
    join payment_methods m on m.id = p.payment_method_id
    left join accounts a on a.id = p.account_id
    left join customers c on c.id = a.customer_id`;

/** The columns of the CSV that hold text of people; see `open` in copy.ts. */
export const TEXT_COLUMNS = ['customerName', 'paymentMethod', 'transactionRef'] as const;

/** The payments of a period as the CSV has them: in the order of the report's rows, all of them. */
export function paymentsCsv({ startDate, endDate }: Period, { code, decimals }: Currency): string {
  // bigint × 0.01 is numeric with exactly two decimals.
  const amount = decimals === 0 ? 'p.amount_minor' : `p.amount_minor * 0.${'1'.padStart(decimals, '0')}`;
  return `
    select p.id,
      p.payment_date as "paymentDate",
      p.account_id as "accountId",
      account_number(p.account_id) as "accountNumber",
      csv_text(c.first_name || ' ' || c.last_name) as "customerName",
      ${amount} as amount,
      ${currencyLiteral(code)} as currency,
      csv_text(m.name) as "paymentMethod",
      csv_text(p.transaction_ref) as "transactionRef",
      p.status,
      p.reconciliation_date as "reconciliationDate"
    from payments p ${JOINS}
    where p.payment_date between ${dateLiteral(startDate)} and ${dateLiteral(endDate)}
    order by p.payment_date, p.id`;
}
