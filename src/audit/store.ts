import { type Selectable, sql } from 'kysely';
import type { Db } from '../core/database/db.ts';
import type { AuditEntries } from '../core/database/tables.ts';
import { fetchPage } from '../core/lists/page.ts';
import type { ListPlan } from '../core/lists/query.ts';

export async function listAuditEntries(db: Db, plan: ListPlan) {
  const page = await fetchPage<Selectable<AuditEntries>>(db, plan, {
    select: sql`select a.* from audit_entries a`,
    from: sql`from audit_entries a`,
  });
  const rows = page.rows.map((row) => ({
    id: row.id,
    actor: row.actor,
    userId: row.actor_user_id,
    action: row.action,
    resource: row.resource,
    resourceId: row.resource_id,
    before: row.before,
    after: row.after,
    requestId: row.request_id,
    createdAt: row.created_at,
  }));
  return { ...page, rows };
}
