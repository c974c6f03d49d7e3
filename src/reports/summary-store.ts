import { type RawBuilder, sql } from 'kysely';
import { COMPLETES } from '../accounts/rules.ts';
import { ACCOUNT_STATUSES } from '../accounts/schema.ts';
import { amountOf, type Context, today, totalOf } from '../core/context.ts';
import type { Tx } from '../core/database/db.ts';
import type { AccountStatus } from '../core/database/tables.ts';
import { addDays, firstOfMonth, type PlainDate, startOfDayUtc } from '../core/values/dates.ts';
import type { Minor } from '../core/values/money.ts';
import {
  accountsUrl,
  atRiskUrl,
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

/** A summary reads all accounts, which takes seconds where there are many. */
export const SUMMARY_READS = { what: 'summaries', connections: 2, timeoutMs: 60_000 };

const EARLIER_PERIOD = { path: 'endDate', advice: 'ask for an earlier period' };

/** The figures of the accounts for a period, from a snapshot; its formulas stand in `sumUpAccounts` and in what selects the accounts. */
export async function summarizeAccounts(tx: Tx, context: Omit<Context, 'db'>, period: Period) {
  const { currency } = context;
  const moment = await readMoment(tx, context, period);
  const figures = await accountFigures(tx, context, period, moment);
  const writeOffs = await writeOffFigures(tx, period, moment);
  const products = await tx.selectFrom('products').select(['id', 'name']).orderBy('id').execute();

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
  const ratio = (numerator: Minor, denominator: Minor, accounts: number, url: string) => ({
    numerator: amount(numerator),
    denominator: amount(denominator),
    ratio: ratioOf(numerator, denominator),
    asOf: moment.asOf,
    count: accounts,
    accountsUrl: moment.isToday ? url : null,
  });

  const sold = figures.filter(({ standing }) => standing !== 'cancelled');
  const receivables = addUp(figures, 'outstanding');
  const buckets = BUCKETS.map((_, i) => figures.filter(({ bucket }) => bucket === i));
  const balances = buckets.map((rows) => addUp(rows, 'outstanding'));
  const counts = buckets.map((rows) => addUp(rows, 'accounts'));
  const atRisk = (days: number) =>
    ratio(beyond(days, balances), receivables, Number(beyond(days, counts)), atRiskUrl(days));

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
      accountsUrl: moment.isToday
        ? accountsUrl({
            '[activationDate][gte]': period.startDate,
            '[activationDate][lte]': moment.asOf,
            '[status][nin]': 'pending,cancelled',
          })
        : null,
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
      const rows = sold.filter(({ product_id }) => product_id === id);
      if (count(rows, 'accounts') === 0) return [];
      const url = accountsUrl({ '[productId]': id, '[status][ne]': 'cancelled' });
      return [{ productId: id, productName: name, ...group(rows, url) }];
    }),
    collectionRate: ratio(
      addUp(sold, 'collected_instalments'),
      addUp(sold, 'due_in_period'),
      count(sold, 'accounts'),
      accountsUrl({ '[status][ne]': 'cancelled' }),
    ),
    repaymentRate: ratio(
      addUp(sold, 'repaid'),
      addUp(sold, 'due_to_date'),
      count(sold, 'begun'),
      accountsUrl({ '[status][ne]': 'cancelled', '[activationDate][lte]': moment.asOf }),
    ),
    par30: atRisk(30),
    par60: atRisk(60),
    par90: atRisk(90),
    daysPastDue: BUCKETS.map((bucket, i) => ({
      ...bucket,
      count: count(buckets[i] ?? [], 'accounts'),
      balance: money(buckets[i] ?? [], 'outstanding'),
      accountsUrl: moment.isToday ? bucketUrl(bucket) : null,
    })),
    writeOffs: {
      count: writeOffs.accounts,
      amount: amountOf(BigInt(writeOffs.amount), currency),
      recovered: amountOf(BigInt(writeOffs.recovered), currency),
      asOf: moment.asOf,
      accountsUrl: accountsUrl({
        '[writtenOffDate][gte]': period.startDate,
        '[writtenOffDate][lte]': moment.asOf,
      }),
    },
  };
}

/**
 * The days that the figures are taken on. Today's figures are the accounts' own columns only while nothing is dated
 * later, which happens when a clock was set back or another instance's clock is ahead.
 */
async function readMoment(
  tx: Tx,
  context: Pick<Context, 'clock' | 'config'>,
  period: Period,
): Promise<Moment> {
  const moment = momentOf(period, today(context));
  return { ...moment, isToday: moment.isToday && !(await isAnythingDatedAfter(tx, moment.asOf)) };
}

async function isAnythingDatedAfter(tx: Tx, day: PlainDate): Promise<boolean> {
  const { rows } = await sql<{ found: boolean }>`
    select exists (select from payments where payment_date > ${day}::date)
      or exists (select from credit_moves where value_date > ${day}::date)
      or exists (select from account_status_changes where changed_on > ${day}::date) as found`.execute(tx);
  return rows[0]?.found ?? false;
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
  begun: number;
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
 * One pass over the accounts. What an account had paid by a day is what it has paid less what came later, and
 * the status that it had is the one before its first move since, so that the cost grows with the accounts, the
 * payments since the period's start and the moves since its end; for this month, with the accounts alone.
 *
 * The formulas stand in docs/decisions/0012-reports.md. Money that came before its account did counts
 * on its own day, so that months add up to a year.
 */
async function accountFigures(
  tx: Tx,
  context: Pick<Context, 'config'>,
  period: Period,
  moment: Moment,
): Promise<Figures[]> {
  const { asOf, before, isToday } = moment;
  const sumUp = (accounts: RawBuilder<unknown>) => sumUpAccounts(tx, context, period, moment, accounts);
  if (!isToday) return sumUp(accountsAt(moment));
  return sumUp(
    period.startDate === firstOfMonth(asOf) ? accountsThisMonth(period.startDate) : accountsToday(before),
  );
}

/** The figures of accounts that `accountsAt`, `accountsToday` or `accountsThisMonth` selects. */
async function sumUpAccounts(
  tx: Tx,
  { config }: Pick<Context, 'config'>,
  { startDate, endDate }: Period,
  { asOf, before }: Moment,
  accounts: RawBuilder<unknown>,
): Promise<Figures[]> {
  const startOf = (day: PlainDate) => startOfDayUtc(day, config.BUSINESS_TIMEZONE);
  // "offset '0'" keeps a subquery as it is: PostgreSQL would compute what it names anew at each place of its use. Without
  // the quotes it would be a cast when the planner asks whether rows are skipped, and no other process could share the work.
  const { rows } = await sql<Figures>`
    with known as (${accounts}),
    placed as (
      select product_id, activation_date, total_minor, deposit_minor, instalment_minor, created_at,
        paid_end, paid_before, is_there, moved_to,
        -- The stored date is that of the present sum and status.
        case
          when paid_end = paid_minor and status not in ('cancelled', 'written_off') then next_due_date
          else next_due_date(
            frequency, activation_date, deposit_minor, instalment_minor, total_minor, paid_end)
        end as due_date,
        instalments_due_by(frequency, activation_date, instalment_count, ${asOf}::date) as due_end,
        instalments_due_by(frequency, activation_date, instalment_count, ${before}::date) as due_before
      from known
      offset '0'
    ),
    standings as (
      select *,
        case
          when paid_end >= total_minor and moved_to = any(${[...COMPLETES]}::account_status[]) then 'completed'
          else moved_to
        end as standing,
        paid_to_instalments(paid_end, deposit_minor, total_minor) as instalments_end,
        paid_to_instalments(paid_before, deposit_minor, total_minor) as instalments_before
      from placed
      offset '0'
    ),
    positions as (
      select *,
        is_there and activation_date <= ${asOf}::date as has_begun,
        created_at >= ${startOf(startDate)} and created_at < ${startOf(addDays(endDate, 1))} as is_opened,
        is_there and activation_date between ${startDate}::date and ${asOf}::date
          and standing not in ('pending', 'cancelled') as is_activated,
        case
          when is_there and standing = any(${[...RECEIVABLE_STATUSES]}::account_status[])
            then width_bucket(greatest(0, ${asOf}::date - due_date), ${BUCKET_STARTS}::integer[])
        end as bucket
      from standings
      offset '0'
    )
    select standing, product_id, bucket,
      count(*) filter (where is_there) as accounts,
      coalesce(sum(total_minor) filter (where is_there), 0)::text as contract,
      coalesce(sum(greatest(0, total_minor - paid_end)) filter (where bucket is not null), 0)::text as outstanding,
      coalesce(sum(greatest(0, instalment_minor * due_end - paid_end
          + case when activation_date <= ${asOf}::date then deposit_minor else 0 end))
        filter (where bucket is not null), 0)::text as arrears,
      count(*) filter (where is_opened) as opened,
      coalesce(sum(total_minor) filter (where is_opened), 0)::text as opened_contract,
      count(*) filter (where is_activated) as activated,
      coalesce(sum(total_minor) filter (where is_activated), 0)::text as activated_contract,
      count(*) filter (where has_begun) as begun,
      sum(paid_end - paid_before)::text as collected,
      sum(instalments_end - instalments_before)::text as collected_instalments,
      sum(instalment_minor * (due_end - due_before))::text as due_in_period,
      sum(least(instalments_end, instalment_minor * due_end))::text as repaid,
      sum(instalment_minor * due_end)::text as due_to_date
    from positions
    group by standing, product_id, bucket`.execute(tx);
  return rows;
}

/** The accounts with what they had paid by asOf and before the period, whether they stood then, and their status. */
function accountsAt({ asOf, before }: Moment): RawBuilder<unknown> {
  return sql`
    select a.*,
      a.paid_minor - coalesce(r.after_end, 0) as paid_end,
      a.paid_minor - coalesce(r.since_start, 0) as paid_before,
      m.account_id is null or m.from_status is not null or a.activation_date <= ${asOf}::date as is_there,
      case
        when m.account_id is not null then coalesce(m.from_status, m.to_status)
        when a.status = 'completed' and a.paid_minor - coalesce(r.after_end, 0) < a.total_minor then (
          select h.from_status from account_status_changes h
          where h.account_id = a.id and h.to_status = 'completed' order by h.id desc limit 1)
        else a.status
      end as moved_to
    from accounts a
    left join (
      select account_id, sum(amount_minor)::bigint as since_start,
        coalesce(sum(amount_minor) filter (where value_date > ${asOf}::date), 0)::bigint as after_end
      from account_money
      where value_date > ${before}::date
      group by account_id
    ) r on r.account_id = a.id
    -- To be completed, or not any more, follows from what was paid and is no move of its own.
    left join (
      select distinct on (account_id) account_id, from_status, to_status
      from account_status_changes
      where changed_on > ${asOf}::date
        and to_status <> 'completed' and from_status is distinct from 'completed'
      order by account_id, id
    ) m on m.account_id = a.id`;
}

/** The same for a period that ends today, when nothing is dated later: the accounts as they are. */
function accountsToday(before: PlainDate): RawBuilder<unknown> {
  return sql`
    select a.*, true as is_there, status as moved_to, paid_minor as paid_end,
      paid_minor - coalesce(r.since_start, 0) as paid_before
    from accounts a
    left join (
      select account_id, sum(amount_minor)::bigint as since_start
      from account_money
      where value_date > ${before}::date
      group by account_id
    ) r on r.account_id = a.id`;
}

/** The same for this month, without a look at its payments. */
function accountsThisMonth(month: PlainDate): RawBuilder<unknown> {
  return sql`
    select *, true as is_there, status as moved_to,
      paid_minor as paid_end,
      paid_minor - case when paid_month = ${month}::date then paid_month_minor else 0 end as paid_before
    from accounts`;
}

interface WriteOffs {
  accounts: number;
  amount: string;
  recovered: string;
}

/**
 * What was owed at the end of the day of each write-off in the period, and what has come in since a write-off.
 * The cost grows with the accounts that were written off and what they paid since.
 */
async function writeOffFigures(tx: Tx, { startDate }: Period, { asOf, before }: Moment): Promise<WriteOffs> {
  const { rows } = await sql<WriteOffs>`
    select
      count(*) filter (where written_off_on >= ${startDate}::date) as accounts,
      coalesce(sum(greatest(0, total_minor - paid_then)) filter (where written_off_on >= ${startDate}::date), 0)::text
        as amount,
      coalesce(sum(least(total_minor, paid_end) - least(total_minor, paid_before)), 0)::text as recovered
    from accounts a, lateral (
      select
        a.paid_minor - coalesce(sum(amount_minor), 0) as paid_then,
        a.paid_minor - coalesce(sum(amount_minor) filter (where value_date > ${asOf}::date), 0) as paid_end,
        a.paid_minor - coalesce(sum(amount_minor) filter (where value_date > ${before}::date), 0) as paid_before
      from account_money
      where account_id = a.id and value_date > a.written_off_on) p
    where written_off_on <= ${asOf}::date`.execute(tx);
  return rows[0] ?? { accounts: 0, amount: '0', recovered: '0' };
}
