import { type RawBuilder, sql } from 'kysely';
import { type Static, Type } from 'typebox';
import type { AccountStatus } from '../core/database/tables.ts';
import { unreachable } from '../core/http/errors.ts';
import { DateText, Id, Money, Nullable, Text, Timestamp } from '../core/http/fields.ts';
import { type Comparison, column, defineList } from '../core/lists/query.ts';
import type { PlainDate } from '../core/values/dates.ts';
import { FREQUENCIES } from '../pay-plans/schema.ts';
import { paymentStates } from './schedule.ts';

export const ACCOUNT_STATUSES = [
  'pending',
  'active',
  'suspended',
  'defaulted',
  'repossessed',
  'completed',
  'written_off',
  'cancelled',
] as const satisfies AccountStatus[];

/** What the lateness policy moves an account for. */
const STATUS_CAUSES = ['non_payment', 'payment'] as const;

const Status = Type.Enum([...ACCOUNT_STATUSES]);

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
    accountNumber: Type.String({ description: 'What the customer types as the account of a phone payment.' }),
    customerId: Id,
    productId: Id,
    payplanId: Id,
    employeeId: Nullable(Type.Integer()),
    activationDate: DateText,
    status: Status,
    reason: Nullable(Type.String({ description: 'Why the status is what it is.' })),
    writtenOffDate: Nullable(
      Type.String({
        format: 'calendar-date',
        description: 'The business day on which it was written off; kept if it is paid in full later.',
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
    id: { kind: 'id', column: column('a.id') },
    customerId: { kind: 'id', column: column('a.customer_id') },
    productId: { kind: 'id', column: column('a.product_id') },
    payplanId: { kind: 'id', column: column('a.payplan_id') },
    employeeId: { kind: 'id', column: column('a.employee_id'), nullable: true },
    status: { kind: 'enum', column: column('a.status'), values: ACCOUNT_STATUSES, sqlType: 'account_status' },
    activationDate: { kind: 'date', column: column('a.activation_date') },
    writtenOffDate: { kind: 'date', column: column('a.written_off_on'), nullable: true },
    total: { kind: 'money', column: column('a.total_minor') },
    paid: { kind: 'money', column: column('a.paid_minor') },
    credit: { kind: 'money', column: column('a.credit_minor') },
    balance: {
      kind: 'money',
      // As balanceOf in rules.ts says it.
      column: sql`greatest(0, case when a.status = 'cancelled' then 0 else a.total_minor end - a.paid_minor)`,
    },
    nextDueDate: { kind: 'date', column: column('a.next_due_date'), nullable: true },
    daysPastDue: {
      kind: 'integer',
      // As position in schedule.ts says it.
      column: (day) => sql`(case
        when a.status = 'pending' or a.next_due_date is null then 0
        else greatest(0, ${day}::date - a.next_due_date) end)`,
      compare: compareDaysPastDue,
    },
    createdAt: { kind: 'timestamp', column: column('a.created_at') },
    updatedAt: { kind: 'timestamp', column: column('a.updated_at') },
  },
  {
    status: Type.Optional(Status),
    customerId: Type.Optional(Id),
    accountNumber: Type.Optional(
      Type.String({
        maxLength: 40,
        format: 'query-text',
        description: 'As a person reads it out: any case, with or without spaces and the prefix.',
      }),
    ),
  },
);

/** More than n days past due is: due before the day n days ago. The index on next_due_date serves that. */
function compareDaysPastDue(operator: Comparison, days: number, day: PlainDate): RawBuilder<boolean> {
  const daysAgo = (n: number) => sql`${day}::date - ${Math.min(n, LONGEST_PAST_DUE)}::integer`;
  const moreThan = (n: number): RawBuilder<boolean> =>
    n < 0 ? sql`true` : sql`(a.status <> 'pending' and a.next_due_date < ${daysAgo(n)})`;
  const exactly = (n: number): RawBuilder<boolean> =>
    n <= 0
      ? sql`(${moreThan(n - 1)} and ${moreThan(n)} is not true)`
      : sql`(a.status <> 'pending' and a.next_due_date = ${daysAgo(n)})`;
  switch (operator) {
    case 'gt':
      return moreThan(days);
    case 'gte':
      return moreThan(days - 1);
    case 'lt':
      return sql`${moreThan(days - 1)} is not true`;
    case 'lte':
      return sql`${moreThan(days)} is not true`;
    case 'eq':
      return exactly(days);
    case 'ne':
      return sql`${exactly(days)} is not true`;
    default:
      return unreachable(operator);
  }
}

/** More days than lie between any two dates of the calendar, so that subtracting them leaves a date. */
const LONGEST_PAST_DUE = 1_000_000;

export const statusChangeList = defineList(
  {
    id: { kind: 'id', column: column('h.id') },
    cause: {
      kind: 'enum',
      column: column('h.cause'),
      values: STATUS_CAUSES,
      sqlType: 'status_cause',
      nullable: true,
    },
    createdAt: { kind: 'timestamp', column: column('h.created_at') },
  },
  {},
);
