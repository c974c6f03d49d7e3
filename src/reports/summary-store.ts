import { type RawBuilder, sql } from 'kysely';
import {
  CHANGED_IDS,
  changedAccountsOn,
  depositDueBy,
  earlierTermsOn,
  HAS_CHANGED_PLANS,
  HAS_RUNS,
  instalmentsDueBy,
  isAnyPlanChangedAfter,
  nextDueDateWith,
  originalDueDateWith,
  originalInstalmentsDueBy,
  originalTermsOn,
  paidToInstalments,
  totalOn,
  unchangedAccounts,
} from '../accounts/schedule/store.ts';
import { statusesIn } from '../accounts/status/rules.ts';
import type { Context } from '../core/context.ts';
import type { Tx } from '../core/database/db.ts';
import { literalList } from '../core/database/literal-list.ts';
import type { AccountStatus } from '../core/database/tables.ts';
import { addDays, firstOfMonth, type PlainDate, startOfDayUtc } from '../core/values/dates.ts';
import { BUCKET_STARTS, type ReportDays, type ReportPeriod } from './rules.ts';

/** A summary reads all accounts, which takes seconds in a large portfolio. */
export const SUMMARY_READS = { what: 'summaries', connections: 2 };

/** What a summary has to compute. The statements leave out formulas for what no account has: on small books, most of their time is planning. */
export interface SummaryNeeds {
  /** Whether anything is dated after asOf. */
  isDatedLater: boolean;
  hasRuns: boolean;
  hasChangedPlans: boolean;
  hasWriteOffs: boolean;
}

export async function findSummaryNeeds(tx: Tx, { asOf, isToday }: ReportDays): Promise<SummaryNeeds> {
  // Only of interest for today. Of a past day, nearly everything is dated later, and PostgreSQL would search from the beginning.
  const isDatedLater = sql<boolean>`(
    exists (select from payments where payment_date > ${asOf}::date)
      or exists (select from credit_moves where value_date > ${asOf}::date)
      or exists (select from account_status_changes where changed_on > ${asOf}::date)
      or ${isAnyPlanChangedAfter(asOf)})`;
  return tx
    .selectNoFrom([
      HAS_RUNS.as('hasRuns'),
      HAS_CHANGED_PLANS.as('hasChangedPlans'),
      sql<boolean>`exists (select from accounts where written_off_on is not null)`.as('hasWriteOffs'),
      (isToday ? isDatedLater : sql<boolean>`true`).as('isDatedLater'),
    ])
    .executeTakeFirstOrThrow();
}

/** The accounts of one status, product and bucket. Sums of money are texts, because they can be too large for an exact number. */
export interface SummaryFigures {
  status_then: AccountStatus;
  product_id: number;
  /** Index into BUCKETS; null outside the gross receivables. */
  bucket: number | null;
  /** Like `bucket`, for the larger of the days past due by the present and by the original terms. */
  largest_bucket: number | null;
  /** Whether a change that is not undone has moved what was due. Null outside the gross receivables. */
  restructured: boolean | null;
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
  /** Like the three above, by the original terms. */
  original_due_in_period: string;
  original_repaid: string;
  original_due_to_date: string;
}

/**
 * Sums up all accounts, in one statement if no plan was ever changed. The amount paid by a day is the present amount minus the payments
 * after that day. The status on a day is the status before the first change after that day. So a statement reads the accounts, the
 * payments since the start of the period, and the status changes since its end. For the current month, it reads only the accounts.
 *
 * docs/decisions/0010-reports.md has the formulas. A payment dated before its account was opened counts on the date of the payment.
 * A sum over the period is its value at the end minus that at the end of the day before, each with the terms of its own day. Otherwise
 * the figures of twelve months would not add up to the figure of the year.
 */
export async function accountFigures(
  tx: Tx,
  context: Pick<Context, 'config'>,
  period: ReportPeriod,
  days: ReportDays,
  { hasRuns, hasChangedPlans }: SummaryNeeds,
): Promise<SummaryFigures[]> {
  // The formulas of accounts whose plan was never changed are shorter, so these accounts are summed up apart.
  const unchanged = await figuresOf(tx, context, period, days, partsOfUnchanged(days, hasRuns));
  if (!hasChangedPlans) return unchanged;
  return [...unchanged, ...(await figuresOf(tx, context, period, days, partsOfChanged(days)))];
}

/** The parts of the statement that depend on whether the plans of its accounts were changed. */
interface Parts {
  /** Whether any of its accounts can have runs, on any day. */
  hasRuns: boolean;
  /** With their terms on asOf. */
  accounts: RawBuilder<unknown>;
  /** Whether an `account_id` is that of one of them. */
  isOfAccounts: RawBuilder<unknown>;
  /** The figures of the day before the period, by the terms of that day, and the figures by original terms. */
  columns: RawBuilder<unknown>;
  join: RawBuilder<unknown>;
  /** What the changes in the period add to the contract value of the accounts with the condition. */
  changeOfContract(condition: RawBuilder<unknown>): RawBuilder<unknown>;
  /** By how many buckets the account is later by the original terms. @param bucketOf - the bucket of a due date. */
  bucketsLater(bucketOf: (dueDate: RawBuilder<unknown>) => RawBuilder<number>): RawBuilder<unknown>;
  /** The instalments due by the original terms on asOf, and on the day before the period. */
  originalDue: RawBuilder<unknown>;
  originalDueBefore: RawBuilder<unknown>;
}

function partsOfUnchanged({ before }: ReportDays, hasRuns: boolean): Parts {
  return {
    hasRuns,
    accounts: unchangedAccounts(hasRuns),
    isOfAccounts: sql`true`,
    columns: sql`
      ${instalmentsDueBy(before, hasRuns)} as instalments_due_before,
      ${paidToInstalments(sql`paid_before`)} as instalments_before`,
    join: sql``,
    changeOfContract: () => sql`0`,
    bucketsLater: () => sql`0`,
    // Sums of these are equal to other sums, and PostgreSQL computes equal sums once.
    originalDue: sql`instalments_due`,
    originalDueBefore: sql`instalments_due_before`,
  };
}

function partsOfChanged({ asOf, before }: ReportDays): Parts {
  const paid = sql`paid_before`;
  return {
    hasRuns: true,
    accounts: changedAccountsOn(asOf),
    isOfAccounts: sql`account_id in ${CHANGED_IDS}`,
    columns: sql`
      coalesce(b.total_minor, a.total_minor) as total_before,
      coalesce(b.instalments_due, ${instalmentsDueBy(before)}) as instalments_due_before,
      case when b.id is null then ${paidToInstalments(paid)} else ${paidToInstalments(paid, 'b')} end as instalments_before,
      ${originalDueDateWith(sql`paid_end`)} as original_due_date,
      ${originalInstalmentsDueBy(asOf, 'o')} as original_due,
      ${originalInstalmentsDueBy(before, 'ob')} as original_due_before`,
    join: sql`
      left join ${earlierTermsOn(before)} b on b.id = a.id
      left join ${originalTermsOn(asOf)} o on o.account_id = a.id
      left join ${originalTermsOn(before)} ob on ob.account_id = a.id`,
    changeOfContract: (condition) =>
      sql`coalesce(sum(total_minor - total_before) filter (where ${condition}), 0)`,
    bucketsLater: (bucketOf) => sql`(case
      when original_due_date < due_date then ${bucketOf(sql`original_due_date`)} - ${bucketOf(sql`due_date`)} else 0 end)`,
    originalDue: sql`coalesce(original_due, instalments_due)`,
    originalDueBefore: sql`coalesce(original_due_before, instalments_due_before)`,
  };
}

async function figuresOf(
  tx: Tx,
  { config }: Pick<Context, 'config'>,
  { startDate, endDate }: ReportPeriod,
  days: ReportDays,
  parts: Parts,
): Promise<SummaryFigures[]> {
  const { asOf } = days;
  const startOf = (day: PlainDate) => startOfDayUtc(day, config.BUSINESS_TIMEZONE);
  const bucketOf = (dueDate: RawBuilder<unknown>) =>
    sql<number>`width_bucket(greatest(0, ${asOf}::date - ${dueDate}), ${BUCKET_STARTS}::integer[])`;
  // Without "offset '0'", PostgreSQL would inline a subquery and compute its columns again at each use. The quotes matter:
  // an unquoted 0 is cast, and after a cast the planner assumes that rows can be skipped and plans no parallel scan.
  const { rows } = await sql<SummaryFigures>`
    with with_paid as (${accountsOf(startDate, days, parts)}),
    with_dues as (
      select product_id, activation_date, a.total_minor, created_at, paid_end, paid_before, existed, recorded_status,
        ${nextDueDateWith(sql`paid_end`, parts.hasRuns)} as due_date,
        restructured_kind is not null as restructured,
        ${depositDueBy(asOf)} as deposit_due,
        ${instalmentsDueBy(asOf, parts.hasRuns)} as instalments_due,
        ${paidToInstalments(sql`paid_end`)} as instalments_end,
        ${parts.columns}
      from with_paid a ${parts.join}
      offset '0'
    ),
    with_status as (
      select *,
        case
          when paid_end >= total_minor and recorded_status in ${literalList(statusesIn('completesWhenPaid'))} then 'completed'
          else recorded_status
        end as status_then
      from with_dues
      offset '0'
    ),
    with_bucket as (
      select *,
        existed and activation_date <= ${asOf}::date as has_begun,
        created_at >= ${startOf(startDate)} and created_at < ${startOf(addDays(endDate, 1))} as is_opened,
        existed and activation_date between ${startDate}::date and ${asOf}::date
          and status_then not in ${literalList(statusesIn('unsold'))} as is_activated,
        -- One number for three columns: with more columns to group by, PostgreSQL would expect so many groups that it sorts all accounts.
        case
          when existed and status_then in ${literalList(statusesIn('receivable'))}
            then ${bucketOf(sql`due_date`)} * 16 + ${parts.bucketsLater(bucketOf)} * 2 + restructured::integer
        end as risk
      from with_status
      offset '0'
    )
    select status_then, product_id, risk / 16 as bucket, risk / 16 + risk / 2 % 8 as largest_bucket, risk % 2 = 1 as restructured,
      count(*) filter (where existed) as accounts,
      coalesce(sum(total_minor) filter (where existed), 0)::text as contract,
      coalesce(sum(greatest(0, total_minor - paid_end)) filter (where risk is not null), 0)::text as outstanding,
      coalesce(sum(greatest(0, deposit_due + instalments_due - paid_end)) filter (where risk is not null), 0)::text as arrears,
      count(*) filter (where is_opened) as opened,
      (coalesce(sum(total_minor) filter (where is_opened), 0)
        + ${parts.changeOfContract(sql`created_at < ${startOf(startDate)}`)})::text as opened_contract,
      count(*) filter (where is_activated) as activated,
      (coalesce(sum(total_minor) filter (where is_activated), 0)
        + ${parts.changeOfContract(
          sql`existed and activation_date < ${startDate}::date
            and status_then not in ${literalList(statusesIn('unsold'))}`,
        )})::text as activated_contract,
      count(*) filter (where has_begun) as begun,
      sum(paid_end - paid_before)::text as collected,
      sum(instalments_end - instalments_before)::text as collected_instalments,
      sum(instalments_due - instalments_due_before)::text as due_in_period,
      sum(least(instalments_end, instalments_due))::text as repaid,
      sum(instalments_due)::text as due_to_date,
      sum(${parts.originalDue} - ${parts.originalDueBefore})::text as original_due_in_period,
      sum(least(instalments_end, ${parts.originalDue}))::text as original_repaid,
      sum(${parts.originalDue})::text as original_due_to_date
    from with_bucket
    group by status_then, product_id, risk`.execute(tx);
  return rows;
}

function accountsOf(startDate: PlainDate, days: ReportDays, parts: Parts): RawBuilder<unknown> {
  if (!days.isToday) return accountsAt(days, parts);
  return startDate === firstOfMonth(days.asOf)
    ? accountsThisMonth(startDate, parts)
    : accountsToday(days.before, parts);
}

/**
 * All accounts, with the amounts paid by asOf (`paid_end`) and before the period (`paid_before`), and whether the account was opened
 * by asOf (`existed`). `recorded_status` is the status on asOf. `with_status` changes it to `completed` if all is paid.
 */
function accountsAt({ asOf, before }: ReportDays, { accounts, isOfAccounts }: Parts): RawBuilder<unknown> {
  return sql`
    select a.*,
      a.paid_minor - coalesce(r.after_end, 0) as paid_end,
      a.paid_minor - coalesce(r.since_start, 0) as paid_before,
      m.account_id is null or m.from_status is not null or a.activation_date <= ${asOf}::date as existed,
      case
        when m.account_id is not null then coalesce(m.from_status, m.to_status)
        when a.status = 'completed' and a.paid_minor - coalesce(r.after_end, 0) < a.total_minor then (
          select h.from_status from account_status_changes h
          where h.account_id = a.id and h.to_status = 'completed' order by h.id desc limit 1)
        else a.status
      end as recorded_status
    from ${accounts} a
    left join (
      select account_id, sum(amount_minor)::bigint as since_start,
        coalesce(sum(amount_minor) filter (where value_date > ${asOf}::date), 0)::bigint as after_end
      from account_money
      where value_date > ${before}::date and ${isOfAccounts}
      group by account_id
    ) r on r.account_id = a.id
    -- Changes to and from completed are left out: the sum paid decides whether an account counts as completed.
    left join (
      select distinct on (account_id) account_id, from_status, to_status
      from account_status_changes
      where changed_on > ${asOf}::date
        and to_status <> 'completed' and from_status is distinct from 'completed' and ${isOfAccounts}
      order by account_id, id
    ) m on m.account_id = a.id`;
}

/** Like `accountsAt`, if asOf is today and nothing is dated later: the present values of the accounts. */
function accountsToday(before: PlainDate, { accounts, isOfAccounts }: Parts): RawBuilder<unknown> {
  return sql`
    select a.*, true as existed, status as recorded_status, paid_minor as paid_end,
      paid_minor - coalesce(r.since_start, 0) as paid_before
    from ${accounts} a
    left join (
      select account_id, sum(amount_minor)::bigint as since_start
      from account_money
      where value_date > ${before}::date and ${isOfAccounts}
      group by account_id
    ) r on r.account_id = a.id`;
}

/** Like `accountsToday`, for a period that starts with the current month. Reads no payments. */
function accountsThisMonth(month: PlainDate, { accounts }: Parts): RawBuilder<unknown> {
  return sql`
    select *, true as existed, status as recorded_status,
      paid_minor as paid_end,
      paid_minor - case when paid_month = ${month}::date then paid_month_minor else 0 end as paid_before
    from ${accounts} a`;
}

export interface WriteOffs {
  accounts: number;
  amount: string;
  recovered: string;
}

/**
 * Sums up the write-offs and the recoveries of the period. The amount of a write-off is the debt at the end of its day. The
 * statement reads the written-off accounts and the payments after their write-off.
 */
export async function writeOffFigures(
  tx: Tx,
  { startDate }: ReportPeriod,
  { asOf, before }: ReportDays,
  { hasChangedPlans, hasWriteOffs }: SummaryNeeds,
): Promise<WriteOffs> {
  if (!hasWriteOffs) return NO_WRITE_OFFS;
  const totalBy = (day: RawBuilder<unknown>) => (hasChangedPlans ? totalOn(day) : sql`a.total_minor`);
  const { rows } = await sql<WriteOffs>`
    select
      count(*) filter (where written_off_on >= ${startDate}::date) as accounts,
      coalesce(sum(greatest(0, total_then - paid_then)) filter (where written_off_on >= ${startDate}::date), 0)::text
        as amount,
      coalesce(sum(least(total_end, paid_end) - least(total_before, paid_before)), 0)::text as recovered
    from accounts a, lateral (
      select ${totalBy(sql`a.written_off_on`)} as total_then, ${totalBy(sql`${asOf}::date`)} as total_end,
        ${totalBy(sql`greatest(a.written_off_on, ${before}::date)`)} as total_before,
        a.paid_minor - coalesce(sum(amount_minor), 0) as paid_then,
        a.paid_minor - coalesce(sum(amount_minor) filter (where value_date > ${asOf}::date), 0) as paid_end,
        a.paid_minor - coalesce(sum(amount_minor) filter (where value_date > ${before}::date), 0) as paid_before
      from account_money
      where account_id = a.id and value_date > a.written_off_on) p
    where written_off_on <= ${asOf}::date`.execute(tx);
  return rows[0] ?? NO_WRITE_OFFS;
}

const NO_WRITE_OFFS: WriteOffs = { accounts: 0, amount: '0', recovered: '0' };

export function findProductNames(tx: Tx) {
  return tx.selectFrom('products').select(['id', 'name']).orderBy('id').execute();
}
