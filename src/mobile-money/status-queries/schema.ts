import { type Static, Type } from 'typebox';
import type { StatusQueryState } from '../../core/database/tables.ts';
import { Choice, Id, Money, Nullable, Timestamp } from '../../core/http/fields.ts';
import { defineList } from '../../core/lists/query.ts';
import { referenceKey } from '../../core/values/reference.ts';
import { COMPARED_FIELDS, QUERY_STATES } from './rules.ts';

const STATES = Object.keys(QUERY_STATES) as StatusQueryState[];

export const NewStatusQuery = Type.Object(
  {
    transactionRef: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
        format: 'new-external-id', // It is an id of the provider's system, which is not stored yet.
        description:
          'The id of the transaction. Only for a rejected notification whose transaction the service could not read.',
      }),
    ),
  },
  { title: 'NewStatusQuery', examples: [{}] },
);
export type NewStatusQuery = Static<typeof NewStatusQuery>;

const Answer = Type.Object(
  {
    status: Nullable(
      Type.String({ description: 'The status in the words of the provider, such as Completed.' }),
    ),
    amount: Nullable(Money),
    payer: Nullable(Type.String({ description: 'The payer’s number as the provider sent it.' })),
    payerName: Nullable(Type.String()),
    receiver: Nullable(Type.String({ description: 'The short code that was paid.' })),
    completedAt: Nullable(Timestamp),
    reason: Nullable(Type.String({ description: 'The kind of transaction in the words of the provider.' })),
  },
  { title: 'TransactionStatusAnswer' },
);

const DifferenceShown = Type.Object(
  {
    field: Choice('ComparedField', COMPARED_FIELDS),
    ours: Type.String({ description: 'The current value in the books.' }),
    provider: Type.String({ description: 'The value in the provider’s answer.' }),
  },
  { title: 'StatusDifference' },
);

export const StatusQuery = Type.Object(
  {
    id: Id,
    paymentId: Nullable(Id),
    notificationId: Nullable(Id),
    provider: Type.String(),
    transactionRef: Type.String(),
    state: Choice('StatusQueryState', STATES, {
      description:
        '`requested`: waits for the provider. `answered`: the provider described the transaction. `not_found`: the provider ' +
        'reports that there is no such transaction. `failed`: the provider gave no result, or the query could not be sent (see ' +
        '`message`). `unanswered`: no answer within ten minutes. A late answer still counts.',
    }),
    message: Nullable(
      Type.String({ description: 'Why there is no answer, or the message of the provider.' }),
    ),
    answer: Nullable(Answer),
    differences: Type.Array(DifferenceShown, {
      description: 'Where the answer differs from the books. Empty without an answer.',
    }),
    askedBy: Type.String({ description: 'The e-mail of the user, or the name of the API key.' }),
    createdAt: { ...Timestamp, description: 'When the user asked.' },
    sentAt: Nullable(Timestamp),
    endedAt: Nullable(Timestamp),
  },
  {
    title: 'StatusQuery',
    examples: [
      {
        id: 1,
        paymentId: 3,
        notificationId: null,
        provider: 'mobilemoney',
        transactionRef: 'SKB7MD40PL',
        state: 'answered',
        message: 'The service request is processed successfully.',
        answer: {
          status: 'Completed',
          amount: 800,
          payer: '254701000000',
          payerName: 'GRACE WANJIRU',
          receiver: '600638',
          completedAt: '2026-11-02T07:22:44.000Z',
          reason: 'Pay Bill Online',
        },
        differences: [{ field: 'amount', ours: '80', provider: '800.00' }],
        askedBy: 'amina@example.com',
        createdAt: '2026-11-02T08:15:30.000Z',
        sentAt: '2026-11-02T08:15:31.000Z',
        endedAt: '2026-11-02T08:15:34.000Z',
      },
    ],
  },
);

export const statusQueryList = defineList(
  {
    id: { kind: 'id', column: 'q.id' },
    paymentId: { kind: 'id', column: 'q.payment_id', nullable: true },
    notificationId: { kind: 'id', column: 'q.notification_id', nullable: true },
    transactionRef: {
      kind: 'text',
      column: 'q.transaction_ref',
      key: { column: 'q.transaction_ref', of: referenceKey },
    },
    state: { kind: 'enum', column: 'q.state', values: STATES },
    createdAt: { kind: 'timestamp', column: 'q.created_at' },
    endedAt: { kind: 'timestamp', column: 'q.ended_at', nullable: true },
  },
  {},
);
