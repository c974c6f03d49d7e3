import { type Static, Type } from 'typebox';
import { FirstDueDate, FREQUENCIES } from '../catalogue/pay-plans/schema.ts';
import { ExpandedProduct } from '../catalogue/products/schema.ts';
import { BulkBody, BulkResult } from '../core/http/bulk.ts';
import { ChangedExternalFields, ExternalFields, ShownExternalFields } from '../core/http/external-ids.ts';
import {
  Choice,
  Choices,
  DateText,
  EntryDate,
  Id,
  Money,
  Nullable,
  Text,
  Timestamp,
} from '../core/http/fields.ts';
import { defineList } from '../core/lists/query.ts';
import { Totals } from '../core/lists/totals.ts';
import { ExpandedCustomer } from '../customers/schema.ts';
import { PendingApprovals } from '../staff/approvals/schema.ts';
import { itemStates, paymentStates } from './schedule/rules.ts';
import { ACCOUNT_STATUSES } from './status/rules.ts';

const STATUS_CAUSES = ['non_payment', 'payment'] as const;

export const Status = Choice('AccountStatus', ACCOUNT_STATUSES);

export const AccountParams = Type.Object({ accountId: { ...Id, examples: [1] } });

export const NewAccount = Type.Object(
  {
    customerId: Id,
    productId: Id,
    payplanId: Id,
    activationDate: Type.Optional(EntryDate),
    firstDueDate: Type.Optional(FirstDueDate),
    employeeId: Type.Optional(Id),
    ...ExternalFields,
  },
  {
    title: 'NewAccount',
    examples: [
      {
        customerId: 1,
        productId: 1,
        payplanId: 2,
        activationDate: '2026-11-02',
        employeeId: 1,
        externalId: 'LOAN-2001',
        metadata: { branch: 'Meru' },
      },
      { customerId: 1, productId: 2, payplanId: 2 },
      { customerId: 1, productId: 2, payplanId: 3, activationDate: '2026-11-02', firstDueDate: '2026-12-15' },
    ],
  },
);
export type NewAccount = Static<typeof NewAccount>;

export const AccountChanges = Type.Object(
  { status: Type.Optional(Status), reason: Type.Optional(Text(500)), ...ChangedExternalFields },
  {
    minProperties: 1,
    title: 'AccountChanges',
    examples: [
      { status: 'suspended', reason: 'The system was stolen' },
      { metadata: { branch: 'Embu' } },
      { status: 'cancelled', reason: 'The customer gave it back' },
    ],
  },
);
export type AccountChanges = Static<typeof AccountChanges>;

const EXPANSIONS = ['customer', 'product'] as const;
export type AccountExpansion = (typeof EXPANSIONS)[number];
const expand = Type.Optional(Choices(EXPANSIONS, 'Adds customer, product or both to the account.'));
export const AccountQuery = Type.Object({ expand });

export const ExpandedAccount = Type.Object(
  {
    id: Id,
    accountNumber: Type.String(),
    status: Status,
    customerId: Id,
    productId: Id,
    externalId: Nullable(Type.String()),
  },
  {
    title: 'ExpandedAccount',
    examples: [
      {
        id: 1,
        accountNumber: 'ACC10000012',
        status: 'active',
        customerId: 1,
        productId: 1,
        externalId: 'LOAN-2001',
      },
    ],
  },
);
export type ExpandedAccount = Static<typeof ExpandedAccount>;

export const ACCOUNT_OR_CUSTOMER = ['account', 'customer'] as const;
export type AccountOrCustomer = (typeof ACCOUNT_OR_CUSTOMER)[number];

/** The query parameter that adds the account and the customer to rows. */
export const expandAccountOrCustomer = Type.Optional(
  Choices(
    ACCOUNT_OR_CUSTOMER,
    'Adds account, customer or both. They are null for a payment without an account.',
  ),
);
export const AccountOrCustomerQuery = Type.Object({ expand: expandAccountOrCustomer });

/** The fields that `expandAccountOrCustomer` adds. */
export const ExpandedAccountOrCustomer = {
  account: Type.Optional(Nullable(ExpandedAccount)),
  customer: Type.Optional(Nullable(ExpandedCustomer)),
};

/** The payment state of an account on a day, and the figures that explain it. */
export const paymentStateFields = {
  paymentState: Choice('PaymentState', paymentStates),
  daysPastDue: Type.Integer(),
  paidUntil: Nullable(DateText),
  nextDueDate: Nullable(DateText),
  nextDueAmount: Nullable(Money),
};

export const HasEqualInstalments = Type.Boolean({
  description:
    'Whether all instalments are instalmentAmount, the first one period (`frequency`) after activationDate. If false, instalmentAmount is the first instalment, and the schedule of the account has the dates and amounts of all.',
});

export const Rhythm = Nullable(
  Type.Object(
    {
      frequency: Choice('RhythmFrequency', [...FREQUENCIES, 'yearly']),
      every: Type.Integer({
        description: 'The number of days, weeks, months or years from one instalment to the next.',
      }),
      days: Type.Array(Type.Object({ month: Type.Integer(), day: Type.Integer() }, { title: 'DayOfYear' }), {
        description: 'For `yearly`, such as after harvests: the days of the year. Otherwise empty.',
      }),
    },
    {
      title: 'Rhythm',
      description: 'How often the last instalments fall due. Null if they have no rhythm.',
    },
  ),
);

export const Restructured = Nullable(
  Type.Object(
    {
      kind: Choice('RestructuringKind', ['deferral', 'revision']),
      date: { ...DateText, description: 'The first business day with the new terms.' },
    },
    {
      title: 'Restructured',
      description: 'The newest deferral or revision of the plan that is not undone.',
    },
  ),
);

const OriginalTerms = Nullable(
  Type.Object(
    { nextDueDate: Nullable(DateText), daysPastDue: Type.Integer() },
    {
      title: 'OriginalTerms',
      description:
        'The lateness by the terms of the sale with the price rises since then. Null if the present terms are these terms, or nothing is owed. The automatic suspension follows the present terms.',
    },
  ),
);

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
    reason: Nullable(Type.String({ description: 'The reason for the present status.' })),
    allowedMoves: Type.Array(Status, {
      description: 'The statuses to which users with `accounts:change-status` can change the account.',
    }),
    writtenOffDate: Nullable(
      Type.String({
        format: 'calendar-date',
        description:
          'The business day of the write-off. The date stays even if the account is later paid in full.',
      }),
    ),
    currency: Type.String(),
    deposit: Money,
    instalmentAmount: Money,
    instalmentCount: Type.Integer(),
    frequency: Choice('Frequency', FREQUENCIES),
    hasEqualInstalments: HasEqualInstalments,
    rhythm: Rhythm,
    graceDays: Type.Integer(),
    planVersion: Type.Integer({
      description: 'The number of changes of the terms. 0: they are as in the pay plan.',
    }),
    restructured: Restructured,
    originalTerms: OriginalTerms,
    total: Money,
    paid: Money,
    balance: Money,
    credit: Money,
    arrears: Money,
    ...paymentStateFields,
    ...ShownExternalFields,
    createdAt: Timestamp,
    updatedAt: Timestamp,
    customer: Type.Optional(ExpandedCustomer),
    product: Type.Optional(ExpandedProduct),
    pendingApprovals: PendingApprovals,
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
        allowedMoves: ['suspended', 'defaulted', 'cancelled'],
        writtenOffDate: null,
        currency: 'KES',
        deposit: 2000,
        instalmentAmount: 400,
        instalmentCount: 52,
        frequency: 'weekly',
        hasEqualInstalments: true,
        rhythm: { frequency: 'weekly', every: 1, days: [] },
        graceDays: 7,
        planVersion: 0,
        restructured: null,
        originalTerms: null,
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
        externalId: 'LOAN-2001',
        metadata: { branch: 'Meru' },
        createdAt: '2026-11-02T08:15:30.000Z',
        updatedAt: '2026-11-02T08:15:30.000Z',
      },
    ],
  },
);

export const StatusChange = Type.Object(
  {
    id: Id,
    from: Nullable(Status),
    to: Status,
    reason: Nullable(Type.String()),
    cause: Nullable(
      Choice('StatusCause', STATUS_CAUSES, {
        description:
          'Why the suspension policy suspended or reactivated the account. If a completed account is reopened, this change has the cause of the status before the completion. Null for all other changes.',
      }),
    ),
    actor: Type.String({
      description: 'The e-mail of the user, "api key" with the name of the key, or "system".',
    }),
    date: Type.String({ format: 'calendar-date', description: 'The business day of the status change.' }),
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

export const NewAccounts = BulkBody(NewAccount, 'NewAccounts');
export const OpenedAccounts = BulkResult(Account, 'OpenedAccounts');

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
    largestDaysPastDue: { kind: 'integer' },
    planVersion: { kind: 'integer', column: 'a.plan_version' },
    restructuredDate: { kind: 'date', column: 'a.restructured_on', nullable: true },
    externalId: { kind: 'text', column: 'a.external_id', nullable: true },
    createdAt: { kind: 'timestamp', column: 'a.created_at' },
    updatedAt: { kind: 'timestamp', column: 'a.updated_at' },
  },
  {
    status: Type.Optional({ ...Status, examples: ['active'] }),
    customerId: Type.Optional({ ...Id, examples: [1] }),
    accountNumber: Type.Optional(
      Type.String({
        maxLength: 40,
        format: 'query-text',
        examples: ['ACC10000012'],
        description: 'The account number, in upper or lower case, with or without spaces and the prefix.',
      }),
    ),
    search: Type.Optional(
      Type.String({
        examples: ['wanjiru'],
        maxLength: 100,
        format: 'query-text',
        description:
          'An account number or its beginning (at least three digits), or a search for customers as in `GET /customers`, which finds all their accounts. ' +
          'Customers are searched only if one of the words has at least three characters, or for a phone number. ' +
          'Without `customers:read`, only account numbers are searched.',
      }),
    ),
    expand,
  },
  'a.metadata',
  { hasTotals: true },
);
export const AccountTotals = Totals('AccountTotals', {
  balance: Type.Number({ description: 'Includes written-off accounts. A cancelled account has no balance.' }),
  arrears: Money,
});

export const statusChangeList = defineList(
  {
    id: { kind: 'id', column: 'h.id' },
    cause: { kind: 'enum', column: 'h.cause', values: STATUS_CAUSES, nullable: true },
    createdAt: { kind: 'timestamp', column: 'h.created_at' },
  },
  {},
);

export const AccountSchedule = Type.Object(
  {
    accountId: Id,
    accountNumber: Type.String(),
    currency: Type.String(),
    items: Type.Array(
      Type.Object(
        {
          number: Type.Integer({ description: '0 for the deposit, 1 for the first instalment.' }),
          dueDate: DateText,
          amount: Money,
          paid: Type.Number({
            description:
              'The paid part of the amount. Negative for the deposit if a payment was reversed after its credit was transferred or refunded.',
          }),
          state: Choice('ScheduleItemState', itemStates, {
            description:
              'The first state that applies: `paid`; `not_owed` (the account is closed); `overdue`; `due` (today); `partly_paid`; `upcoming`.',
          }),
        },
        { title: 'ScheduleItem' },
      ),
      { description: 'All items, in the order in which payments are applied.' },
    ),
    runs: Type.Array(
      Type.Object(
        {
          firstItem: Type.Integer({ description: '0 for the deposit, which is a run of its own.' }),
          lastItem: Type.Integer(),
          firstDueDate: DateText,
          lastDueDate: DateText,
          amount: Type.Number({ description: 'The sum of the items.' }),
          paid: Type.Number({ description: 'The paid part of this sum.' }),
          state: Choice('ScheduleItemState', itemStates, { description: 'The state of each item.' }),
        },
        { title: 'ScheduleRun' },
      ),
      {
        description:
          'The same items, with neighbouring instalments of one state in one run. An instalment that is paid in part is a run of its own.',
      },
    ),
  },
  {
    title: 'AccountSchedule',
    examples: [
      {
        accountId: 1,
        accountNumber: 'ACC10000012',
        currency: 'KES',
        items: [
          { number: 0, dueDate: '2026-10-26', amount: 2000, paid: 2000, state: 'paid' },
          { number: 1, dueDate: '2026-11-02', amount: 400, paid: 100, state: 'due' },
          { number: 2, dueDate: '2026-11-09', amount: 400, paid: 0, state: 'upcoming' },
          { number: 3, dueDate: '2026-11-16', amount: 400, paid: 0, state: 'upcoming' },
        ],
        runs: [
          {
            ...{ firstItem: 0, lastItem: 0, firstDueDate: '2026-10-26', lastDueDate: '2026-10-26' },
            ...{ amount: 2000, paid: 2000, state: 'paid' },
          },
          {
            ...{ firstItem: 1, lastItem: 1, firstDueDate: '2026-11-02', lastDueDate: '2026-11-02' },
            ...{ amount: 400, paid: 100, state: 'due' },
          },
          {
            ...{ firstItem: 2, lastItem: 3, firstDueDate: '2026-11-09', lastDueDate: '2026-11-16' },
            ...{ amount: 800, paid: 0, state: 'upcoming' },
          },
        ],
      },
    ],
  },
);
