import { type Static, Type } from 'typebox';
import type { NotificationOutcome, NotificationStatus } from '../../core/database/tables.ts';
import { Choice, Id, Money, Nullable, Text, Timestamp } from '../../core/http/fields.ts';
import { defineList } from '../../core/lists/query.ts';
import { referenceKey } from '../../core/values/reference.ts';
import { NOTIFICATION_OUTCOMES } from '../posting/rules.ts';
import { PAYMENT_SOURCES } from '../schema.ts';
import { NOTIFICATION_FLAGS } from './rules.ts';

const NOTIFICATION_STATUSES = ['pending', 'processed', 'rejected'] as const satisfies NotificationStatus[];
const OUTCOMES = Object.keys(NOTIFICATION_OUTCOMES) as NotificationOutcome[];

/** Lists shorten longer bodies, because a body can have 64 KB, and a page has up to 100 bodies. Usual bodies are shorter. */
export const MAX_LISTED_BODY_LENGTH = 2_000;

export const Notification = Type.Object(
  {
    id: Id,
    status: Choice('NotificationStatus', NOTIFICATION_STATUSES),
    outcome: Nullable(Choice('NotificationOutcome', OUTCOMES)),
    flags: Type.Array(Choice('NotificationFlag', NOTIFICATION_FLAGS)),
    source: Choice('PaymentSource', PAYMENT_SOURCES),
    transactionRef: Nullable(Type.String()),
    amount: Nullable(Money),
    reference: Nullable(Type.String({ description: 'The reference that the payer typed.' })),
    payer: Nullable(Type.String({ description: 'The payer’s number as the provider sent it.' })),
    businessShortCode: Nullable(Type.String()),
    paymentId: Nullable(Type.Integer()),
    conflictingPaymentId: Nullable(Type.Integer()),
    failure: Nullable(
      Type.String({ description: 'Why the notification was rejected, or is not processed yet.' }),
    ),
    attempts: Type.Integer(),
    rawBody: Type.String({
      description: `The body as the provider posted it. For a statement line or a pulled payment, its fields as JSON. A list shows the first ${MAX_LISTED_BODY_LENGTH} characters, followed by “…” if the body is longer.`,
    }),
    processedAt: Nullable(Timestamp),
    createdAt: Timestamp,
  },
  {
    title: 'Notification',
    examples: [
      {
        id: 1,
        status: 'processed',
        outcome: 'matched',
        flags: [],
        source: 'webhook',
        transactionRef: 'SKB2XQ19ZT',
        amount: 2400,
        reference: 'ACC10000012',
        payer: '254712345678',
        businessShortCode: '600638',
        paymentId: 2,
        conflictingPaymentId: null,
        failure: null,
        attempts: 1,
        rawBody:
          '{"TransactionType":"Pay Bill","TransID":"SKB2XQ19ZT","TransTime":"20261102101530","TransAmount":"2400.00","BusinessShortCode":"600638","BillRefNumber":"ACC10000012","MSISDN":"254712345678"}',
        processedAt: '2026-11-02T08:15:30.000Z',
        createdAt: '2026-11-02T08:15:30.000Z',
      },
    ],
  },
);

export const Resolution = Type.Object(
  {
    paymentId: Nullable({
      ...Id,
      description: 'The manual payment that records this transaction. Null if no manual payment does.',
    }),
    bothAreReal: Type.Optional(
      Type.Boolean({
        description:
          'Only for a conflict with the flag `similar_reference`, with `paymentId: null`: the manual payment is another payment, so it is not reversed.',
      }),
    ),
    reason: Text(500),
  },
  {
    title: 'Resolution',
    examples: [{ paymentId: null, reason: 'The manual payment was entered on the wrong account' }],
  },
);
export type Resolution = Static<typeof Resolution>;
export const ConflictParams = Type.Object({ id: { ...Id, examples: [3] } });

export const notificationList = defineList(
  {
    id: { kind: 'id', column: 'n.id' },
    status: { kind: 'enum', column: 'n.status', values: NOTIFICATION_STATUSES },
    outcome: { kind: 'enum', column: 'n.outcome', values: OUTCOMES, nullable: true },
    flags: { kind: 'text' },
    source: { kind: 'enum', column: 'n.source', values: PAYMENT_SOURCES },
    transactionRef: {
      kind: 'text',
      column: 'n.trans_id',
      nullable: true,
      key: { column: 'n.trans_id', of: referenceKey },
    },
    amount: { kind: 'money', column: 'n.amount_minor', nullable: true },
    reference: { kind: 'text', column: 'n.bill_ref', nullable: true },
    payer: { kind: 'text', column: 'n.payer', nullable: true },
    paymentId: { kind: 'id', column: 'n.payment_id', nullable: true },
    createdAt: { kind: 'timestamp', column: 'n.received_at' },
  },
  {},
);
