import { type Static, Type } from 'typebox';
import { DateText, Id, Nullable, Text, Timestamp } from '../../core/http/fields.ts';
import { defineList } from '../../core/lists/query.ts';

const Cash = Type.Boolean({
  description:
    'Whether staff take the money in their hands. Agents can only record payments with such a method.',
});

export const NewPaymentMethod = Type.Object(
  {
    code: Type.String({
      pattern: '^[a-z][a-z0-9_]{0,49}$',
      description: 'Starts with a letter. Contains only lower-case letters, digits and `_`.',
    }),
    name: Text(100),
    active: Type.Optional(Type.Boolean()),
    cash: Type.Optional(Cash),
  },
  { title: 'NewPaymentMethod', examples: [{ code: 'cheque', name: 'Cheque', active: true, cash: false }] },
);
export type NewPaymentMethod = Static<typeof NewPaymentMethod>;

export const PaymentMethodChanges = Type.Object(
  { name: Type.Optional(Text(100)), active: Type.Optional(Type.Boolean()), cash: Type.Optional(Cash) },
  {
    minProperties: 1,
    title: 'PaymentMethodChanges',
    examples: [{ name: 'Cheque (post office)', active: true, cash: false }],
  },
);
export type PaymentMethodChanges = Static<typeof PaymentMethodChanges>;

export const PaymentMethod = Type.Object(
  {
    id: Id,
    code: Type.String(),
    name: Type.String(),
    active: Type.Boolean(),
    cash: Cash,
    recordableFrom: Nullable({
      ...DateText,
      description:
        'The earliest date with which the caller can record payments with this method. Null: the caller cannot record payments with it.',
    }),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  {
    title: 'PaymentMethod',
    examples: [
      {
        id: 2,
        code: 'cash',
        name: 'Cash',
        active: true,
        cash: true,
        recordableFrom: '2000-01-01',
        createdAt: '2026-11-02T08:15:30.000Z',
        updatedAt: '2026-11-02T08:15:30.000Z',
      },
    ],
  },
);
export type PaymentMethod = Static<typeof PaymentMethod>;

export const paymentMethodList = defineList(
  {
    id: { kind: 'id', column: 'm.id' },
    code: { kind: 'text', column: 'm.code' },
    name: { kind: 'text', column: 'm.name' },
    active: { kind: 'boolean', column: 'm.active' },
    cash: { kind: 'boolean', column: 'm.cash' },
    createdAt: { kind: 'timestamp', column: 'm.created_at' },
    updatedAt: { kind: 'timestamp', column: 'm.updated_at' },
  },
  {},
);
