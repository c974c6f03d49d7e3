import type { Context } from '../../core/context.ts';
import type { Api } from '../../core/http/api.ts';
import { ListEnvelope, okList } from '../../core/http/envelope.ts';
import { AuditEntry, auditList } from './schema.ts';
import { listAuditEntries } from './store.ts';

export function auditRoutes(api: Api, context: Context): void {
  api.get(
    '/audit',
    {
      config: { access: 'audit:read' },
      schema: {
        tags: ['Audit'],
        operationId: 'listAuditEntries',
        summary: 'List changes with their users and times',
        description: 'Each entry has the user, the values before and after, and the id of the request.',
        querystring: auditList.query,
        response: { 200: ListEnvelope(AuditEntry, 'Audit entries found.') },
      },
    },
    async (request) => okList(await listAuditEntries(context.db, request.query), 'Audit entries found.'),
  );
}
