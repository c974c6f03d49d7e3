import { sql } from 'kysely';
import type { Db } from '../core/database/db.ts';
import type { JsonValue } from '../core/database/tables.ts';
import { fetchPage } from '../core/lists/page.ts';
import type { ListPlan } from '../core/lists/query.ts';

interface AuditEntryRow {
  id: number;
  actor: string;
  userId: number | null;
  action: string;
  resource: string;
  resourceId: number | null;
  before: JsonValue;
  after: JsonValue;
  requestId: string | null;
  createdAt: string;
}

export function listAuditEntries(db: Db, plan: ListPlan) {
  return fetchPage<AuditEntryRow>(db, plan, {
    select: sql`
      select a.id, a.actor, a.actor_user_id as "userId", a.action, a.resource, a.resource_id as "resourceId",
        a.before, a.after, a.request_id as "requestId", a.created_at as "createdAt"
      from audit_entries a`,
    from: sql`from audit_entries a`,
  });
}
