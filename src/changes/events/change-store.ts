import type { Actor } from '../../core/context.ts';
import type { Tx } from '../../core/database/db.ts';
import { rowsAsJson } from '../../core/database/rows.ts';
import { run } from '../../core/database/statements.ts';
import { auditRow, type ChangeRow, type NewAuditEntry } from './change-rules.ts';

// One SQL statement writes the events and the audit entries of changes.

/**
 * The two keys of an advisory lock. A transaction holds the lock in shared mode from before its first event id to its end.
 * `readSample` in store.ts finds by this lock the transactions that can still commit events.
 */
export const PUBLISHING_LOCK = { classId: 1_702_259_054, objectId: 1_953_720_691 } as const;

/**
 * Common table expressions that insert the rows in the given order. A larger statement can contain them. The lock is
 * taken before the first id. An audit entry has the id of its event.
 *
 * @param parameter - the SQL parameter with the `ChangeRow`s, made by `rowsAsJson`.
 */
export function insertChanges(parameter: `$${number}`): string {
  const { classId, objectId } = PUBLISHING_LOCK;
  return `
    publishing as materialized (select pg_advisory_xact_lock_shared(${classId}, ${objectId})),
    changes as materialized (
      select nextval('audit_entries_id_seq') as id, c.*
      from publishing, json_to_recordset(${parameter}::json) as c (actor_user_id bigint, api_key_id bigint, actor text, action text,
        resource text, resource_id bigint, before jsonb, after jsonb, request_id text, type text, version smallint,
        account_id bigint, account_version bigint, data json)),
    audited as (
      insert into audit_entries (id, actor_user_id, api_key_id, actor, action, resource, resource_id, before, after,
        request_id, has_event) overriding system value
      select id, actor_user_id, api_key_id, actor, action, resource, resource_id, before, after, request_id, true
      from changes where action is not null),
    published as (
      insert into events (id, type, version, resource, resource_id, account_id, account_version, actor_user_id, api_key_id, actor,
        request_id, data)
      select id, type, version, resource, resource_id, account_id, account_version, actor_user_id, api_key_id,
        case when actor_user_id is null then actor else 'user' end, request_id, data
      from changes)`;
}

const INSERT_CHANGES = `with ${insertChanges('$1')} select`;

export async function writeChanges(tx: Tx, changes: readonly ChangeRow[]): Promise<void> {
  await run(tx, INSERT_CHANGES, [rowsAsJson(changes)]);
}

/** Records and publishes a change in the transaction of the change. @param derived - further events to publish. */
export async function audit(
  tx: Tx,
  actor: Actor,
  entry: NewAuditEntry,
  derived: readonly ChangeRow[] = [],
): Promise<void> {
  await writeChanges(tx, [auditRow(actor, entry), ...derived]);
}
