import { type RawBuilder, sql } from 'kysely';
import { isLate, isPastDue } from '../../accounts/schedule/store.ts';
import { statusesIn } from '../../accounts/status/rules.ts';
import { accountColumns, SELECT_SHOWN, type ShownAccountRow } from '../../accounts/store.ts';
import type { Db, Tx } from '../../core/database/db.ts';
import { literalList } from '../../core/database/literal-list.ts';
import type { CallResult, UserRole } from '../../core/database/tables.ts';
import { fetchPage } from '../../core/lists/page.ts';
import type { ListPlan } from '../../core/lists/query.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import { type Lateness, MAX_FORM_ACCOUNTS, type Shown } from './rules.ts';

const ENTRIES = sql`from accounts a left join call_states s on s.account_id = a.id`;
const SELECT_ENTRIES = sql<ShownAccountRow>`${SELECT_SHOWN} left join call_states s on s.account_id = a.id`;

/** The accounts that were called. */
const CALLED = sql`from accounts a join call_states s on s.account_id = a.id`;
const SELECT_CALLED = sql<ShownAccountRow>`${SELECT_SHOWN} join call_states s on s.account_id = a.id`;

const isHidden = (day: PlainDate) => sql`(
  s.hidden_until > ${day}::date or s.has_dispute
  or s.wrong_phones is not null and (
    select array_remove(array[c.phone, c.second_phone], null) <@ s.wrong_phones from customers c where c.id = a.customer_id))`;

function conditionOfShown(shown: Shown, day: PlainDate): RawBuilder<boolean>[] {
  switch (shown) {
    case 'all':
      return [];
    case 'hidden':
      return [sql<boolean>`${isHidden(day)}`];
    case 'to_call':
      return [sql<boolean>`${isHidden(day)} is not true`];
  }
}

interface CallListFilters {
  shown?: Shown;
  lateness?: Lateness;
}

export function listEntries(db: Db, query: ListPlan & CallListFilters, day: PlainDate) {
  const { shown = 'to_call', lateness = 'late' } = query;
  const ofLastCall = query.filters.filter(({ field }) => field.name === 'lastCalledAt');
  const isNeverCalled =
    ofLastCall.length > 0 &&
    ofLastCall.every(({ operator, values }) => operator === 'isnull' && values[0] === true);
  const filters = isNeverCalled
    ? query.filters.filter((filter) => !ofLastCall.includes(filter))
    : query.filters;
  // An index on last_called_at returns the rows in the order of the page. A join that also kept accounts without a call would have to
  // sort all late accounts.
  const isByCall = !isNeverCalled && query.order.some(({ field }) => field.name === 'lastCalledAt');
  const columns = accountColumns(day);
  const hasStatus = filters.some(({ field }) => field.name === 'status');
  const plan = { ...query, filters };
  return fetchPage<ShownAccountRow>(db, plan, {
    select: isByCall ? SELECT_CALLED : SELECT_ENTRIES,
    from: isByCall ? CALLED : ENTRIES,
    where: [
      lateness === 'past_due' ? isPastDue(day) : isLate(day),
      hasStatus
        ? sql<boolean>`a.status not in ${literalList(statusesIn('awaitingActivation'))}`
        : sql<boolean>`a.status in ${literalList(statusesIn('called'))}`,
      ...conditionOfShown(shown, day),
      ...(isByCall ? [sql<boolean>`s.last_called_at is not null`] : []),
      ...(isNeverCalled ? [sql<boolean>`s.last_called_at is null`] : []),
    ],
    ...columns,
    // Both are never null in the order of the list, so an index returns the rows in both directions: no account of the list is without
    // a due date, and the sort by the last call leaves out accounts without a call. If only such accounts are wanted, the time when they
    // were created stands for the call, because a cursor cannot continue after null.
    computed: {
      ...columns.computed,
      nextDueDate: sql`a.next_due_date`,
      lastCalledAt: isNeverCalled ? sql`a.created_at` : sql`s.last_called_at`,
    },
  });
}

/** The account, and the late accounts of customers who have one of the phones. */
export async function findFormAccounts(
  db: Db,
  accountId: number,
  phones: readonly string[],
  day: PlainDate,
): Promise<ShownAccountRow[]> {
  const { rows } = await sql<ShownAccountRow>`
    ${SELECT_SHOWN}
    where a.id = ${accountId} or (
      a.customer_id = any(array(
        select c.id from customers c where c.phone = any(${phones}::text[]) or c.second_phone = any(${phones}::text[])))
      and ${isLate(day)} and a.status in ${literalList(statusesIn('called'))})
    order by a.id <> ${accountId}, a.id limit ${MAX_FORM_ACCOUNTS}`.execute(db);
  return rows;
}

export interface CallFacts {
  accountId: number;
  customerId: number;
  name: string;
  phone: string;
  secondPhone: string | null;
  hiddenUntil: PlainDate | null;
  hasDispute: boolean;
  hasWrongNumber: boolean;
  assigneeId: number | null;
  assignee: string | null;
  callId: number | null;
  callResult: CallResult | null;
  callUserId: number | null;
  callOfficer: string | null;
  calledAt: string | null;
}

/** What the list shows of accounts in addition to the fields of an account. */
export async function findCallFacts(db: Db, accountIds: readonly number[]) {
  const { rows } = await sql<CallFacts>`
    select a.id as "accountId", c.id as "customerId", c.first_name || ' ' || c.last_name as name, c.phone,
      c.second_phone as "secondPhone", s.hidden_until as "hiddenUntil", coalesce(s.has_dispute, false) as "hasDispute",
      coalesce(array[c.phone, c.second_phone] && s.wrong_phones, false) as "hasWrongNumber",
      s.assignee_id as "assigneeId", u.first_name || ' ' || u.last_name as assignee, l.id as "callId", l.result as "callResult",
      l.created_by as "callUserId", o.first_name || ' ' || o.last_name as "callOfficer", l.created_at as "calledAt"
    from accounts a
    join customers c on c.id = a.customer_id
    left join call_states s on s.account_id = a.id
    left join users u on u.id = s.assignee_id
    left join lateral (
      select x.id, x.result, x.created_by, x.created_at from calls x
      where x.account_id = a.id and not exists (select from call_mistakes m where m.call_id = x.id)
      order by x.id desc limit 1
    ) l on true
    left join users o on o.id = l.created_by
    where a.id = any(${accountIds}::bigint[])`.execute(db);
  return new Map(rows.map((row) => [row.accountId, row]));
}

/** The users who may record calls. */
export function findOfficers(db: Db, roles: readonly UserRole[]) {
  return db
    .selectFrom('users')
    .select([
      'id as userId',
      (eb) => sql<string>`${eb.ref('first_name')} || ' ' || ${eb.ref('last_name')}`.as('officer'),
    ])
    .where('active', '=', true)
    .where('role', 'in', roles)
    .orderBy('first_name')
    .orderBy('last_name')
    .orderBy('id')
    .execute();
}

/** The ids that are no accounts. */
export async function findMissingAccounts(tx: Tx, ids: readonly number[]): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    select wanted.id from unnest(${ids}::bigint[]) as wanted (id)
    where not exists (select from accounts a where a.id = wanted.id)`.execute(tx);
  return rows.map(({ id }) => id);
}

/** Sets the assignee of accounts, in the order of their ids. @returns the accounts whose assignee changed, with the earlier assignee. */
export async function assign(tx: Tx, ids: readonly number[], userId: number | null) {
  // Locks the states first, so that the earlier assignees are those before this change.
  await sql`
    insert into call_states as s (account_id)
    select id from unnest(${ids}::bigint[]) as wanted (id) group by id order by id
    on conflict (account_id) do update set account_id = excluded.account_id`.execute(tx);
  const { rows } = await sql<{ id: number; before: number | null }>`
    update call_states s set assignee_id = ${userId}
    from call_states b
    where b.account_id = s.account_id and s.account_id = any(${ids}::bigint[]) and s.assignee_id is distinct from ${userId}::bigint
    returning s.account_id as id, b.assignee_id as before`.execute(tx);
  return rows;
}
