import { type RawBuilder, sql } from 'kysely';
import type { Actor } from './context.ts';
import type { Tx } from './db.ts';
import type { Resource } from './errors.ts';

export interface AuditEntry {
  action: string;
  resource: Resource;
  /** Or, in SQL, that of a row which the same statement inserts. */
  resourceId: number | RawBuilder<number> | null;
  /** The fields as they were; absent for what is new. Of them, those that `after` names are kept. */
  before?: Record<string, unknown>;
  after: Record<string, unknown>;
}

/** Writes who changed what, in the transaction of the change, so that neither exists without the other. */
export async function audit(tx: Tx, actor: Actor, entry: AuditEntry): Promise<void> {
  await insertAudit(actor, entry).execute(tx);
}

/** The statement that writes it, for use within a larger one. */
export function insertAudit(
  actor: Actor,
  { action, resource, resourceId, before, after }: AuditEntry,
): RawBuilder<unknown> {
  return sql`
    insert into audit_entries
      (actor_user_id, actor, action, resource, resource_id, before, after, request_id)
    values (${actor.userId}, ${actor.name}, ${action}, ${resource}, ${resourceId},
      ${before ? jsonText(partOf(before, after)) : null}, ${jsonText(after)}, ${actor.requestId})`;
}

/** The values that an object has for the keys of another. */
function partOf(whole: Record<string, unknown>, keys: object): Record<string, unknown> {
  return Object.fromEntries(Object.keys(keys).map((key) => [key, whole[key]]));
}

function jsonText(value: Record<string, unknown>): string {
  return JSON.stringify(value, (_key, item) => (typeof item === 'bigint' ? Number(item) : item));
}
