import type { Actor } from './context.ts';
import type { Tx } from './db.ts';
import type { Resource } from './errors.ts';

export interface AuditEntry {
  action: string;
  resource: Resource;
  resourceId: number | null;
  /** The fields as they were; absent for what is new. Of them, those that `after` names are kept. */
  before?: Record<string, unknown>;
  after: Record<string, unknown>;
}

/** Writes who changed what, in the transaction of the change, so that neither exists without the other. */
export async function audit(
  tx: Tx,
  actor: Actor,
  { action, resource, resourceId, before, after }: AuditEntry,
) {
  await tx
    .insertInto('audit_entries')
    .values({
      actor_user_id: actor.userId,
      actor: actor.name,
      action,
      resource,
      resource_id: resourceId,
      before: before ? jsonText(partOf(before, after)) : null,
      after: jsonText(after),
      request_id: actor.requestId,
    })
    .execute();
}

/** The values that an object has for the keys of another. */
function partOf(whole: Record<string, unknown>, keys: object): Record<string, unknown> {
  return Object.fromEntries(Object.keys(keys).map((key) => [key, whole[key]]));
}

function jsonText(value: Record<string, unknown>): string {
  return JSON.stringify(value, (_key, item) => (typeof item === 'bigint' ? Number(item) : item));
}
