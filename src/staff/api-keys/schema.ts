import { type Static, Type } from 'typebox';
import { Id, Label, Nullable, Timestamp } from '../../core/http/fields.ts';
import { defineList } from '../../core/lists/query.ts';
import { API_KEY_PATTERN } from '../../core/values/secret.ts';
import { API_KEY_PERMISSIONS, USER_ROLES } from '../../rights.ts';
import { API_KEY_STATUSES } from './rules.ts';

const MAX_NETWORKS = 50;
/** A week is enough to install the new secret in the other system. */
const MAX_OVERLAP_SECONDS = 7 * 86_400;

const Role = Type.Enum([...USER_ROLES]);
const Permission = Type.Enum([...API_KEY_PERMISSIONS]);
const Networks = Type.Array(Type.String({ maxLength: 50 }), {
  minItems: 1,
  maxItems: MAX_NETWORKS,
  description: 'Networks (CIDR) or addresses from which the key may be used. `null` allows all addresses.',
});
const ExpiresAt = Type.String({
  format: 'date-time',
  description: 'When the key stops working. `null`: it does not expire.',
});

const changeable = {
  networks: Type.Optional(Nullable(Networks)),
  expiresAt: Type.Optional(Nullable(ExpiresAt)),
};

export const NewApiKey = Type.Object(
  {
    name: Label(100, { description: 'Shown in the audit list.' }),
    role: Type.Optional(Role),
    permissions: Type.Optional(
      Type.Array(Permission, {
        minItems: 1,
        maxItems: API_KEY_PERMISSIONS.length,
        uniqueItems: true,
        description: 'The permissions of the key, instead of a role.',
      }),
    ),
    ...changeable,
  },
  {
    title: 'NewApiKey',
    examples: [
      {
        name: 'Nightly sync',
        permissions: ['customers:read', 'accounts:read', 'payments:read'],
        networks: ['203.0.113.0/24'],
        expiresAt: '2099-12-31T23:59:59Z',
      },
    ],
  },
);
export type NewApiKey = Static<typeof NewApiKey>;

export const ApiKeyChanges = Type.Object(
  { name: Type.Optional(Label(100)), ...changeable },
  { minProperties: 1, title: 'ApiKeyChanges', examples: [{ networks: ['203.0.113.0/24', '2001:db8::/32'] }] },
);
export type ApiKeyChanges = Static<typeof ApiKeyChanges>;

export const ApiKeyRotation = Type.Object(
  {
    overlapSeconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: MAX_OVERLAP_SECONDS,
        description: 'How long the previous secret still works. Default: 0.',
      }),
    ),
  },
  { title: 'ApiKeyRotation', examples: [{ overlapSeconds: 3600 }] },
);
export type ApiKeyRotation = Static<typeof ApiKeyRotation>;

const properties = {
  id: Id,
  name: Type.String(),
  role: Nullable(Role),
  permissions: Nullable(Type.Array(Type.String(), { description: 'Null for a key with a role.' })),
  networks: Nullable(Type.Array(Type.String())),
  status: Type.Enum([...API_KEY_STATUSES]),
  hint: Type.String({ description: 'The last four characters of the newest secret.' }),
  previousSecretEndsAt: Nullable(
    Type.String({ format: 'date-time', description: 'When the previous secret stops working, or stopped.' }),
  ),
  expiresAt: Nullable(Timestamp),
  revokedAt: Nullable(Timestamp),
  lastUsedAt: Nullable(
    Type.String({
      format: 'date-time',
      description: 'The time of the last recorded use. Uses are recorded at most once a minute.',
    }),
  ),
  lastUsedAddress: Nullable(Type.String()),
  createdBy: Nullable(Type.Integer({ description: 'The user who created the key.' })),
  createdAt: Timestamp,
  updatedAt: Timestamp,
};

const example = {
  id: 1,
  name: 'Nightly sync',
  role: null,
  permissions: ['customers:read', 'accounts:read', 'payments:read'],
  networks: ['203.0.113.0/24'],
  status: 'active',
  hint: 'S7pX',
  previousSecretEndsAt: null,
  expiresAt: '2099-12-31T23:59:59.000Z',
  revokedAt: null,
  lastUsedAt: '2026-11-02T08:15:30.000Z',
  lastUsedAddress: '203.0.113.7',
  createdBy: 1,
  createdAt: '2026-11-02T08:15:30.000Z',
  updatedAt: '2026-11-02T08:15:30.000Z',
};

export const ApiKey = Type.Object(properties, { title: 'ApiKey', examples: [example] });
export type ApiKey = Static<typeof ApiKey>;

export const IssuedApiKey = Type.Object(
  {
    ...properties,
    key: Type.String({
      pattern: `^${API_KEY_PATTERN}$`,
      description: 'The secret. It is shown only here, because only its hash is stored.',
    }),
  },
  {
    title: 'IssuedApiKey',
    examples: [
      {
        ...example,
        lastUsedAt: null,
        lastUsedAddress: null,
        // The checksum of this example is wrong on purpose, so that secret scanners do not report it.
        key: 'ams_key_000000000000000000000000000000000000000000000S7pX',
      },
    ],
  },
);

export const apiKeyList = defineList(
  {
    id: { kind: 'id', column: 'k.id' },
    name: { kind: 'text', column: 'k.name' },
    role: { kind: 'enum', column: 'k.role', values: USER_ROLES, nullable: true },
    status: { kind: 'enum', values: API_KEY_STATUSES },
    expiresAt: { kind: 'timestamp', column: 'k.expires_at', nullable: true },
    lastUsedAt: { kind: 'timestamp', column: 'k.last_used_at', nullable: true },
    createdBy: { kind: 'id', column: 'k.created_by', nullable: true },
    createdAt: { kind: 'timestamp', column: 'k.created_at' },
    updatedAt: { kind: 'timestamp', column: 'k.updated_at' },
  },
  {},
);
