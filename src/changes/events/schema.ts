import type { Readable } from 'node:stream';
import { type Static, type TSchema, Type } from 'typebox';
import { examplesOf } from '../../core/http/envelope.ts';
import { RESOURCES } from '../../core/http/errors.ts';
import { Choice, Id, Nullable, Timestamp } from '../../core/http/fields.ts';
import { EVENT_TYPES, EVENTS, type EventType, fieldsOf } from './catalogue-schema.ts';
import { shownName, TYPE_FILTERS } from './rules.ts';

const MAX_EVENTS = 1_000;
export const MAX_WAIT_SECONDS = 30;

/** One part of a filter of types. */
export const EventTypeFilter = Choice('EventTypeFilter', TYPE_FILTERS);

export const EventQuery = Type.Object({
  after: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      examples: [0],
      description: 'The `after` of the previous answer. Default: start at the oldest event that is kept.',
    }),
  ),
  from: Type.Optional(
    Choice('EventStart', ['latest'], {
      examples: ['latest'],
      description: '`latest`: only events from now on. Has no effect together with `after`.',
    }),
  ),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_EVENTS,
      default: 100,
      description: 'The maximum number of events in an answer.',
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
      maxLength: 4_000,
      'x-described-as': Type.Array(EventTypeFilter),
      examples: ['payment.*'],
      description:
        'Event types, separated by commas. `payment.*` means all types that start with `payment.`.',
    }),
  ),
});

function fieldsOfEvent<T extends TSchema, R extends TSchema, D extends TSchema>(
  type: T,
  resource: R,
  data: D,
) {
  return {
    id: Id,
    type,
    version: Type.Integer({
      description:
        'The version of the data of this event type. Increased when a field is removed or changes its meaning.',
    }),
    resource,
    resourceId: Nullable(
      Type.Integer({
        description: 'The id of the subject of the event. The kind of the subject is in `resource`.',
      }),
    ),
    accountId: Nullable(
      Type.Integer({
        description: 'The account whose money or status changed. Read the account for its present state.',
      }),
    ),
    accountVersion: Nullable(
      Type.Integer({ description: 'The number of the event on this account: 1, 2, 3, … without gaps.' }),
    ),
    actor: Type.String({
      description:
        '"user", "system", "cli", "api key" with the name of the key, or "provider" with the name of the provider.',
    }),
    userId: Nullable(Type.Integer()),
    apiKeyId: Nullable(Type.Integer({ description: 'The API key that made the change.' })),
    requestId: Nullable(Type.String()),
    createdAt: Timestamp,
    data,
  };
}

/** The resources of event types that do not start with the name of their resource. */
const RESOURCE_OF: Record<string, string> = {
  credit: 'account',
  kyc: 'customer',
  session: 'user',
  statement: 'provider_statement',
};

function resourceOf(type: EventType): string {
  const [first = ''] = type.split('.');
  const resource = RESOURCE_OF[first] ?? first;
  if (!RESOURCES.some((one) => one === resource)) throw new Error(`${type} has no resource.`);
  return resource;
}

/** account.written_off → AccountWrittenOffEvent */
function titleOf(type: EventType): string {
  return `${type.replace(/(?:^|[._])(\w)/g, (_, first: string) => first.toUpperCase())}Event`;
}

function describe(type: EventType) {
  const data = Object.fromEntries(fieldsOf(type).map(([field, schema]) => [shownName(field), schema]));
  return Type.Object(fieldsOfEvent(Type.Literal(type), Type.Literal(resourceOf(type)), Type.Object(data)), {
    title: titleOf(type),
    description: EVENTS[type].when,
  });
}

const EventOfAnyType = Type.Unsafe<object>({
  title: 'Event',
  description: 'One of many types. New types may be added: ignore those that you do not know.',
  oneOf: EVENT_TYPES.map(describe),
  discriminator: {
    propertyName: 'type',
    mapping: Object.fromEntries(EVENT_TYPES.map((type) => [type, `#/components/schemas/${titleOf(type)}`])),
  },
});

/** One schema for all types. With `EventOfAnyType`, the serializer would compare each event with the schema of each type. */
export const Event = Type.Object(fieldsOfEvent(Type.String(), Type.String(), Type.Any()), {
  'x-described-as': EventOfAnyType,
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
});
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
    'The `id` of a message is the id of an event, and its `data` is the event as JSON. While there are no events, a comment is sent every 15 s.',
  examples: ['id: 17\ndata: {"id":17,"type":"user.password_changed"}\n\n'],
});
