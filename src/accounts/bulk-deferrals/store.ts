import { type RawBuilder, type Selectable, sql } from 'kysely';
import type { Db, Tx } from '../../core/database/db.ts';
import { rowsAsJson } from '../../core/database/rows.ts';
import type {
  BulkDeferralAccounts,
  BulkDeferralState,
  BulkDeferralStatus,
  BulkDeferrals,
} from '../../core/database/tables.ts';
import { fetchPage } from '../../core/lists/page.ts';
import type { Filter, ListPlan } from '../../core/lists/query.ts';
import { conditionsOf } from '../../core/lists/sql.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import type { Minor } from '../../core/values/money.ts';
import type { AccountRow } from '../ledger/rules.ts';
import type { NewPlanChange } from '../plan-changes/schema.ts';
import { accountColumns, BALANCE } from '../store.ts';
import { type CountsByState, type Problem, STATUSES_WITH_JOB } from './rules.ts';
import type { BulkFilter } from './schema.ts';

/** The change that each account gets. */
export type DeferralBody = Omit<NewPlanChange, 'confirm'> & Required<Pick<NewPlanChange, 'from' | 'reason'>>;

export type BulkDeferralRow = Omit<Selectable<BulkDeferrals>, 'filter' | 'body'> & {
  filter: BulkFilter;
  body: DeferralBody;
};

/** A bulk deferral with the names of its users. */
export type ListedBulkDeferral = BulkDeferralRow & {
  creator: string;
  actor: string | null;
  pending_approval_id: number | null;
  has_waiting: boolean;
  has_deferred: boolean;
};

export type SelectedAccountRow = Selectable<BulkDeferralAccounts>;

interface Caller {
  userId: number | null;
  apiKeyId: number | null;
}

interface Selection {
  filters: Filter[];
  metadata?: Record<string, string> | undefined;
  customerMetadata?: Record<string, string> | undefined;
}

/**
 * Stores a bulk deferral with the accounts that match, unless none or more than `limit` match.
 * @returns its id, and the number of accounts that match, at most `limit` + 1.
 */
export async function insertBulkDeferral(
  tx: Tx,
  { filter, body, day, caller }: { filter: BulkFilter; body: DeferralBody; day: PlainDate; caller: Caller },
  selection: Selection,
  limit: number,
): Promise<{ id: number | null; count: number }> {
  const { rows } = await sql<{ id: number | null; count: number }>`
    with matching as materialized (
      select a.id from accounts a where ${sql.join(selectionOf(selection, day), sql` and `)} order by a.id limit ${limit + 1}
    ), counted as (select count(*)::integer as count from matching
    ), added as (
      insert into bulk_deferrals (filter, body, prepared_on, selected_count, created_by, created_by_key_id)
      select ${JSON.stringify(filter)}::jsonb, ${JSON.stringify(body)}::jsonb, ${day}::date, count, ${caller.userId}::bigint,
        ${caller.apiKeyId}::bigint
      from counted where count between 1 and ${limit}
      returning id
    ), accounts_added as (
      insert into bulk_deferral_accounts (bulk_deferral_id, account_id)
      select added.id, matching.id from added, matching order by matching.id
    )
    select (select id from added) as id, count from counted`.execute(tx);
  const [row] = rows;
  if (!row) throw new Error('Selecting accounts returned no row.');
  return row;
}

function selectionOf(selection: Selection, day: PlainDate): RawBuilder<boolean>[] {
  const { filters, metadata, customerMetadata } = selection;
  const columns = accountColumns(day);
  const has = (column: string, values: Record<string, string>) =>
    conditionsOf({ filters: [], metadata: { column, values } }, columns);
  return [
    ...conditionsOf({ filters }, columns),
    ...(metadata ? has('a.metadata', metadata) : []),
    ...(customerMetadata
      ? [
          sql<boolean>`exists (select from customers c
            where c.id = a.customer_id and ${sql.join(has('c.metadata', customerMetadata))})`,
        ]
      : []),
  ];
}

const hasAccounts = (state: BulkDeferralState) => sql<boolean>`exists (
  select from bulk_deferral_accounts s where s.bulk_deferral_id = b.id and s.state = ${sql.lit(state)})`;

const SELECT = sql<ListedBulkDeferral>`
  select b.*, coalesce(u.email, 'api key ' || k.name, 'system') as creator, coalesce(w.email, 'api key ' || v.name) as actor,
    p.id as pending_approval_id, ${hasAccounts('waiting')} as has_waiting, ${hasAccounts('deferred')} as has_deferred
  from bulk_deferrals b
    left join users u on u.id = b.created_by left join api_keys k on k.id = b.created_by_key_id
    left join users w on w.id = b.actor_user_id left join api_keys v on v.id = b.api_key_id
    left join approvals p on p.bulk_deferral_id = b.id and p.status = 'pending'`;

export async function findBulkDeferral(db: Db | Tx, id: number): Promise<ListedBulkDeferral | undefined> {
  const { rows } = await sql<ListedBulkDeferral>`${SELECT} where b.id = ${id}`.execute(db);
  return rows[0];
}

/** A bulk deferral alone, for the job that works on it. */
export async function findBulkDeferralRow(db: Db, id: number): Promise<BulkDeferralRow | undefined> {
  const { rows } = await sql<BulkDeferralRow>`select * from bulk_deferrals where id = ${id}`.execute(db);
  return rows[0];
}

export function listBulkDeferrals(db: Db, plan: ListPlan) {
  return fetchPage<ListedBulkDeferral>(db, plan, { select: SELECT, from: sql`from bulk_deferrals b` });
}

export async function lockBulkDeferral(tx: Tx, id: number): Promise<BulkDeferralRow | undefined> {
  const { rows } = await sql<BulkDeferralRow>`
    select * from bulk_deferrals where id = ${id} for no key update`.execute(tx);
  return rows[0];
}

export type ListedAccount = SelectedAccountRow & { customer: string };

export function listSelectedAccounts(db: Db, id: number, plan: ListPlan) {
  const from = sql`from bulk_deferral_accounts s join bulk_deferrals b on b.id = s.bulk_deferral_id
    join accounts a on a.id = s.account_id join customers c on c.id = a.customer_id`;
  return fetchPage<ListedAccount>(db, plan, {
    select: sql<ListedAccount>`select s.*, c.first_name || ' ' || c.last_name as customer ${from}`,
    from,
    where: [sql<boolean>`s.bulk_deferral_id = ${id}`],
  });
}

const MAX_PROBLEMS = 20;
const MAX_IDS = 5;

export interface CountedProblem {
  state: BulkDeferralState;
  code: Problem['code'];
  text: string;
  count: number;
  ids: number[];
}

/** The most frequent problems, with the first of their accounts. */
export async function countProblems(db: Db, id: number): Promise<CountedProblem[]> {
  const { rows } = await sql<CountedProblem>`
    select state, problem as code, problem_text as text, count(*) as count, (array_agg(account_id order by id))[:${sql.lit(MAX_IDS)}] as ids
    from bulk_deferral_accounts where bulk_deferral_id = ${id} and problem is not null
    group by state, problem, problem_text order by count(*) desc, min(id) limit ${MAX_PROBLEMS}`.execute(db);
  return rows;
}

/**
 * The next accounts of a state, in the order of their ids.
 * @param afterId - the last one that is done. Without it, each step would visit the dead index entries of all accounts before it, while a long
 *   transaction keeps VACUUM from removing them.
 */
export async function findNextAccounts(
  db: Db,
  id: number,
  { state, afterId }: { state: BulkDeferralState; afterId: number },
  limit: number,
): Promise<SelectedAccountRow[]> {
  const { rows } = await sql<SelectedAccountRow>`
    select * from bulk_deferral_accounts
    where bulk_deferral_id = ${id} and state = ${sql.lit(state)} and id > ${afterId} order by id limit ${limit}`.execute(
    db,
  );
  return rows;
}

export async function findAccounts(tx: Tx, ids: readonly number[]): Promise<Map<number, AccountRow>> {
  const { rows } =
    await sql<AccountRow>`select * from accounts where id = any(${[...ids]}::bigint[])`.execute(tx);
  return new Map(rows.map((row) => [row.id, row]));
}

/** What the preview found about an account. */
export type Previewed = Pick<SelectedAccountRow, 'id' | 'state'> &
  Partial<{
    plan_version: number;
    paid_minor: number;
    balance_minor: Minor;
    arrears_moved_minor: Minor;
    problem: Problem['code'];
    problem_text: string;
  }>;

/** Stores the results of a preview, unless another process has stored them. */
export async function storePreviewed(db: Db, id: number, accounts: readonly Previewed[]): Promise<void> {
  await sql`
    update bulk_deferral_accounts s set state = n.state, plan_version = n.plan_version, paid_minor = n.paid_minor,
      balance_minor = n.balance_minor, arrears_moved_minor = n.arrears_moved_minor, problem = n.problem, problem_text = n.problem_text
    from json_populate_recordset(null::bulk_deferral_accounts, ${rowsAsJson(accounts)}::json) n
    where s.bulk_deferral_id = ${id} and s.id = n.id and s.state = 'selected'`.execute(db);
}

/** Completes the preview of a bulk deferral that the transaction has locked. */
export async function setPreviewed(tx: Tx, id: number): Promise<void> {
  await sql`
    update bulk_deferrals b set status = 'draft', deferrable_count = t.count, balance_minor = t.balance,
      arrears_moved_minor = t.arrears_moved, updated_at = business_now()
    from (
      select count(*) as count, coalesce(sum(balance_minor), 0) as balance, coalesce(sum(arrears_moved_minor), 0) as arrears_moved
      from bulk_deferral_accounts where bulk_deferral_id = ${id} and state = 'waiting') t
    where b.id = ${id}`.execute(tx);
}

/** Locks the accounts that still have the state, in the order of their ids. */
export async function lockSelectedAccounts(
  tx: Tx,
  selected: readonly SelectedAccountRow[],
  state: BulkDeferralState,
): Promise<SelectedAccountRow[]> {
  const [first] = selected;
  if (!first) return [];
  const ids = selected.map(({ id }) => id);
  const { rows } = await sql<SelectedAccountRow>`
    select * from bulk_deferral_accounts
    where bulk_deferral_id = ${first.bulk_deferral_id} and id = any(${ids}::bigint[]) and state = ${sql.lit(state)}
    order by id for update`.execute(tx);
  return rows;
}

/** Sets the state of an account that the transaction has locked. */
export async function setAccountState(
  tx: Tx,
  { bulk_deferral_id, id, change_id }: SelectedAccountRow,
  state: BulkDeferralState,
  { problem, changeId = change_id }: { problem?: Problem; changeId?: number | null } = {},
): Promise<void> {
  await sql`
    update bulk_deferral_accounts
    set state = ${sql.lit(state)}, change_id = ${changeId}, problem = ${problem?.code ?? null}, problem_text = ${problem?.text ?? null}
    where bulk_deferral_id = ${bulk_deferral_id} and id = ${id}`.execute(tx);
}

/** Skips the accounts that still wait. Those of a step that is at work are read again after it. */
export async function skipWaitingAccounts(tx: Tx, id: number, { code, text }: Problem): Promise<void> {
  await sql`
    with waiting as (
      select id from bulk_deferral_accounts where bulk_deferral_id = ${id} and state = 'waiting' order by id for update
    )
    update bulk_deferral_accounts s set state = 'skipped', problem = ${sql.lit(code)}, problem_text = ${text}
    from waiting w where s.bulk_deferral_id = ${id} and s.id = w.id`.execute(tx);
}

/** Counts all accounts of a bulk deferral. */
export async function countStates(db: Db, id: number): Promise<CountsByState> {
  const { rows } = await sql<{ state: BulkDeferralState; count: number }>`
    select state, count(*) as count from bulk_deferral_accounts where bulk_deferral_id = ${id} group by state`.execute(
    db,
  );
  return Object.fromEntries(rows.map(({ state, count }) => [state, count]));
}

/** The sum of the present balances of the accounts that have a state. */
export async function sumBalances(tx: Tx, id: number, state: BulkDeferralState): Promise<Minor> {
  const { rows } = await sql<{ sum: string }>`
    select coalesce(sum(${sql.raw(BALANCE)}), 0)::text as sum
    from bulk_deferral_accounts s join accounts a on a.id = s.account_id
    where s.bulk_deferral_id = ${id} and s.state = ${sql.lit(state)}`.execute(tx);
  return BigInt(rows[0]?.sum ?? 0);
}

/** How many accounts of a preview have a deferral or a revision since the day that is not undone. */
export async function countRestructured(db: Db, id: number, since: PlainDate): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from bulk_deferral_accounts s join accounts a on a.id = s.account_id
    where s.bulk_deferral_id = ${id} and s.state = 'waiting' and a.restructured_on >= ${since}`.execute(db);
  return rows[0]?.count ?? 0;
}

interface Work extends Caller {
  approvalId: number | null;
  undoReason?: string;
}

/** Sets the status of a bulk deferral that the transaction has locked, for work that a user has confirmed. */
export async function setAtWork(
  tx: Tx,
  id: number,
  status: 'running' | 'undoing',
  { userId, apiKeyId, approvalId, undoReason }: Work,
): Promise<void> {
  await tx
    .updateTable('bulk_deferrals')
    .set({
      status,
      actor_user_id: userId,
      api_key_id: apiKeyId,
      approval_id: approvalId,
      failure: null,
      ended_at: null,
      ...(status === 'running' && { started_at: sql`business_now()` }),
      ...(undoReason !== undefined && { undo_reason: undoReason }),
      updated_at: sql`business_now()`,
    })
    .where('id', '=', id)
    .execute();
}

/** Ends the work on a bulk deferral that the transaction has locked. */
export async function setEnded(
  tx: Tx,
  id: number,
  status: BulkDeferralStatus,
  fields: Partial<Pick<BulkDeferralRow, 'failure' | 'actor_user_id' | 'api_key_id'>> = {},
): Promise<void> {
  await tx
    .updateTable('bulk_deferrals')
    .set({ status, failure: null, ...fields, ended_at: sql`business_now()`, updated_at: sql`business_now()` })
    .where('id', '=', id)
    .execute();
}

export async function findIdsAtWork(db: Db): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    select id from bulk_deferrals where status = any(${STATUSES_WITH_JOB}::bulk_deferral_status[])
    order by id`.execute(db);
  return rows.map(({ id }) => id);
}

/** The previews of days before the day that nobody has confirmed. */
export async function findPreviewsBefore(db: Db, day: PlainDate): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    select b.id from bulk_deferrals b
    where b.status in ('previewing', 'draft') and b.prepared_on < ${day} and not exists (
      select from approvals p where p.bulk_deferral_id = b.id and p.status = 'pending')
    order by b.id`.execute(db);
  return rows.map(({ id }) => id);
}

export async function deleteSelectedAccounts(tx: Tx, id: number): Promise<void> {
  await sql`delete from bulk_deferral_accounts where bulk_deferral_id = ${id}`.execute(tx);
}
