import { sql } from 'kysely';
import type { Db } from '../../core/database/db.ts';
import { fetchPage } from '../../core/lists/page.ts';
import type { ListPlan } from '../../core/lists/query.ts';
import type { AuditEntry } from './schema.ts';

export function listAuditEntries(db: Db, plan: ListPlan) {
  return fetchPage<AuditEntry>(db, plan, {
    select: sql`
      select a.id, a.actor, a.actor_user_id as "userId", a.api_key_id as "apiKeyId", a.action, a.resource,
        a.resource_id as "resourceId", a.before, a.after, a.request_id as "requestId", a.created_at as "createdAt"
      from audit_entries a`,
    from: sql`from audit_entries a`,
  });
}
