import { type Static, Type } from 'typebox';
import { RESOURCES } from '../../core/http/errors.ts';
import { Choice, Id, Nullable, Timestamp } from '../../core/http/fields.ts';
import { defineList } from '../../core/lists/query.ts';
import { AUDIT_ACTIONS } from '../events/change-schema.ts';

export const AuditEntry = Type.Object(
  {
    id: Id,
    actor: Type.String({
      description:
        'The e-mail of the user, "system", "cli", "api key" with the name of the key, or "provider" with the name of the provider.',
    }),
    userId: Nullable(Type.Integer()),
    apiKeyId: Nullable(Type.Integer()),
    action: Choice('AuditAction', AUDIT_ACTIONS),
    resource: Choice('Resource', RESOURCES),
    resourceId: Nullable(Type.Integer()),
    before: Type.Any({
      description:
        'The changed fields with their old values. Amounts are in minor units. Null for a new resource.',
    }),
    after: Type.Any({ description: 'The changed fields with their new values. Amounts are in minor units.' }),
    requestId: Nullable(Type.String()),
    createdAt: Timestamp,
  },
  {
    title: 'AuditEntry',
    examples: [
      {
        id: 12,
        actor: 'amina@example.com',
        userId: 1,
        apiKeyId: null,
        action: 'payplan.change',
        resource: 'payplan',
        resourceId: 1,
        before: { name: 'Daily, one year', active: true },
        after: { name: 'Daily, one year (closed)', active: false },
        requestId: '6e0efe94-2ee1-4f4a-9db0-17174646b18b',
        createdAt: '2026-11-02T08:15:30.000Z',
      },
    ],
  },
);
export type AuditEntry = Static<typeof AuditEntry>;

export const auditList = defineList(
  {
    id: { kind: 'id', column: 'a.id' },
    actor: { kind: 'text', column: 'a.actor' },
    userId: { kind: 'id', column: 'a.actor_user_id', nullable: true },
    apiKeyId: { kind: 'id', column: 'a.api_key_id', nullable: true },
    action: { kind: 'text', column: 'a.action' },
    resource: { kind: 'text', column: 'a.resource' },
    resourceId: { kind: 'id', column: 'a.resource_id', nullable: true },
    requestId: { kind: 'text', column: 'a.request_id', nullable: true },
    createdAt: { kind: 'timestamp', column: 'a.created_at' },
  },
  {},
);
