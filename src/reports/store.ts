import { sql } from 'kysely';
import { formatAccountNumber } from '../accounts/account-number.ts';
import { ACCOUNT_STATUSES } from '../accounts/schema.ts';
import { amountOf, type Context, type Currency, today, totalOf } from '../core/context.ts';
import { currencyLiteral, dateLiteral } from '../core/copy.ts';
import { addDays, type PlainDate, startOfDayUtc } from '../core/dates.ts';
import { type Db, inSnapshot, type Tx } from '../core/db.ts';
import type { Minor } from '../core/money.ts';
import type { AccountStatus, PaymentStatus } from '../core/tables.ts';
import {
  accountsUrl,
  BUCKET_STARTS,
  BUCKETS,
  beyond,
  bucketUrl,
  type Moment,
  momentOf,
  type Period,
  RECEIVABLE_STATUSES,
  ratioOf,
} from './rules.ts';

const EARLIER_PERIOD = { path: 'endDate', advice: 'ask for an earlier period' };

/** The figures of the accounts for a period; its formulas stand in `accountFigures` and nowhere else. */
export async function summarizeAccounts(context: Context, period: Period) {
  const { currency } = context;
  const moment = momentOf(period, today(context));
  const { figures, products } = await inSnapshot(context.db, async (tx) => ({
    figures: await accountFigures(tx, context, period, moment),
    products: await tx.selectFrom('products').select(['id', 'name']).orderBy('id').execute(),
  }));

  const amount = (minor: Minor) => totalOf(minor, currency, EARLIER_PERIOD);
  const money = (rows: Figures[], sum: Sum) => amount(addUp(rows, sum));
  const count = (rows: Figures[], sum: Sum) => Number(addUp(rows, sum));
  const group = (rows: Figures[], url: string) => ({
    count: count(rows, 'accounts'),
    contractValue: money(rows, 'contract'),
    outstanding: money(rows, 'outstanding'),
    arrears: money(rows, 'arrears'),
    accountsUrl: moment.isToday ? url : null,
  });
  const ratio = (numerator: Minor, denominator: Minor) => ({
    numerator: amount(numerator),
    denominator: amount(denominator),
    ratio: ratioOf(numerator, denominator),
    asOf: moment.asOf,
  });

  const sold = figures.filter(({ standing }) => standing !== 'cancelled');
  const receivables = addUp(figures, 'outstanding');
  const buckets = BUCKETS.map((_, i) => figures.filter(({ bucket }) => bucket === i));
  const balances = buckets.map((rows) => addUp(rows, 'outstanding'));

  return {
    period,
    asOf: moment.asOf,
    currency: currency.code,
    opened: {
      count: count(figures, 'opened'),
      contractValue: money(figures, 'opened_contract'),
      accountsUrl: accountsUrl({ '[createdAt][gte]': period.startDate, '[createdAt][lte]': period.endDate }),
    },
    activated: {
      count: count(figures, 'activated'),
      contractValue: money(figures, 'activated_contract'),
      accountsUrl: accountsUrl({
        '[activationDate][gte]': period.startDate,
        '[activationDate][lte]': moment.asOf,
        '[status][nin]': 'pending,cancelled',
      }),
    },
    contractValue: money(sold, 'contract'),
    collected: money(figures, 'collected'),
    outstanding: money(figures, 'outstanding'),
    arrears: money(figures, 'arrears'),
    byStatus: ACCOUNT_STATUSES.map((status) => {
      const rows = figures.filter(({ standing }) => standing === status);
      return { status, ...group(rows, accountsUrl({ '[status]': status })) };
    }),
    byProduct: products.flatMap(({ id, name }) => {
      const rows = figures.filter(({ product_id }) => product_id === id);
      if (rows.length === 0) return [];
      return [{ productId: id, productName: name, ...group(rows, accountsUrl({ '[productId]': id })) }];
    }),
    collectionRate: ratio(addUp(sold, 'collected_instalments'), addUp(sold, 'due_in_period')),
    repaymentRate: ratio(addUp(sold, 'repaid'), addUp(sold, 'due_to_date')),
    par30: ratio(beyond(30, balances), receivables),
    par60: ratio(beyond(60, balances), receivables),
    par90: ratio(beyond(90, balances), receivables),
    daysPastDue: BUCKETS.map((bucket, i) => ({
      ...bucket,
      count: count(buckets[i] ?? [], 'accounts'),
      balance: money(buckets[i] ?? [], 'outstanding'),
      accountsUrl: moment.isToday ? bucketUrl(bucket) : null,
    })),
  };
}

/** The accounts of one status, product and bucket; money comes as text, whatever a number holds. */
interface Figures {
  standing: AccountStatus;
  product_id: number;
  /** Index into BUCKETS; null for accounts that are in none. */
  bucket: number | null;
  accounts: number;
  contract: string;
  outstanding: string;
  arrears: string;
  opened: number;
  opened_contract: string;
  activated: number;
  activated_contract: string;
  collected: string;
  collected_instalments: string;
  due_in_period: string;
  repaid: string;
  due_to_date: string;
}

type Sum = Exclude<keyof Figures, 'standing' | 'product_id' | 'bucket'>;

function addUp(figures: Figures[], sum: Sum): bigint {
  return figures.reduce((total, row) => total + BigInt(row[sum]), 0n);
}

/**
 * One pass over the accounts. What an account had paid by a day is what it has paid less what came later,
 * so that the cost grows with the accounts and the payments since the period's start.
 *
 * The formulas stand in docs/decisions/0017-reports.md. What staff set (cancelled, written off, …) counts as it
 * is known now, like reversals; what follows from payments and dates is taken back to asOf: an account paid
 * in full since is where it was before, and one that begins later is pending. Money that came before its
 * account did counts on its own day, so that months add up to a year.
 */
async function accountFigures(
  tx: Tx,
  { config }: Pick<Context, 'config'>,
  { startDate, endDate }: Period,
  { asOf, before, isToday }: Moment,
): Promise<Figures[]> {
  const startOf = (day: PlainDate) => startOfDayUtc(day, config.BUSINESS_TIMEZONE);
  const { rows } = await sql<Figures>`
    with received as (
      select account_id,
        sum(amount_minor)::bigint as since_start,
        coalesce(sum(amount_minor) filter (where value_date > ${asOf}::date and not ${isToday}), 0)::bigint
          as after_end
      from account_money
      where value_date > ${before}::date
      group by account_id
    ),
    paid as (
      select a.*,
        a.paid_minor - coalesce(r.after_end, 0) as paid_end,
        a.paid_minor - coalesce(r.since_start, 0) as paid_before,
        there.is_there
      from accounts a left join received r on r.account_id = a.id,
        lateral (select ${isToday} or a.activation_date <= ${asOf}::date
          or a.created_at < ${startOf(addDays(asOf, 1))} as is_there) there
      where there.is_there or r.since_start <> r.after_end
    ),
    standings as (
      select p.*,
        case
          when p.status = 'cancelled' then p.status
          when p.activation_date > ${asOf}::date and not ${isToday} then 'pending'
          when p.status = 'completed' and p.paid_end < p.total_minor then coalesce(
            (select h.from_status from account_status_changes h
              where h.account_id = p.id and h.to_status = 'completed' order by h.id desc limit 1),
            'active')
          else p.status
        end as standing,
        -- The stored date is that of the present sum.
        case
          when p.paid_end = p.paid_minor then p.next_due_date
          else next_due_date(
            p.frequency, p.activation_date, p.deposit_minor, p.instalment_minor, p.total_minor, p.paid_end)
        end as due_date,
        instalments_due_by(p.frequency, p.activation_date, p.instalment_count, ${asOf}::date) as due_end,
        instalments_due_by(p.frequency, p.activation_date, p.instalment_count, ${before}::date) as due_before,
        paid_to_instalments(p.paid_end, p.deposit_minor, p.total_minor) as instalments_end,
        paid_to_instalments(p.paid_before, p.deposit_minor, p.total_minor) as instalments_before
      from paid p
    ),
    positions as (
      select s.*,
        s.standing = any(${[...RECEIVABLE_STATUSES]}::account_status[]) as receivable,
        greatest(0, s.total_minor - s.paid_end) as balance,
        greatest(0, s.instalment_minor * s.due_end - s.paid_end
          + case when s.activation_date <= ${asOf}::date then s.deposit_minor else 0 end) as arrears,
        case
          when s.standing = any(${[...RECEIVABLE_STATUSES]}::account_status[])
            then width_bucket(greatest(0, ${asOf}::date - s.due_date), ${BUCKET_STARTS}::integer[])
        end as bucket
      from standings s
    )
    select standing, product_id, bucket,
      count(*) filter (where is_there) as accounts,
      coalesce(sum(total_minor) filter (where is_there), 0)::text as contract,
      coalesce(sum(balance) filter (where receivable), 0)::text as outstanding,
      coalesce(sum(arrears) filter (where receivable), 0)::text as arrears,
      count(*) filter (where is_opened) as opened,
      coalesce(sum(total_minor) filter (where is_opened), 0)::text as opened_contract,
      count(*) filter (where is_activated) as activated,
      coalesce(sum(total_minor) filter (where is_activated), 0)::text as activated_contract,
      sum(paid_end - paid_before)::text as collected,
      sum(instalments_end - instalments_before)::text as collected_instalments,
      sum(instalment_minor * (due_end - due_before))::text as due_in_period,
      sum(least(instalments_end, instalment_minor * due_end))::text as repaid,
      sum(instalment_minor * due_end)::text as due_to_date
    from positions,
      lateral (select
        created_at >= ${startOf(startDate)} and created_at < ${startOf(addDays(endDate, 1))} as is_opened,
        activation_date between ${startDate}::date and ${asOf}::date
          and status not in ('pending', 'cancelled') as is_activated) flags
    group by standing, product_id, bucket`.execute(tx);
  return rows;
}

export interface PageOf {
  page: number;
  limit: number;
}

const SHORTER_PERIOD = { path: 'endDate', advice: 'ask for a shorter period, or for format=csv' };

/**
 * Totals of a period's payments and one page of its rows, from one snapshot.
 * @throws AppError VALIDATION_ERROR where a total is beyond an exact number.
 */
export async function reportPayments(db: Db, currency: Currency, period: Period, { page, limit }: PageOf) {
  const { sums, rows, methods } = await inSnapshot(db, async (tx) => ({
    sums: await paymentSums(tx, period),
    rows: await paymentRows(tx, period, { page, limit }),
    methods: await tx.selectFrom('payment_methods').select(['id', 'name']).execute(),
  }));
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
