import { type Insertable, sql } from 'kysely';
import type { Actor } from '../../core/context.ts';
import type { Db, Tx } from '../../core/database/db.ts';
import type { AccountStatus, AccountStatusChanges, Row, StatusCause } from '../../core/database/tables.ts';
import { fetchPage } from '../../core/lists/page.ts';
import type { ListPlan } from '../../core/lists/query.ts';
import type { PlainDate } from '../../core/values/dates.ts';

type AccountRow = Row<'accounts'>;

type StatusColumns = Pick<AccountRow, 'status' | 'status_reason' | 'event_count'> &
  Partial<Pick<AccountRow, 'reprieved_on' | 'written_off_on'>>;

/** Updates an account that the transaction has locked. */
export function updateStatus(tx: Tx, id: number, changes: StatusColumns): Promise<AccountRow> {
  return tx
    .updateTable('accounts')
    .set({ ...changes, updated_at: sql`business_now()` })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** Inserts status changes that one actor made on one business day. */
export async function insertStatusChanges(
  tx: Tx,
  actor: Actor,
  day: PlainDate,
  changes: readonly Omit<Insertable<AccountStatusChanges>, 'actor_user_id' | 'api_key_id' | 'changed_on'>[],
): Promise<void> {
  const made = { actor_user_id: actor.userId, api_key_id: actor.apiKey?.id ?? null, changed_on: day };
  await tx
    .insertInto('account_status_changes')
    .values(changes.map((change) => ({ ...change, ...made })))
    .execute();
}

/** The status before the latest completion of an account, and the cause of that status. */
export async function findCompletion(tx: Tx, accountId: number) {
  const { rows } = await sql<{ from_status: AccountStatus | null; cause: StatusCause | null }>`
    select h.from_status, (
      select before.cause from account_status_changes before
      where before.account_id = h.account_id and before.id < h.id order by before.id desc limit 1) as cause
    from account_status_changes h
    where h.account_id = ${accountId} and h.to_status = 'completed'
    order by h.id desc limit 1`.execute(tx);
  return rows[0];
}

/** Why the suspension policy changed an account to its present status. Null if something else changed the status. */
export async function findCause(tx: Tx, accountId: number): Promise<StatusCause | null> {
  const last = await tx
    .selectFrom('account_status_changes')
    .select('cause')
    .where('account_id', '=', accountId)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
  return last?.cause ?? null;
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
