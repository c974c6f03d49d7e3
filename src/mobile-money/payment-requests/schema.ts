import { type Static, Type } from 'typebox';
import type { PaymentRequestStatus } from '../../core/database/tables.ts';
import { AmountAboveZero, Choice, Id, Money, Nullable, Timestamp } from '../../core/http/fields.ts';
import { defineList } from '../../core/lists/query.ts';
import { referenceKey } from '../../core/values/reference.ts';
import { END_REASONS, REQUEST_STATUSES } from './rules.ts';

const STATUSES = Object.keys(REQUEST_STATUSES) as PaymentRequestStatus[];

export const NewPaymentRequest = Type.Object(
  {
    amount: {
      ...AmountAboveZero,
      description: 'In units of the currency. The provider accepts only whole units.',
    },
    phone: Type.String({ minLength: 1, maxLength: 32, format: 'phone', description: 'The phone to ask.' }),
  },
  { title: 'NewPaymentRequest', examples: [{ amount: 400, phone: '0712345678' }] },
);
export type NewPaymentRequest = Static<typeof NewPaymentRequest>;

export const PaymentRequest = Type.Object(
  {
    id: Id,
    accountId: Id,
    accountNumber: Type.String(),
    phone: Type.String(),
    amount: Money,
    currency: Type.String(),
    status: Choice('PaymentRequestStatus', STATUSES, {
      description:
        '`requested`: stored, not yet sent. `sent`: the provider has accepted the request, and the customer is asked. `unknown`: ' +
        'the provider has not reported the outcome in the usual time. `paid`, `declined` and `expired`: the outcome is known.',
    }),
    reason: Nullable(
      Choice('PaymentRequestReason', END_REASONS, {
        description:
          'Why the request was declined or has expired. `refused`: the provider did not accept the request. `not_sent`: the service could not send the request in time.',
      }),
    ),
    providerMessage: Nullable(
      Type.String({ description: 'What the provider reported, or why the service has no answer.' }),
    ),
    transactionRef: Nullable(Type.String({ description: 'The provider’s id of the transaction.' })),
    paymentId: Nullable(
      Type.Integer({ description: 'The payment. Null until the transaction of a paid request is posted.' }),
    ),
    requestedBy: Type.String({ description: 'The e-mail of the user, or the name of the API key.' }),
    createdAt: Timestamp,
    sentAt: Nullable(Timestamp),
    endedAt: Nullable(Timestamp),
  },
  {
    title: 'PaymentRequest',
    examples: [
      {
        id: 1,
        accountId: 1,
        accountNumber: 'ACC10000012',
        phone: '+254712345678',
        amount: 400,
        currency: 'KES',
        status: 'requested',
        reason: null,
        providerMessage: null,
        transactionRef: null,
        paymentId: null,
        requestedBy: 'amina@example.com',
        createdAt: '2026-11-02T08:15:30.000Z',
        sentAt: null,
        endedAt: null,
      },
    ],
  },
);

export const requestList = defineList(
  {
    id: { kind: 'id', column: 'r.id' },
    accountId: { kind: 'id', column: 'r.account_id' },
    phone: { kind: 'text', column: 'r.phone' },
    amount: { kind: 'money', column: 'r.amount_minor' },
    status: { kind: 'enum', column: 'r.status', values: STATUSES },
    reason: { kind: 'enum', column: 'r.reason', values: END_REASONS, nullable: true },
    transactionRef: {
      kind: 'text',
      column: 'r.receipt',
      nullable: true,
      key: { column: 'r.receipt', of: referenceKey },
    },
    paymentId: { kind: 'id', column: 'r.payment_id', nullable: true },
    createdAt: { kind: 'timestamp', column: 'r.created_at' },
  },
  {},
);
