import { type Static, Type } from 'typebox';
import {
  AmountAboveZero,
  Choice,
  DateText,
  Id,
  Money,
  Nullable,
  Reference,
  Text,
  Timestamp,
} from '../../core/http/fields.ts';
import { defineList } from '../../core/lists/query.ts';
import { referenceKey } from '../../core/values/reference.ts';

const CREDIT_MOVE_KINDS = ['transfer', 'refund'] as const;

export const CreditTransfer = Type.Object(
  { toAccountId: Id, amount: AmountAboveZero, reason: Text(500) },
  {
    title: 'CreditTransfer',
    examples: [{ toAccountId: 2, amount: 400, reason: 'Meant for the other account of the family' }],
  },
);
export type CreditTransfer = Static<typeof CreditTransfer>;

export const CreditRefund = Type.Object(
  {
    amount: AmountAboveZero,
    reason: Text(500),
    paymentMethodId: Type.Optional({
      ...Id,
      description: 'The payment method of the refund. Default: mobile money.',
    }),
    transactionRef: Type.Optional(Nullable(Reference)),
  },
  {
    title: 'CreditRefund',
    examples: [
      { amount: 1000, reason: 'The customer gave the system back', transactionRef: 'SKC1AB22CD' },
      { amount: 200, reason: 'The rest, at the office', paymentMethodId: 2 },
    ],
  },
);
export type CreditRefund = Static<typeof CreditRefund>;

export const CreditMove = Type.Object(
  {
    id: Id,
    kind: Choice('CreditMoveKind', CREDIT_MOVE_KINDS),
    accountId: Id,
    accountNumber: Type.String({ description: 'The number of the account that gave the credit.' }),
    toAccountId: Nullable(
      Type.Integer({ description: 'The account that received the credit. Null for a refund.' }),
    ),
    toAccountNumber: Nullable(Type.String()),
    amount: Money,
    currency: Type.String(),
    reason: Type.String(),
    paymentMethodId: Nullable(
      Type.Integer({ description: 'The payment method of a refund. Null for a transfer.' }),
    ),
    transactionRef: Nullable(Type.String()),
    valueDate: DateText,
    actor: Type.String({
      description:
        'The e-mail of the user. If an API key made the move, the answer to the POST has "api key" with the name of the key, and lists have "system".',
    }),
    createdAt: Timestamp,
  },
  {
    title: 'CreditMove',
    examples: [
      {
        id: 1,
        kind: 'transfer',
        accountId: 1,
        accountNumber: 'ACC10000012',
        toAccountId: 2,
        toAccountNumber: 'ACC10000020',
        amount: 400,
        currency: 'KES',
        reason: 'Meant for the other account of the family',
        paymentMethodId: null,
        transactionRef: null,
        valueDate: '2026-11-02',
        actor: 'amina@example.com',
        createdAt: '2026-11-02T08:15:30.000Z',
      },
    ],
  },
);

export const creditMoveList = defineList(
  {
    id: { kind: 'id', column: 'm.id' },
    kind: { kind: 'enum', values: CREDIT_MOVE_KINDS },
    accountId: { kind: 'id', column: 'm.account_id' },
    toAccountId: { kind: 'id', column: 'm.to_account_id', nullable: true },
    amount: { kind: 'money', column: 'm.amount_minor' },
    paymentMethodId: { kind: 'id', column: 'm.payment_method_id', nullable: true },
    transactionRef: {
      kind: 'text',
      column: 'm.transaction_ref',
      key: { column: 'm.reference_key', of: referenceKey },
      nullable: true,
    },
    valueDate: { kind: 'date', column: 'm.value_date' },
    createdAt: { kind: 'timestamp', column: 'm.created_at' },
  },
  {},
);
