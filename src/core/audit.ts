import type { Insertable } from 'kysely';
import type { Actor } from './context.ts';
import type { Tx } from './database/db.ts';
import { insertRows, rowsAsJson } from './database/rows.ts';
import { run } from './database/statements.ts';
import type { AuditEntries, JsonValue } from './database/tables.ts';
import type { Resource } from './http/errors.ts';

export interface AuditEntry {
  action: string;
  resource: Resource;
  resourceId: number | null;
  /** The fields before the change; absent for a new resource. Only those that `after` has are stored. */
  before?: Record<string, unknown>;
  after: Record<string, unknown>;
}

export const AUDIT_COLUMNS = [
  'actor_user_id',
  'actor',
  'action',
  'resource',
  'resource_id',
  'before',
  'after',
  'request_id',
] as const satisfies (keyof AuditEntries)[];

const INSERT_AUDIT_ROWS = insertRows('audit_entries', AUDIT_COLUMNS, '$1');

/** Records who changed what, in the transaction of the change. */
export async function audit(tx: Tx, actor: Actor, entry: AuditEntry): Promise<void> {
  await run(tx, INSERT_AUDIT_ROWS, [rowsAsJson([auditRow(actor, entry)])]);
}

/** The row of an audit entry, to insert with other rows. */
export function auditRow(
  actor: Actor,
  { action, resource, resourceId, before, after }: AuditEntry,
): Insertable<AuditEntries> {
  return {
    actor_user_id: actor.userId,
    actor: actor.name,
    action,
    resource,
    resource_id: resourceId,
    before: before ? asJson(partOf(before, after)) : null,
    after: asJson(after),
    request_id: actor.requestId,
  };
}

/** The types of the table have no bigint; amounts are written as numbers. */
function asJson(value: Record<string, unknown>): JsonValue {
  return value as JsonValue;
}

/** The values of an object for the keys of another. */
function partOf(whole: Record<string, unknown>, keys: object): Record<string, unknown> {
  return Object.fromEntries(Object.keys(keys).map((key) => [key, whole[key]]));
}
