import type { Readable } from 'node:stream';
import { type Static, Type } from 'typebox';
import { examplesOf } from '../core/http/envelope.ts';
import { Choice, Id, Nullable, Timestamp } from '../core/http/fields.ts';

export const MAX_EVENTS = 1_000;
export const MAX_WAIT_SECONDS = 30;

export const EventQuery = Type.Object({
  after: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'The `after` of the answer before. Default: the first event that is kept.',
    }),
  ),
  from: Type.Optional(
    Choice('EventStart', ['latest'], { description: 'Without `after`: only events from now on.' }),
  ),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_EVENTS,
      default: 100,
      description: 'The most events in an answer.',
    }),
  ),
  wait: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: MAX_WAIT_SECONDS,
      default: 0,
      description: 'Seconds to wait for the first event if there is none.',
    }),
  ),
  types: Type.Optional(
    Type.String({
      maxLength: 2_000,
      description:
        'Event types, separated by commas. `payment.*` means all types that start with `payment.`.',
      examples: ['account.opened,payment.*'],
    }),
  ),
});

export const Event = Type.Object(
  {
    id: Id,
    type: Type.String(),
    version: Type.Integer({
      description: 'Of the data of the type. Raised when a field is removed or changes its meaning.',
    }),
    resource: Type.String({ description: 'With `resourceId`: the resource that changed.' }),
    resourceId: Nullable(Type.Integer()),
    accountId: Nullable(
      Type.Integer({ description: 'Set if the change is of the money or the status of an account.' }),
    ),
    accountVersion: Nullable(
      Type.Integer({ description: '1, 2, 3, … for each account, without gaps, in the order of ids.' }),
    ),
    actor: Type.String({ description: '"user", "api key" and its name, "system", or the provider.' }),
    userId: Nullable(Type.Integer()),
    apiKeyId: Nullable(Type.Integer({ description: 'The API key that made the change.' })),
    requestId: Nullable(Type.String()),
    createdAt: Timestamp,
    data: Type.Any({ description: 'By type: see docs/events.md. Amounts are in units of the currency.' }),
  },
  {
    title: 'Event',
    examples: [
      {
        id: 17,
        type: 'payment.received',
        version: 1,
        resource: 'payment',
        resourceId: 1,
        accountId: 1,
        accountVersion: 2,
        actor: 'provider mobilemoney',
        userId: null,
        apiKeyId: null,
        requestId: null,
        createdAt: '2026-11-02T08:15:30.000Z',
        data: {
          accountId: 1,
          amount: 2400,
          paymentMethodId: 1,
          paymentDate: '2026-11-02',
          source: 'webhook',
          status: 'matched',
        },
      },
    ],
  },
);
export type Event = Static<typeof Event>;

export const EventPage = Type.Object(
  {
    events: Type.Array(Event),
    after: Type.Integer({ minimum: 0, description: 'Send it as `after` with the next request.' }),
    hasMore: Type.Boolean({ description: 'Whether more events may already exist.' }),
  },
  {
    title: 'EventPage',
    examples: [{ events: examplesOf(Event), after: 17, hasMore: false }],
  },
);

export const EventStream = Type.Unsafe<Readable>({
  type: 'string',
  description:
    'Messages with the id of an event and, as data, the event in JSON. Without events, a comment every 15 s.',
  examples: ['id: 17\ndata: {"id":17,"type":"user.password_changed"}\n\n'],
});
