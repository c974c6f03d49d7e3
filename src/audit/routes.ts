import { type Selectable, sql } from 'kysely';
import type { Api } from '../core/api.ts';
import type { Context } from '../core/context.ts';
import type { Db } from '../core/db.ts';
import { ListEnvelope, okList } from '../core/envelope.ts';
import { fetchPage, type ListPlan } from '../core/list-query.ts';
import type { AuditEntries } from '../core/tables.ts';
import { AuditEntry, auditList } from './schema.ts';

export function auditRoutes(api: Api, context: Context): void {
  api.get(
    '/audit',
    {
      config: { access: 'audit:read' },
      schema: {
        tags: ['Audit'],
        summary: 'Who changed what, from what to what, and in which request',
        querystring: auditList.query,
        response: { 200: ListEnvelope(AuditEntry, 'Audit entries found.') },
      },
    },
    async (request) =>
      okList(
        await listAuditEntries(context.db, auditList.read(request.query, context)),
        'Audit entries found.',
      ),
  );
}

async function listAuditEntries(db: Db, plan: ListPlan) {
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
    createdAt: row.created_at.toISOString(),
  }));
  return { ...page, rows };
}
