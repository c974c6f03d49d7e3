import { type Static, Type } from 'typebox';
import { Id, Nullable, Timestamp } from '../../core/http/fields.ts';
import { defineList } from '../../core/lists/query.ts';
import { OUTCOMES } from './delivery-rules.ts';

const deliveryProperties = {
  id: Id,
  eventId: Nullable(Type.Integer({ description: 'Null for a test.' })),
  eventType: Type.String(),
  attempt: Type.Integer({
    description:
      'The first attempt is 1. The number starts at 1 again after a user resends the event, enables the endpoint or changes its URL.',
  }),
  outcome: Type.Enum([...OUTCOMES], {
    description:
      '`failed`: the event is sent again at nextAttemptAt. `given_up`: only a user can resend the event.',
  }),
  status: Nullable(Type.Integer({ description: 'HTTP status of the answer; null without an answer.' })),
  error: Nullable(Type.String({ description: 'Why there is no answer.' })),
  answer: Nullable(Type.String({ description: 'The first 4 kB of the body of the answer.' })),
  durationMs: Type.Integer(),
  nextAttemptAt: Nullable(Timestamp),
  requestHeaders: Type.Object(
    {
      'content-type': Type.String(),
      'user-agent': Type.String(),
      'webhook-id': Type.String(),
      'webhook-timestamp': Type.String(),
      'webhook-signature': Type.String(),
    },
    { description: 'The headers that the service added to the request.' },
  ),
  createdAt: Type.String({ format: 'date-time', description: 'When the request was sent.' }),
};

const example = {
  id: 1,
  eventId: 120,
  eventType: 'payment.received',
  attempt: 1,
  outcome: 'failed',
  status: 503,
  error: null,
  answer: 'try later',
  durationMs: 35,
  nextAttemptAt: '2026-11-02T08:15:35.000Z',
  requestHeaders: {
    'content-type': 'application/json',
    'user-agent': 'account-management-service',
    'webhook-id': 'msg_1_120',
    'webhook-timestamp': '1793607330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  },
  createdAt: '2026-11-02T08:15:30.000Z',
};

export const WebhookDelivery = Type.Object(deliveryProperties, {
  title: 'WebhookDelivery',
  examples: [example],
});
export type WebhookDelivery = Static<typeof WebhookDelivery>;

export const WebhookDeliveryWithBody = Type.Object(
  {
    ...deliveryProperties,
    requestBody: Nullable(
      Type.String({ description: 'The body of the request. Null for a test, and if the event was deleted.' }),
    ),
  },
  { title: 'WebhookDeliveryWithBody', examples: [{ ...example, requestBody: '{"id":120}' }] },
);

export const DeliveryParams = Type.Object({
  id: { ...Id, examples: [1] },
  deliveryId: { ...Id, examples: [1] },
});

export const webhookDeliveryList = defineList(
  {
    id: { kind: 'id', column: 'd.id' },
    eventId: { kind: 'id', column: 'd.event_id', nullable: true },
    eventType: { kind: 'text', column: 'd.event_type' },
    attempt: { kind: 'integer', column: 'd.attempt' },
    outcome: { kind: 'enum', column: 'd.outcome', values: OUTCOMES },
    status: { kind: 'integer', column: 'd.status', nullable: true },
    durationMs: { kind: 'integer', column: 'd.duration_ms' },
    createdAt: { kind: 'timestamp', column: 'd.created_at' },
  },
  {},
);

/** The maximum number of ids in a range of a resend. A range without an end has no limit. */
export const MAX_RESENT_EVENTS = 10_000;

export const Resend = Type.Object(
  {
    eventIds: Type.Optional(
      Type.Array(Id, { minItems: 1, maxItems: 100, description: 'Only these events.' }),
    ),
    fromEventId: Type.Optional({
      ...Id,
      description: 'This event and later ones, up to toEventId if given.',
    }),
    toEventId: Type.Optional({
      ...Id,
      description: `The last event of the range that starts at fromEventId. Such a range has at most ${MAX_RESENT_EVENTS} ids.`,
    }),
    since: Type.Optional(Type.String({ format: 'date-time', description: 'All events since this time.' })),
  },
  {
    minProperties: 1,
    title: 'Resend',
    description: 'Exactly one of eventIds, fromEventId (with or without toEventId) and since.',
    examples: [{ fromEventId: 1 }],
  },
);
export type Resend = Static<typeof Resend>;

export const ResendResult = Type.Object(
  {
    eventCount: Nullable(
      Type.Integer({
        description:
          'The number of events to send again. Null if the request gave `since`, or `fromEventId` without `toEventId`.',
      }),
    ),
  },
  { title: 'ResendResult', examples: [{ eventCount: null }] },
);

export const TestResult = Type.Object(deliveryProperties, {
  title: 'WebhookTestResult',
  examples: [
    {
      ...example,
      eventId: null,
      eventType: 'test',
      outcome: 'delivered',
      status: 204,
      answer: '',
      nextAttemptAt: null,
    },
  ],
});
