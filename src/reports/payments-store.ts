import { sql } from 'kysely';
import type { Currency } from '../core/context.ts';
import { currencyLiteral, dateLiteral, inUnits } from '../core/database/copy-pool.ts';
import type { Tx } from '../core/database/db.ts';
import type { PaymentStatus } from '../core/database/tables.ts';
import type { PlainDate } from '../core/values/dates.ts';
import type { ReportPeriod } from './rules.ts';

export interface PageOf {
  page: number;
  limit: number;
}

/** The figures of the whole period, of a payment method, or of a day. */
export interface Sums {
  payment_method_id: number | null;
  payment_date: PlainDate | null;
  /** The number of payments. */
  count: number;
  matched: number;
  unmatched: number;
  refunds: number;
  received_minor: string;
  reversed_minor: string;
  refunded_minor: string;
  unmatched_minor: string;
}

/** The sums of the payments and refunds of a period, in total, by method and by day. */
export async function paymentSums(tx: Tx, { startDate, endDate }: ReportPeriod): Promise<Sums[]> {
  const { rows } = await sql<Sums>`
    select payment_method_id, payment_date,
      count(status) as count,
      count(*) filter (where status = 'matched') as matched,
      count(*) filter (where status = 'unmatched') as unmatched,
      count(*) - count(status) as refunds,
      coalesce(sum(amount_minor) filter (where status is not null), 0)::text as received_minor,
      coalesce(sum(amount_minor) filter (where status = 'reversed'), 0)::text as reversed_minor,
      coalesce(sum(amount_minor) filter (where status is null), 0)::text as refunded_minor,
      coalesce(sum(amount_minor) filter (where status = 'unmatched'), 0)::text as unmatched_minor
    from (
      select payment_method_id, payment_date, status, amount_minor from payments
      where payment_date between ${startDate}::date and ${endDate}::date
      union all
      -- Refunds, which have no status.
      select payment_method_id, value_date, null, amount_minor from credit_moves
      where to_account_id is null and value_date between ${startDate}::date and ${endDate}::date
    ) money
    group by grouping sets ((), (payment_method_id), (payment_date))
    order by payment_date, payment_method_id`.execute(tx);
  return rows;
}

export interface ReportRow {
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

export async function paymentRows(
  tx: Tx,
  { startDate, endDate }: ReportPeriod,
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

/** The text columns of the CSV; see `open` in copy-pool.ts. */
export const TEXT_COLUMNS = ['customerName', 'paymentMethod', 'transactionRef'] as const;

/** The query of the CSV: all payments of a period, in the order of the report's rows. */
export function paymentsCsv({ startDate, endDate }: ReportPeriod, { code, decimals }: Currency): string {
  return `
    select p.id,
      p.payment_date as "paymentDate",
      p.account_id as "accountId",
      account_number(p.account_id) as "accountNumber",
      csv_text(c.first_name || ' ' || c.last_name) as "customerName",
      ${inUnits('p.amount_minor', decimals)} as amount,
      ${currencyLiteral(code)} as currency,
      csv_text(m.name) as "paymentMethod",
      csv_text(p.transaction_ref) as "transactionRef",
      p.status,
      p.reconciliation_date as "reconciliationDate"
    from payments p ${JOINS}
    where p.payment_date between ${dateLiteral(startDate)} and ${dateLiteral(endDate)}
    order by p.payment_date, p.id`;
}

export const REFUND_TEXT_COLUMNS = [...TEXT_COLUMNS, 'reason'] as const;

/** The query of the CSV of refunds: all refunds of a period, the oldest first. */
export function refundsCsv({ startDate, endDate }: ReportPeriod, { code, decimals }: Currency): string {
  return `
    select r.id,
      r.value_date as "valueDate",
      r.account_id as "accountId",
      account_number(r.account_id) as "accountNumber",
      csv_text(c.first_name || ' ' || c.last_name) as "customerName",
      ${inUnits('r.amount_minor', decimals)} as amount,
      ${currencyLiteral(code)} as currency,
      csv_text(m.name) as "paymentMethod",
      csv_text(r.transaction_ref) as "transactionRef",
      csv_text(r.reason) as reason
    from credit_moves r
    join payment_methods m on m.id = r.payment_method_id
    join accounts a on a.id = r.account_id
    join customers c on c.id = a.customer_id
    where r.to_account_id is null
      and r.value_date between ${dateLiteral(startDate)} and ${dateLiteral(endDate)}
    order by r.value_date, r.id`;
}
