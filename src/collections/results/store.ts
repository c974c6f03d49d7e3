import { sql } from 'kysely';
import { totalOn } from '../../accounts/schedule/store.ts';
import type { Db } from '../../core/database/db.ts';
import { literalList } from '../../core/database/literal-list.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import { CONTACTS } from '../calls/rules.ts';
import { promisesWithFacts, stateOn, versionsOf } from '../promises/store.ts';
import { COLLECTED_DAYS, type Weeks } from './rules.ts';

export interface OfficerWeekRow {
  user_id: number;
  officer: string;
  monday: PlainDate;
  calls: number;
  contacts: number;
  promises: number;
  kept: number;
  partly_kept: number;
  broken: number;
  /** The promised money of the judged promises, and the part of it that came. */
  promised_minor: string;
  kept_minor: string;
  collected_minor: string;
}

const monday = (column: string) => sql`date_trunc('week', ${sql.ref(column)})::date`;
const IS_CONTACT = sql`c.result in ${literalList(CONTACTS)}`;

/**
 * Money that the officer of a promise neither recorded nor assigned nor corrected, so that officers cannot keep promises themselves. A
 * correction that somebody else approved is also the officer's, if the officer requested it. This is also true for what they did to a
 * payment that another payment corrects.
 */
const BY_OTHERS = sql<boolean>`(
  m.created_by is distinct from p.created_by and not exists (
    ${versionsOf(sql`m.payment_id`)}
    select from versions join audit_entries e on e.resource = 'payment' and e.resource_id = versions.id
    where e.action in ('payment.record', 'payment.assign', 'payment.correct') and e.actor_user_id = p.created_by)
  and not exists (
    ${versionsOf(sql`m.payment_id`)}
    select from versions join approvals r on r.payment_id = versions.id
    where r.action = 'correct_payment' and r.status = 'approved' and r.responsible_user_id = p.created_by))`;

/** When the money of the payment y was recorded for the first time. */
const FIRST_RECORDED_AT = sql`(${versionsOf(sql`y.id`)} select min(created_at) from versions)`;

/**
 * The results of each officer and week. Calls and contacts count in the week of their day, promises in the week of their date, and
 * payments in the week of their date.
 * @param userId - only the results of this user. Null: the results of all users.
 */
export async function readResults(
  db: Db,
  { from, until }: Weeks,
  userId: number | null,
  day: PlainDate,
): Promise<OfficerWeekRow[]> {
  const ofUser = (column: string) => (userId === null ? sql`true` : sql`${sql.ref(column)} = ${userId}`);
  const { rows } = await sql<OfficerWeekRow>`
    with called as (
      select c.created_by as user_id, ${monday('c.called_on')} as monday, count(*)::int as calls,
        count(*) filter (where ${IS_CONTACT})::int as contacts
      from calls c left join call_mistakes x on x.call_id = c.id
      where x.call_id is null and c.called_on between ${from}::date and ${until}::date and ${ofUser('c.created_by')}
      group by 1, 2
    ), promise_states as (
      select p.created_by as user_id, ${monday('p.due_on')} as monday, p.amount_minor, ${stateOn(day)} as state,
        case when money.paid_minor >= ${totalOn(sql`p.due_on`)} then p.amount_minor
          else least(p.amount_minor, greatest(0, money.collected_minor)) end as kept_minor
      ${promisesWithFacts(BY_OTHERS)}
      where p.due_on between ${from}::date and ${until}::date and ${ofUser('p.created_by')}
    ), promised as (
      select user_id, monday,
        count(*) filter (where state <> 'void')::int as promises,
        count(*) filter (where state = 'kept')::int as kept,
        count(*) filter (where state = 'partly_kept')::int as partly_kept,
        count(*) filter (where state = 'broken')::int as broken,
        coalesce(sum(amount_minor) filter (where state in ('kept', 'partly_kept', 'broken')), 0) as promised_minor,
        coalesce(sum(kept_minor) filter (where state in ('kept', 'partly_kept')), 0) as kept_minor
      from promise_states group by 1, 2
    ), collected_payments as (
      select distinct on (y.id) y.id, c.created_by as user_id, ${monday('y.payment_date')} as monday, y.amount_minor
      from calls c
      join payments y on y.account_id = c.account_id and y.status = 'matched'
        and y.payment_date between c.called_on and c.called_on + ${COLLECTED_DAYS}::int
        and y.created_at >= c.created_at and ${FIRST_RECORDED_AT} >= c.created_at
      left join call_mistakes x on x.call_id = c.id
      where x.call_id is null and ${IS_CONTACT}
        and c.called_on between ${from}::date - ${COLLECTED_DAYS}::int and ${until}::date
        and y.payment_date between ${from}::date and ${until}::date
      order by y.id, c.id desc
    ), collected as (
      select user_id, monday, sum(amount_minor) as collected_minor from collected_payments
      where ${ofUser('user_id')} group by 1, 2
    )
    select user_id, u.first_name || ' ' || u.last_name as officer, monday,
      coalesce(calls, 0) as calls, coalesce(contacts, 0) as contacts, coalesce(promises, 0) as promises,
      coalesce(kept, 0) as kept, coalesce(partly_kept, 0) as partly_kept, coalesce(broken, 0) as broken,
      coalesce(promised_minor, 0)::text as promised_minor, coalesce(kept_minor, 0)::text as kept_minor,
      coalesce(collected_minor, 0)::text as collected_minor
    from called
    full join promised using (user_id, monday)
    full join collected using (user_id, monday)
    join users u on u.id = user_id
    order by monday desc, officer, user_id`.execute(db);
  return rows;
}
