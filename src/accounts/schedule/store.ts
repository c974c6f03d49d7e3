import { type RawBuilder, sql } from 'kysely';
import type { Filter } from '../../core/lists/query.ts';
import type { PlainDate } from '../../core/values/dates.ts';

// The rules of rules.ts in SQL, for accounts `a`. test/api/schedule-in-sql.test.ts compares both. Like rules.ts, these parts of
// statements know nothing of statuses, except that an account without a next due date owes no item.

type Sum = RawBuilder<number>;

/** The deposit, if it is due on or before the day. */
export const depositDueBy = (day: PlainDate): Sum =>
  sql`(case when a.activation_date <= ${day}::date then a.deposit_minor else 0 end)`;

/**
 * The sum of the instalments dated on or before a day. Together with `depositDueBy`, this is `dueBy` of rules.ts.
 * @param hasRuns - false if no account has runs. PostgreSQL then plans a shorter formula.
 */
export const instalmentsDueBy = (day: PlainDate | RawBuilder<PlainDate>, hasRuns = true): Sum => {
  const equal = sql<number>`a.instalment_minor * instalments_due_by(a.frequency, a.activation_date, a.instalment_count, ${day}::date)`;
  if (!hasRuns) return equal;
  return sql`(case when a.run_from is null then ${equal}
    else instalments_due_in_runs(${day}::date, a.run_from, a.run_anchor, a.run_unit, a.run_every, a.run_place, a.run_count,
      a.run_amount_minor, a.run_before_minor) end)`;
};

/** The part of a sum paid that covers instalments. @param terms - the alias of the table that has the terms. */
export const paidToInstalments = (paidMinor: RawBuilder<unknown>, terms = 'a'): Sum =>
  sql`paid_to_instalments(${paidMinor}, ${sql.ref(`${terms}.deposit_minor`)}, ${sql.ref(`${terms}.total_minor`)})`;

/**
 * The next due date that an account has with a sum paid. The stored date is right for the present sum of an account that is not closed.
 * @param hasRuns - as for `instalmentsDueBy`.
 */
export const nextDueDateWith = (
  paidMinor: RawBuilder<unknown>,
  hasRuns = true,
): RawBuilder<PlainDate | null> => {
  const equal = sql`next_due_date(a.frequency, a.activation_date, a.deposit_minor, a.instalment_minor, a.total_minor, ${paidMinor})`;
  const computed = hasRuns
    ? sql`case when a.run_from is null then ${equal}
      else next_due_date_in_runs(a.activation_date, a.total_minor, ${paidMinor}, a.run_anchor, a.run_unit, a.run_every,
        a.run_place, a.run_amount_minor, a.run_before_minor) end`
    : equal;
  return sql`coalesce(case when ${paidMinor} = a.paid_minor then a.next_due_date end, ${computed})`;
};

/** Whether any account has runs. */
export const HAS_RUNS = sql<boolean>`exists (select from accounts where run_anchor is not null)`;

/** Whether the terms of any account were ever changed. */
export const HAS_CHANGED_PLANS = sql<boolean>`exists (select from plan_changes)`;

/** Whether the terms of any account changed after a day. */
export const isAnyPlanChangedAfter = (day: PlainDate): RawBuilder<boolean> =>
  sql`exists (select from plan_changes where effective_on > ${day}::date)`;

/**
 * Whether a change `c` counts. A payoff that is undone counts on no day, so its undo does not count, nor do the changes between them: they
 * are made again without the payoff.
 */
export const CHANGE_COUNTS: RawBuilder<boolean> = sql`
  not exists (
    select from plan_changes p join plan_changes u on u.undoes = p.id
    where p.account_id = c.account_id and p.kind = 'payoff' and c.id between p.id and u.id)`;

/** The first change after a day of each account: the terms before it are those of the day. */
const firstChangesAfter = (day: PlainDate) => sql`(
  select distinct on (c.account_id) c.account_id, c.before
  from plan_changes c where c.effective_on > ${day}::date and ${CHANGE_COUNTS}
  order by c.account_id, c.id)`;

/** The columns from which the formulas above compute. jsonb_to_record reads only these, which takes a tenth of the time for all columns. */
const TERMS_RECORD = sql`(deposit_minor bigint, instalment_minor bigint, instalment_count integer, frequency frequency,
  activation_date date, total_minor bigint, run_from date[], run_anchor date[], run_unit text[], run_every integer[],
  run_place integer[], run_count integer[], run_amount_minor bigint[], run_before_minor bigint[], restructured_kind text)`;

// The columns from which summaries and the formulas above compute. Each further column would take time to plan.
const FIGURES = sql`a.id, a.product_id, a.status, a.created_at, a.paid_minor, a.paid_month, a.paid_month_minor`;
const EQUAL_TERMS = sql`
  a.deposit_minor, a.instalment_minor, a.instalment_count, a.frequency, a.activation_date, a.total_minor`;
const RUN_TERMS = sql`
  a.run_from, a.run_anchor, a.run_unit, a.run_every, a.run_place, a.run_count, a.run_amount_minor, a.run_before_minor`;

/** The accounts whose terms were never changed. @param hasRuns - as for `instalmentsDueBy`. */
export const unchangedAccounts = (hasRuns: boolean): RawBuilder<unknown> => sql`(
  select ${FIGURES}, a.next_due_date, a.restructured_kind, ${EQUAL_TERMS}${hasRuns ? sql`, ${RUN_TERMS}` : sql``}
  from accounts a where plan_version = 0)`;

/** The ids of the accounts with changed terms. They are those with `plan_version > 0`, as the check `plan_versions` proves. */
export const CHANGED_IDS: RawBuilder<unknown> = sql`(select account_id from plan_changes)`;

/** The accounts with changed terms, with their terms on a day. The next due date is null if the present one is that of other terms. */
export const changedAccountsOn = (day: PlainDate): RawBuilder<unknown> => sql`(
  select ${FIGURES}, a.next_due_date, ${EQUAL_TERMS}, ${RUN_TERMS}, restructured_kind::text
  from accounts a where plan_version > 0 and not exists (select from ${firstChangesAfter(day)} f where f.account_id = a.id)
  union all
  select ${FIGURES}, null, t.*
  from ${firstChangesAfter(day)} f join accounts a on a.id = f.account_id
    cross join lateral jsonb_to_record(f.before) as t ${TERMS_RECORD})`;

/** The deposit, the price and the instalments dated up to a day, by the terms of this day, of the accounts that have other terms now. */
export const earlierTermsOn = (day: PlainDate): RawBuilder<unknown> => sql`(
  select c.account_id as id, a.deposit_minor, a.total_minor, ${instalmentsDueBy(day)} as instalments_due
  from ${firstChangesAfter(day)} c cross join lateral jsonb_to_record(c.before) as a ${TERMS_RECORD})`;

/** The instalments of the terms before a change `c` that are dated after it. */
export const INSTALMENTS_AFTER_CHANGE: Sum = sql`(
  select a.total_minor - a.deposit_minor - ${instalmentsDueBy(sql<PlainDate>`c.effective_on`)}
  from jsonb_to_record(c.before) as a ${TERMS_RECORD})`;

/** The price of an account on a day. @param day - the SQL of a date. */
export const totalOn = (day: RawBuilder<unknown>): Sum => sql`(case
  when a.plan_version = 0 then a.total_minor
  else coalesce((
    select (c.before ->> 'total_minor')::bigint from plan_changes c
    where c.account_id = a.id and c.effective_on > ${day} and ${CHANGE_COUNTS}
    order by c.id limit 1), a.total_minor) end)`;

/** `paidUntil` of `position`, as a text for statements that are texts. */
export const PAID_UNTIL = 'case when a.paid_minor >= a.deposit_minor then a.next_due_date - 1 end';

/**
 * Whether each run has one due, as with harvests. Its dates are then the first dates of the runs. A trigger counts the instalments of runs.
 * `1 = all(a.run_count)` says the same, and a list takes a third longer with it.
 */
const ALL_SINGLE = 'cardinality(a.run_count) = a.instalment_count';

/**
 * A column of terms as lists read it, as a text for statements that are texts. If each run has one due, the columns of runs have only
 * dates and amounts, which `termsOf` also reads: the other arrays are a quarter of the row.
 */
export function shownColumn(column: string): string {
  if (column === 'run_anchor')
    return `case when ${ALL_SINGLE} then a.run_from else a.run_anchor end as run_anchor`;
  return ['run_unit', 'run_every', 'run_place', 'run_count'].includes(column)
    ? `case when ${ALL_SINGLE} then null else a.${column} end as ${column}`
    : `a.${column}`;
}

/** The runs of an account as the text of a JSON array. Null if the account has none. @param inUnits - the SQL of an amount. */
export const runsAsText = (account: string, inUnits: (minor: string) => string): string => `(
  select json_agg(json_build_object('anchor', anchor, 'unit', unit, 'every', every, 'place', place, 'count', count,
    'amount', (${inUnits('amount')})::text) order by at)::text
  from unnest(${account}.run_anchor, ${account}.run_unit, ${account}.run_every, ${account}.run_place, ${account}.run_count,
    ${account}.run_amount_minor) with ordinality as r (anchor, unit, every, place, count, amount, at))`;

/** The first date of such an array, as jsonb. */
export const firstDueOf = (runs: string): RawBuilder<PlainDate> => {
  const of = (field: string) => sql`(${sql.ref(runs)} -> 0 ->> ${sql.lit(field)})`;
  return sql`date_of_place(${of('unit')}, ${of('anchor')}::date, ${of('every')}::integer, ${of('place')}::integer)`;
};

/** `arrearsMinor` of `position`, for an account that is activated. */
export const arrearsOn = (day: PlainDate): Sum => sql`(case
  when a.next_due_date is null or a.activation_date > ${day}::date then 0
  else greatest(0, ${depositDueBy(day)} + ${instalmentsDueBy(day)} - a.paid_minor) end)`;

/** `daysPastDue`, for an account that is activated. */
export const daysPastDueOn = (day: PlainDate): RawBuilder<number> =>
  sql`greatest(0, ${day}::date - a.next_due_date)`;

/** The larger of the days past due by the present and by the original terms, for an account that is activated. */
export const largestDaysPastDueOn = (day: PlainDate): RawBuilder<number> =>
  sql`greatest(0, ${day}::date - least(a.next_due_date, a.original_due_date))`;

/** The original terms of the accounts that have other terms on a day. */
export const originalTermsOn = (day: PlainDate): RawBuilder<unknown> => sql`(
  select * from (
    select distinct on (account_id) * from original_terms where effective_on <= ${day}::date
    order by account_id, version desc) newest
  where total_minor is not null)`;

/** The next due date by original terms o, with a sum paid. Null without these terms, and if the sum covers the total. */
export const originalDueDateWith = (paidMinor: RawBuilder<unknown>): RawBuilder<PlainDate | null> =>
  sql`(case when o.account_id is not null and ${paidMinor} < a.total_minor then
    next_due_date_in_runs(a.activation_date, o.total_minor, ${paidMinor}, o.run_anchor, o.run_unit, o.run_every,
      o.run_place, o.run_amount_minor, o.run_before_minor) end)`;

/**
 * The instalments due by a day by original terms, at most their sum without the price corrections and payoffs. A discount or a deferral
 * does not lower it. Null without these terms. @param terms - the alias of the original terms of the day.
 */
export const originalInstalmentsDueBy = (day: PlainDate, terms: string): RawBuilder<number | null> => {
  const of = (column: string) => sql.ref(`${terms}.${column}`);
  return sql`(case when ${of('account_id')} is not null then least(
    instalments_due_in_runs(${day}::date, ${of('run_from')}, ${of('run_anchor')}, ${of('run_unit')}, ${of('run_every')},
      ${of('run_place')}, ${of('run_count')}, ${of('run_amount_minor')}, ${of('run_before_minor')}),
    ${of('total_minor')} - (${of('run_before_minor')})[1] + ${of('corrected_minor')}) end)`;
};

/** A filter of `largestDaysPastDueOn` that PostgreSQL can answer by the indexes on both dates. @returns undefined for other operators. */
export function compareLargestDaysPastDue(
  { operator, values }: Pick<Filter, 'operator' | 'values'>,
  day: PlainDate,
  isActivated: RawBuilder<boolean>,
): RawBuilder<boolean> | undefined {
  const days = operator === 'gt' ? Number(values[0]) : operator === 'gte' ? Number(values[0]) - 1 : -1;
  if (days < 0) return undefined;
  const date = sql`${day}::date - ${Math.min(days, LONGEST_PAST_DUE)}::integer`;
  return sql`(${isActivated} and (a.next_due_date < ${date} or a.original_due_date < ${date}))`;
}

/** Whether an item is past due. PostgreSQL can use the index on the date. */
export const isPastDue = (day: PlainDate): RawBuilder<boolean> => sql`a.next_due_date < ${day}::date`;

/** Whether an account is late: more days past due than its days of grace, see `position`. */
export const isLate = (day: PlainDate): RawBuilder<boolean> =>
  sql`(${isPastDue(day)} and ${day}::date - a.next_due_date > a.grace_days)`;

/** `lastDayOfGrace`. The index accounts_grace has it in its key. */
export const LAST_DAY_OF_GRACE: RawBuilder<PlainDate> = sql`greatest(a.next_due_date, a.reprieved_on) + a.grace_days`;

/** Whether the last day of grace is over. */
export const isBeyondGrace = (day: PlainDate): RawBuilder<boolean> =>
  sql`(a.next_due_date is not null and ${LAST_DAY_OF_GRACE} < ${day}::date)`;

/**
 * Larger than the number of days between any two dates that the API accepts. A larger number could lead to a date that PostgreSQL
 * refuses.
 */
const LONGEST_PAST_DUE = 1_000_000;

/**
 * A filter of the days past due as conditions on the due date, so that PostgreSQL can use the index on the date: an account is more
 * than n days past due if its due date is before today - n days.
 * @returns undefined for an operator that cannot use the index.
 */
export function compareDaysPastDue(
  { operator, values }: Pick<Filter, 'operator' | 'values'>,
  day: PlainDate,
  isActivated: RawBuilder<boolean>,
): RawBuilder<boolean> | undefined {
  const days = Number(values[0]);
  const daysAgo = (n: number) => sql`${day}::date - ${Math.min(n, LONGEST_PAST_DUE)}::integer`;
  const moreThan = (n: number): RawBuilder<boolean> =>
    n < 0 ? sql`true` : sql`(${isActivated} and a.next_due_date < ${daysAgo(n)})`;
  const exactly = (n: number): RawBuilder<boolean> =>
    n <= 0
      ? sql`(${moreThan(n - 1)} and ${moreThan(n)} is not true)`
      : sql`(${isActivated} and a.next_due_date = ${daysAgo(n)})`;
  switch (operator) {
    case 'gt':
      return moreThan(days);
    case 'gte':
      return moreThan(days - 1);
    case 'lt':
      return sql`${moreThan(days - 1)} is not true`;
    case 'lte':
      return sql`${moreThan(days)} is not true`;
    case 'eq':
      return exactly(days);
    case 'ne':
      return sql`${exactly(days)} is not true`;
    default:
      return undefined;
  }
}
