import { type Static, Type } from 'typebox';
import { ACCOUNT_STATUSES } from '../account-status/rules.ts';
import { DateText, Id, Money, Nullable, Text, Timestamp } from '../core/http/fields.ts';
import { defineList } from '../core/lists/query.ts';
import { FREQUENCIES } from '../pay-plans/schema.ts';
import { paymentStates } from './schedule-rules.ts';

/** Why the lateness policy moves an account. */
const STATUS_CAUSES = ['non_payment', 'payment'] as const;

const Status = Type.Enum(ACCOUNT_STATUSES);

export const NewAccount = Type.Object(
  {
    customerId: Id,
    productId: Id,
    payplanId: Id,
    activationDate: Type.Optional(DateText),
    employeeId: Type.Optional(Id),
  },
  {
    title: 'NewAccount',
    examples: [
      { customerId: 1, productId: 1, payplanId: 2, activationDate: '2026-11-02', employeeId: 1 },
      { customerId: 1, productId: 2, payplanId: 2 },
    ],
  },
);
export type NewAccount = Static<typeof NewAccount>;

export const AccountChanges = Type.Object(
  { status: Type.Optional(Status), reason: Type.Optional(Text(500)) },
  {
    minProperties: 1,
    title: 'AccountChanges',
    examples: [
      { status: 'suspended', reason: 'The system was stolen' },
      { status: 'cancelled', reason: 'The customer gave it back' },
    ],
  },
);
export type AccountChanges = Static<typeof AccountChanges>;

export const Account = Type.Object(
  {
    id: Id,
    accountNumber: Type.String({
      description: 'The reference that the customer types in a mobile-money payment.',
    }),
    customerId: Id,
    productId: Id,
    payplanId: Id,
    employeeId: Nullable(Type.Integer()),
    activationDate: DateText,
    status: Status,
    reason: Nullable(Type.String({ description: 'The reason of the present status.' })),
    writtenOffDate: Nullable(
      Type.String({
        format: 'calendar-date',
        description: 'The business day of the write-off. It stays if the account is paid in full later.',
      }),
    ),
    currency: Type.String(),
    deposit: Money,
    instalmentAmount: Money,
    instalmentCount: Type.Integer(),
    frequency: Type.Enum([...FREQUENCIES]),
    graceDays: Type.Integer(),
    total: Money,
    paid: Money,
    balance: Money,
    credit: Money,
    arrears: Money,
    paymentState: Type.Enum([...paymentStates]),
    daysPastDue: Type.Integer(),
    paidUntil: Nullable(DateText),
    nextDueDate: Nullable(DateText),
    nextDueAmount: Nullable(Money),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  {
    title: 'Account',
    examples: [
      {
        id: 1,
        accountNumber: 'ACC10000012',
        customerId: 1,
        productId: 1,
        payplanId: 2,
        employeeId: 1,
        activationDate: '2026-11-02',
        status: 'active',
        reason: null,
        writtenOffDate: null,
        currency: 'KES',
        deposit: 2000,
        instalmentAmount: 400,
        instalmentCount: 52,
        frequency: 'weekly',
        graceDays: 7,
        total: 22800,
        paid: 3600,
        balance: 19200,
        credit: 0,
        arrears: 0,
        paymentState: 'paid_ahead',
        daysPastDue: 0,
        paidUntil: '2026-12-06',
        nextDueDate: '2026-12-07',
        nextDueAmount: 400,
        createdAt: '2026-11-02T08:15:30.000Z',
        updatedAt: '2026-11-02T08:15:30.000Z',
      },
    ],
  },
);

export const StatusChange = Type.Object(
  {
    id: Id,
    from: Nullable(Type.String()),
    to: Type.String(),
    reason: Nullable(Type.String()),
    cause: Nullable(
      Type.Enum([...STATUS_CAUSES], {
        description: 'Why the lateness policy moved the account; null for every other move.',
      }),
    ),
    actor: Type.String({ description: 'The e-mail of the user, or "system".' }),
    date: Type.String({ format: 'calendar-date', description: 'The business day of the move.' }),
    createdAt: Timestamp,
  },
  {
    title: 'StatusChange',
    examples: [
      {
        id: 2,
        from: 'active',
        to: 'suspended',
        reason: 'The system was stolen',
        cause: null,
        actor: 'amina@example.com',
        date: '2026-11-02',
        createdAt: '2026-11-02T08:15:30.000Z',
      },
    ],
  },
);

export const accountList = defineList(
  {
    id: { kind: 'id', column: 'a.id' },
    customerId: { kind: 'id', column: 'a.customer_id' },
    productId: { kind: 'id', column: 'a.product_id' },
    payplanId: { kind: 'id', column: 'a.payplan_id' },
    employeeId: { kind: 'id', column: 'a.employee_id', nullable: true },
    status: { kind: 'enum', column: 'a.status', values: ACCOUNT_STATUSES },
    activationDate: { kind: 'date', column: 'a.activation_date' },
    writtenOffDate: { kind: 'date', column: 'a.written_off_on', nullable: true },
    total: { kind: 'money', column: 'a.total_minor' },
    paid: { kind: 'money', column: 'a.paid_minor' },
    credit: { kind: 'money', column: 'a.credit_minor' },
    balance: { kind: 'money' },
    nextDueDate: { kind: 'date', column: 'a.next_due_date', nullable: true },
    daysPastDue: { kind: 'integer' },
    createdAt: { kind: 'timestamp', column: 'a.created_at' },
    updatedAt: { kind: 'timestamp', column: 'a.updated_at' },
  },
  {
    status: Type.Optional(Status),
    customerId: Type.Optional(Id),
    accountNumber: Type.Optional(
      Type.String({
        maxLength: 40,
        format: 'query-text',
        description: 'In any case, with or without spaces and the prefix.',
      }),
    ),
  },
);

export const statusChangeList = defineList(
  {
    id: { kind: 'id', column: 'h.id' },
    cause: { kind: 'enum', column: 'h.cause', values: STATUS_CAUSES, nullable: true },
    createdAt: { kind: 'timestamp', column: 'h.created_at' },
  },
  {},
);
