import type { Actor } from './context.ts';
import type { Tx } from './database/db.ts';
import { type ChangeRow, eventRow, type NewEvent, writeChanges } from './events.ts';
import type { Resource } from './http/errors.ts';

export interface NewAuditEntry {
  action: string;
  resource: Resource;
  resourceId: number | null;
  /** The fields before the change; absent for a new resource. Only fields that are also in `after` are stored. */
  before?: object;
  after: object;
  /** The event that publishes the change. */
  event: NewEvent;
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

/** The row of an audited change, to insert with other rows. */
export function auditRow(
  actor: Actor,
  { action, resource, resourceId, before, after, event }: NewAuditEntry,
): ChangeRow {
  return {
    ...eventRow(actor, { resource, resourceId }, event),
    action,
    before: before ? partOf(before, after) : null,
    after,
  };
}

/** The fields of `whole` that `keys` also has. */
function partOf(whole: object, keys: object): object {
  const values = new Map(Object.entries(whole));
  return Object.fromEntries(Object.keys(keys).map((key) => [key, values.get(key)]));
}
