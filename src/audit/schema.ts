import { Type } from 'typebox';
import { Id, Nullable, Timestamp } from '../core/fields.ts';
import { column, defineList } from '../core/list-query.ts';

export const AuditEntry = Type.Object({
  id: Id,
  actor: Type.String({ description: 'The e-mail of the user, "system", or the provider.' }),
  userId: Nullable(Type.Integer()),
  action: Type.String(),
  resource: Type.String(),
  resourceId: Nullable(Type.Integer()),
  before: Type.Any({ description: 'The fields as they were; null for what is new.' }),
  after: Type.Any({ description: 'The fields as they were set; amounts in minor units.' }),
  requestId: Nullable(Type.String()),
  createdAt: Timestamp,
});

export const auditList = defineList(
  {
    id: { kind: 'id', column: column('a.id') },
    actor: { kind: 'text', column: column('a.actor') },
    userId: { kind: 'id', column: column('a.actor_user_id') },
    action: { kind: 'text', column: column('a.action') },
    resource: { kind: 'text', column: column('a.resource') },
    resourceId: { kind: 'id', column: column('a.resource_id') },
    requestId: { kind: 'text', column: column('a.request_id') },
    createdAt: { kind: 'timestamp', column: column('a.created_at') },
  },
  {},
);
