import { type RawBuilder, sql } from 'kysely';
import { totalOn } from '../../accounts/schedule/store.ts';
import { statusesIn } from '../../accounts/status/rules.ts';
import type { Db, Tx } from '../../core/database/db.ts';
import { literalList } from '../../core/database/literal-list.ts';
import type { JudgedPromiseState } from '../../core/database/tables.ts';
import { fetchPage } from '../../core/lists/page.ts';
import type { ListPlan } from '../../core/lists/query.ts';
import { addDays, type PlainDate } from '../../core/values/dates.ts';
import type { Minor } from '../../core/values/money.ts';
import { JUDGED_AGAIN_DAYS, type PromiseState } from './rules.ts';

/**
 * SQL `with recursive versions …` for the payment of an id and those that it corrects, one after another: a correction is a new payment,
 * but its money was recorded with the first one.
 *
 * @param paymentId - a column. Its table must not have the alias `latest`.
 */
export const versionsOf = (paymentId: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  with recursive versions as (
    select latest.id, latest.created_at, latest.corrects_payment_id from payments latest where latest.id = ${paymentId}
    union all
    select earlier.id, earlier.created_at, earlier.corrects_payment_id
    from versions join payments earlier on earlier.id = versions.corrects_payment_id
  )`;

/** Whether the money m is a correction of a payment that was recorded before an instant. */
const isRecordedBefore = (instant: RawBuilder<unknown>) => sql<boolean>`exists (
  ${versionsOf(sql`m.payment_id`)} select from versions where created_at < ${instant})`;

/**
 * SQL `select …` of the money m of the account that counts for a promise, and of the money that the account had by the date of the
 * promise. Of money that was first recorded when the next promise was made, or later, neither counts.
 */
const selectMoney = (promise: string, endedAt: RawBuilder<unknown>, isCounted: RawBuilder<boolean>) => {
  const of = (column: string) => sql.ref(`${promise}.${column}`);
  return sql`
    select
      coalesce(sum(m.amount_minor) filter (
        where m.value_date >= ${of('made_on')} and m.created_at >= ${of('created_at')}
          and not ${isRecordedBefore(of('created_at'))}
      ), 0)::bigint as collected_minor,
      coalesce(sum(m.amount_minor), 0)::bigint as paid_minor
    from account_money m
    where m.account_id = ${of('account_id')} and m.value_date <= ${of('due_on')}
      and (m.created_at < ${of('created_at')} or ${isCounted})
      and (${endedAt} is null or m.created_at < ${endedAt} or ${isRecordedBefore(endedAt)})`;
};

const isWhole = (promise: string, money: string) => sql<boolean>`(
  ${sql.ref(`${money}.collected_minor`)} >= ${sql.ref(`${promise}.amount_minor`)}
  or ${sql.ref(`${money}.paid_minor`)} >= ${totalOn(sql.ref(`${promise}.due_on`))})`;

const NEXT_PROMISE_AT = sql`(
  select n.created_at from promises n left join call_mistakes nx on nx.call_id = n.call_id
  where n.account_id = p.account_id and n.id > p.id and n.made_on <= p.due_on and nx.call_id is null
  order by n.id limit 1)`;

/**
 * SQL `from …` for promises p with the facts that their states depend on: the money m of the account that counts for the promise, the
 * money that the account had by the date of the promise, its status then, when the next promise ended this one, and whether this one
 * ended another one that was not kept. It does not use `replaces_id`, because an earlier version did not set it if the ended promise was
 * already whole.
 *
 * @param isCounted - a further condition on the money m that was recorded since the promise.
 */
export function promisesWithFacts(isCounted: RawBuilder<boolean> = sql`true`): RawBuilder<unknown> {
  return sql`
    from promises p
    join accounts a on a.id = p.account_id
    left join call_mistakes x on x.call_id = p.call_id
    cross join lateral (
      select (
        select s.to_status from account_status_changes s
        where s.account_id = p.account_id and s.changed_on <= p.due_on
        order by s.id desc limit 1
      ) as status_then, ${NEXT_PROMISE_AT} as replaced_at
    ) facts
    cross join lateral (${selectMoney('p', sql`facts.replaced_at`, isCounted)}) money
    left join lateral (
      select not ${isWhole('before', 'money_before')} as was_missed
      from (
        select b.* from promises b left join call_mistakes bx on bx.call_id = b.call_id
        where facts.replaced_at is not null and b.account_id = p.account_id and b.id < p.id and bx.call_id is null
        order by b.id desc limit 1
      ) before
      cross join lateral (${selectMoney('before', sql`p.created_at`, isCounted)}) money_before
      where before.due_on >= p.made_on
    ) ended on true`;
}

const IS_WHOLE = isWhole('p', 'money');

/**
 * The state of a promise of `promisesWithFacts` on a day. It is never stored, because a payment can be reversed, dated back or assigned
 * later. The definition is in docs/collections.md.
 */
export function stateOn(day: PlainDate): RawBuilder<PromiseState> {
  return sql<PromiseState>`(case
    when x.call_id is not null then 'void'
    when facts.replaced_at is not null then case
      when ${IS_WHOLE} then 'kept' when ended.was_missed then 'broken' else 'replaced' end
    when p.due_on >= ${sql.lit(day)}::date then 'open'
    when facts.status_then in ${literalList(statusesIn('voidsPromises'))} then 'void'
    when ${IS_WHOLE} then 'kept'
    when money.collected_minor > 0 then 'partly_kept'
    else 'broken' end)`;
}

export interface PromiseRow {
  id: number;
  call_id: number;
  account_id: number;
  amount_minor: number;
  made_on: PlainDate;
  due_on: PlainDate;
  replaces_id: number | null;
  created_by: number;
  created_at: string;
  officer: string;
  collected_minor: number;
  state: PromiseState;
}

const OFFICER = sql`(select u.first_name || ' ' || u.last_name from users u where u.id = p.created_by)`;

const selectPromises = (day: PlainDate) => sql<PromiseRow>`
  select p.id, p.call_id, p.account_id, p.amount_minor, p.made_on, p.due_on, p.replaces_id, p.created_by, p.created_at,
    ${OFFICER} as officer, money.collected_minor, ${stateOn(day)} as state
  ${promisesWithFacts()}`;

export function listPromises(db: Db, plan: ListPlan, day: PlainDate) {
  const needsState = [...plan.filters, ...plan.order].some(({ field }) => field.name === 'state');
  return fetchPage<PromiseRow>(db, plan, {
    select: selectPromises(day),
    // Counting does not read the money of the accounts, unless the state decides which promises count.
    from: needsState ? promisesWithFacts() : sql`from promises p`,
    computed: { state: stateOn(day) },
  });
}

export async function findPromises(db: Db, ids: readonly number[], day: PlainDate): Promise<PromiseRow[]> {
  const { rows } = await sql<PromiseRow>`${selectPromises(day)} where p.id = any(${ids}::bigint[])`.execute(
    db,
  );
  return rows;
}

/** The open promise of each account. There is at most one: the next promise ends it, also if its whole amount has come. */
export async function findOpenPromises(db: Db, accountIds: readonly number[], day: PlainDate) {
  const { rows } = await sql<PromiseRow>`
    select distinct on (p.account_id) promise.*
    ${promisesWithFacts()}
    cross join lateral (
      select p.id, p.call_id, p.account_id, p.amount_minor, p.made_on, p.due_on, p.replaces_id, p.created_by, p.created_at,
        ${OFFICER} as officer, money.collected_minor, ${stateOn(day)} as state
    ) promise
    where p.account_id = any(${accountIds}::bigint[]) and p.due_on >= ${day}::date and promise.state = 'open'
    order by p.account_id, p.id desc`.execute(db);
  return new Map(rows.map((row) => [row.account_id, row]));
}

export interface NewPromise {
  callId: number;
  accountId: number;
  amountMinor: Minor;
  madeOn: PlainDate;
  dueOn: PlainDate;
  replacesId: number | null;
  createdBy: number;
}

export async function insertPromise(tx: Tx, promise: NewPromise): Promise<number> {
  const { id } = await tx
    .insertInto('promises')
    .values({
      call_id: promise.callId,
      account_id: promise.accountId,
      amount_minor: promise.amountMinor,
      made_on: promise.madeOn,
      due_on: promise.dueOn,
      replaces_id: promise.replacesId,
      created_by: promise.createdBy,
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  return id;
}

/** Whether a later promise, which was not saved by mistake, ended the promise of a call. */
export async function isReplaced(tx: Tx, callId: number): Promise<boolean> {
  const { rows } = await sql`
    select from promises p where p.call_id = ${callId} and ${NEXT_PROMISE_AT} is not null`.execute(tx);
  return rows.length > 0;
}

export interface Judgement {
  id: number;
  account_id: number;
  amount_minor: number;
  due_on: PlainDate;
  judged_state: JudgedPromiseState | null;
  version: number;
  state: PromiseState;
}

/** The place of a promise in the order of the dates. */
export type PromisePosition = Pick<Judgement, 'id' | 'due_on'>;

/**
 * Locks promises whose date has passed and that have no judgement yet, or whose accounts have changed since the judgement, and derives
 * their states. Skips promises that another transaction has locked.
 */
export async function lockPromisesToJudge(
  tx: Tx,
  day: PlainDate,
  { after, limit, kind }: { after: PromisePosition | undefined; limit: number; kind: 'first' | 'again' },
): Promise<Judgement[]> {
  const isDue =
    kind === 'first'
      ? sql`p.judged_state is null`
      : sql`p.due_on >= ${addDays(day, -JUDGED_AGAIN_DAYS)}::date
          and p.judged_version <> (select event_count from accounts where id = p.account_id)`;
  const isNext = after ? sql`(p.due_on, p.id) > (${after.due_on}::date, ${after.id}::bigint)` : sql`true`;
  const locked = await sql<{ id: number }>`
    select p.id from promises p where p.due_on < ${day}::date and ${isDue} and ${isNext}
    order by p.due_on, p.id limit ${limit} for no key update skip locked`.execute(tx);
  const ids = locked.rows.map(({ id }) => id);
  const { rows } = await sql<Judgement>`
    select p.id, p.account_id, p.amount_minor, p.due_on, p.judged_state, a.event_count as version, ${stateOn(day)} as state
    ${promisesWithFacts()} where p.id = any(${ids}::bigint[]) order by p.due_on, p.id`.execute(tx);
  return rows;
}

export async function saveJudgement(tx: Tx, { id, state, version }: Judgement): Promise<void> {
  await sql`
    update promises set judged_state = ${state}::judged_promise_state, judged_version = ${version} where id = ${id}`.execute(
    tx,
  );
}

/** The time of this check, if the judged promises were not checked in this hour yet. */
export async function findDueCheck(db: Db): Promise<string | undefined> {
  const { rows } = await sql<{ now: string }>`
    select business_now() as now
    where not exists (
      select from last_promise_check where date_trunc('hour', checked_at) >= date_trunc('hour', business_now()))`.execute(
    db,
  );
  return rows[0]?.now;
}

export async function saveCheck(tx: Tx, checkedAt: string): Promise<void> {
  await sql`
    insert into last_promise_check as l (checked_at) values (${checkedAt}::timestamptz)
    on conflict (is_only_row) do update set checked_at = greatest(l.checked_at, excluded.checked_at)`.execute(
    tx,
  );
}
