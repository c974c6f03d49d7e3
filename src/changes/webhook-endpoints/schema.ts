import { type Static, Type } from 'typebox';
import { Id, Nullable, Text, Timestamp } from '../../core/http/fields.ts';
import { defineList } from '../../core/lists/query.ts';
import { EventTypeFilter } from '../events/schema.ts';
import { DEFAULT_OVERLAP_SECONDS, DISABLED_REASONS, MAX_OVERLAP_SECONDS } from './rules.ts';

const MAX_URL_LENGTH = 2_000;
const MAX_TYPE_FILTERS = 50;

const Url = Type.String({
  minLength: 1,
  maxLength: MAX_URL_LENGTH,
  format: 'text',
  description:
    'An https URL of a public host, without user and password. The port is 443, or 1024 or higher. WEBHOOKS_OUT_ALLOW can allow other addresses.',
});
const Filter = Type.String({
  maxLength: 100,
  pattern: '^([a-z_]+[.]([a-z_]+|[*])|[*])$',
  'x-described-as': EventTypeFilter,
});
const Types = Type.Array(Filter, {
  minItems: 1,
  maxItems: MAX_TYPE_FILTERS,
  description:
    'Event types: a name such as `payment.received`, `payment.*` for all types that start with `payment.`, or `*` for all types.',
});
const Description = Nullable(Text(200));
const InOrder = Type.Boolean({
  description:
    'Whether events of one account (or of one resource, if they concern no account) are delivered one after the other. The next event waits while an earlier event is retried. Default: false.',
});

export const NewWebhookEndpoint = Type.Object(
  { url: Url, types: Types, description: Type.Optional(Description), inOrder: Type.Optional(InOrder) },
  {
    title: 'NewWebhookEndpoint',
    examples: [
      {
        url: 'https://erp.example.com/hooks/ams',
        types: ['payment.*', 'account.completed'],
        description: 'ERP of the head office',
        inOrder: false,
      },
    ],
  },
);
export type NewWebhookEndpoint = Static<typeof NewWebhookEndpoint>;

export const WebhookEndpointChanges = Type.Object(
  {
    url: Type.Optional(Url),
    types: Type.Optional(Types),
    description: Type.Optional(Description),
    inOrder: Type.Optional(InOrder),
    active: Type.Optional(
      Type.Boolean({
        description:
          '`true` enables the endpoint, and delivers the events since it was disabled. Events older than 30 days were deleted, and are not delivered.',
      }),
    ),
  },
  {
    minProperties: 1,
    title: 'WebhookEndpointChanges',
    examples: [{ types: ['payment.*'], active: true }],
  },
);
export type WebhookEndpointChanges = Static<typeof WebhookEndpointChanges>;

export const SecretRotation = Type.Object(
  {
    overlapSeconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: MAX_OVERLAP_SECONDS,
        description: `How long messages are also signed with the previous secret. Default: ${DEFAULT_OVERLAP_SECONDS}, a day.`,
      }),
    ),
  },
  { title: 'SecretRotation', examples: [{ overlapSeconds: 3600 }] },
);
export type SecretRotation = Static<typeof SecretRotation>;

const endpointProperties = {
  id: Id,
  url: Type.String(),
  types: Type.Array(Type.String()),
  description: Nullable(Type.String()),
  inOrder: Type.Boolean(),
  active: Type.Boolean(),
  disabledReason: Nullable(
    Type.Enum([...DISABLED_REASONS], {
      description: '`user`: disabled by a user. `gone`: answered 410. `failing`: failed for three days.',
    }),
  ),
  disabledAt: Nullable(Timestamp),
  failingSince: Nullable(
    Type.String({
      format: 'date-time',
      description: 'The time of the first failure since the latest success.',
    }),
  ),
  pausedUntil: Nullable(
    Type.String({
      format: 'date-time',
      description:
        'All events of the endpoint wait until this time, after five failures in a row or because the receiver sent Retry-After.',
    }),
  ),
  previousSecretExpiresAt: Nullable(
    Type.String({
      format: 'date-time',
      description: 'Until this time, messages are signed with two secrets.',
    }),
  ),
  createdAt: Timestamp,
  updatedAt: Timestamp,
};

const example = {
  id: 1,
  url: 'https://erp.example.com/hooks/ams',
  types: ['payment.*', 'account.completed'],
  description: 'ERP of the head office',
  inOrder: false,
  active: true,
  disabledReason: null,
  disabledAt: null,
  failingSince: null,
  pausedUntil: null,
  previousSecretExpiresAt: null,
  createdAt: '2026-11-02T08:15:30.000Z',
  updatedAt: '2026-11-02T08:15:30.000Z',
};

export const WebhookEndpoint = Type.Object(endpointProperties, {
  title: 'WebhookEndpoint',
  examples: [example],
});
export type WebhookEndpoint = Static<typeof WebhookEndpoint>;

export const IssuedWebhookEndpoint = Type.Object(
  {
    ...endpointProperties,
    secret: Type.String({ description: 'Verifies the signatures. It is not shown again.' }),
  },
  {
    title: 'IssuedWebhookEndpoint',
    examples: [{ ...example, secret: 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDc2FVsBQIhrs=' }],
  },
);

export const webhookEndpointList = defineList(
  {
    id: { kind: 'id', column: 'w.id' },
    url: { kind: 'text', column: 'w.url' },
    active: { kind: 'boolean', column: 'w.active' },
    disabledReason: { kind: 'enum', column: 'w.disabled_reason', values: DISABLED_REASONS, nullable: true },
    failingSince: { kind: 'timestamp', column: 'w.failing_since', nullable: true },
    createdAt: { kind: 'timestamp', column: 'w.created_at' },
    updatedAt: { kind: 'timestamp', column: 'w.updated_at' },
  },
  {},
);
