import { type Insertable, sql } from 'kysely';
import type { Db, Tx } from '../../core/database/db.ts';
import { insertRows, rowsAsJson } from '../../core/database/rows.ts';
import { run } from '../../core/database/statements.ts';
import type { AccountStatus, AccountStatusChanges, Row, StatusCause } from '../../core/database/tables.ts';
import { fetchPage } from '../../core/lists/page.ts';
import type { ListPlan } from '../../core/lists/query.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import { needsHistory, type StatusHistory } from './paid-amount-rules.ts';

type AccountRow = Row<'accounts'>;

/** The new values of an account. A missing date stays as it is. */
type StatusColumns = Pick<AccountRow, 'id' | 'status' | 'status_reason' | 'event_count'> &
  Partial<Pick<AccountRow, 'reprieved_on' | 'written_off_on'>>;

/** Updates accounts that the transaction has locked. @returns the changed accounts, by id. */
export async function updateStatuses(
  tx: Tx,
  accounts: readonly StatusColumns[],
): Promise<Map<number, AccountRow>> {
  const rows = await run<AccountRow>(
    tx,
    `update accounts a set status = c.status, status_reason = c.status_reason, event_count = c.event_count,
      reprieved_on = coalesce(c.reprieved_on, a.reprieved_on), written_off_on = coalesce(c.written_off_on, a.written_off_on),
      updated_at = business_now()
    from json_populate_recordset(null::accounts, $1::json) c where a.id = c.id
    returning a.*`,
    [rowsAsJson(accounts)],
  );
  return new Map(rows.map((row) => [row.id, row]));
}

/** The columns of a status change that are written. */
export const STATUS_CHANGE_COLUMNS = [
  'account_id',
  'from_status',
  'to_status',
  'reason',
  'cause',
  'actor_user_id',
  'api_key_id',
  'changed_on',
] as const satisfies readonly (keyof AccountStatusChanges)[];

export async function insertStatusChanges(
  tx: Tx,
  changes: Insertable<AccountStatusChanges>[],
): Promise<void> {
  await run(tx, insertRows('account_status_changes', STATUS_CHANGE_COLUMNS, '$1'), [rowsAsJson(changes)]);
}

/** Finds what the earlier changes of accounts say about their present status, if it `needsHistory`. The transaction has locked the accounts. */
export async function findStatusHistories(
  tx: Tx,
  accounts: readonly Pick<AccountRow, 'id' | 'status'>[],
): Promise<Map<number, StatusHistory>> {
  const accountIds = accounts.filter(({ status }) => needsHistory(status)).map(({ id }) => id);
  if (accountIds.length === 0) return new Map();
  const rows = await run<{
    id: number;
    cause: StatusCause | null;
    from: AccountStatus | null;
    cause_before: StatusCause | null;
  }>(
    tx,
    `select a.id, last.cause, completion.from_status as from, before.cause as cause_before
    from unnest($1::bigint[]) as a (id)
    left join lateral (
      select cause from account_status_changes where account_id = a.id order by id desc limit 1) last on true
    left join lateral (
      select id, from_status from account_status_changes where account_id = a.id and to_status = 'completed'
      order by id desc limit 1) completion on true
    left join lateral (
      select cause from account_status_changes where account_id = a.id and id < completion.id
      order by id desc limit 1) before on true`,
    [accountIds],
  );
  return new Map(
    rows.map(({ id, cause, from, cause_before: causeBefore }) => [
      id,
      { cause, completedFrom: from === null ? undefined : { status: from, cause: causeBefore } },
    ]),
  );
}

interface ShownChange {
  id: number;
  from: AccountStatus | null;
  to: AccountStatus;
  reason: string | null;
  cause: StatusCause | null;
  actor: string;
  date: PlainDate;
  createdAt: string;
}

export function listStatusChanges(db: Db, plan: ListPlan, accountId: number) {
  return fetchPage<ShownChange>(db, plan, {
    select: sql`
      select h.id, h.from_status as "from", h.to_status as "to", h.reason, h.cause,
        coalesce(u.email, 'api key ' || k.name, 'system') as actor, h.changed_on as "date", h.created_at as "createdAt"
      from account_status_changes h left join users u on u.id = h.actor_user_id
        left join api_keys k on k.id = h.api_key_id`,
    from: sql`from account_status_changes h`,
    where: [sql<boolean>`h.account_id = ${accountId}`],
    byKey: true,
  });
}
