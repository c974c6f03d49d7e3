import { type Static, Type } from 'typebox';
import { Account } from '../../accounts/schema.ts';
import { ACCOUNT_STATUSES, statusesIn } from '../../accounts/status/rules.ts';
import { examplesOf } from '../../core/http/envelope.ts';
import { Choice, DateText, Id, Money, Nullable, Timestamp } from '../../core/http/fields.ts';
import { defineList } from '../../core/lists/query.ts';
import { CALL_RESULTS } from '../calls/rules.ts';
import { Call, CallWarning, Lease } from '../calls/schema.ts';
import { CustomerPromise } from '../promises/schema.ts';
import { LATENESS, MAX_ASSIGNED, SHOWN } from './rules.ts';

const Customer = Type.Object(
  { id: Id, name: Type.String(), phone: Type.String(), secondPhone: Nullable(Type.String()) },
  { title: 'CalledCustomer' },
);
const exampleCustomer = { id: 1, name: 'Wanjiru Kamau', phone: '+254712345678', secondPhone: null };

const Assignee = Nullable(Type.Object({ userId: Id, officer: Type.String() }, { title: 'Assignee' }));
const OpenPromise = Nullable(
  Type.Object({ id: Id, amount: Money, date: DateText }, { title: 'OpenPromise' }),
);

const {
  customer: _customer,
  product: _product,
  pendingApprovals: _approvals,
  ...accountFields
} = Account.properties;

export const CallListEntry = Type.Object(
  {
    ...accountFields,
    customer: Customer,
    assignee: Assignee,
    lastCall: Nullable(
      Type.Object(
        {
          id: Id,
          result: Choice('CallResult', CALL_RESULTS),
          userId: Id,
          officer: Type.String(),
          createdAt: Timestamp,
        },
        { title: 'LastCall' },
      ),
    ),
    hiddenUntil: Nullable(
      Type.String({
        format: 'calendar-date',
        description:
          'The next call, or the day after a promise. Before this day the account is not in the list.',
      }),
    ),
    hasDispute: Type.Boolean(),
    hasWrongNumber: Type.Boolean({
      description: 'The last result of a phone of the customer is `wrong_number`.',
    }),
    promise: OpenPromise,
    lease: Nullable(Lease),
  },
  {
    title: 'CallListEntry',
    examples: [
      {
        ...(examplesOf(Account)[0] as object),
        customer: exampleCustomer,
        assignee: { userId: 4, officer: 'Daudi Mwangi' },
        lastCall: {
          id: 1,
          result: 'no_answer',
          userId: 4,
          officer: 'Daudi Mwangi',
          createdAt: '2026-11-02T08:15:30.000Z',
        },
        hiddenUntil: null,
        hasDispute: false,
        hasWrongNumber: false,
        promise: null,
        lease: null,
      },
    ],
  },
);

export const callListList = defineList(
  {
    id: { kind: 'id', column: 'a.id' },
    customerId: { kind: 'id', column: 'a.customer_id' },
    productId: { kind: 'id', column: 'a.product_id' },
    employeeId: { kind: 'id', column: 'a.employee_id', nullable: true },
    status: { kind: 'enum', column: 'a.status', values: ACCOUNT_STATUSES },
    assigneeId: { kind: 'id', column: 's.assignee_id', nullable: true },
    daysPastDue: { kind: 'integer' },
    nextDueDate: { kind: 'date' },
    lastCalledAt: { kind: 'timestamp' },
    hiddenUntil: { kind: 'date', column: 's.hidden_until', nullable: true },
    createdAt: { kind: 'timestamp', column: 'a.created_at' },
  },
  {
    shown: Type.Optional(
      Choice('CallListShown', SHOWN, {
        default: 'to_call',
        description:
          '`to_call`: accounts that are not hidden by the result of a call. `hidden`: only the others. `all`: both.',
        examples: ['to_call'],
      }),
    ),
    lateness: Type.Optional(
      Choice('CallListLateness', LATENESS, {
        default: 'late',
        description: '`late`: the payment state is late. `past_due`: also accounts in their days of grace.',
        examples: ['late'],
      }),
    ),
  },
  'a.metadata',
);

export const CALL_LIST_DESCRIPTION = `Late accounts with the statuses ${statusesIn('called').join(', ')}, or with those of \`filter[status]\`. The longest late come first with \`sort=nextDueDate:asc\`, which an index returns. \`after\` avoids counting all rows. A sort by \`lastCalledAt\` lists only accounts that were called; with \`filter[lastCalledAt][isnull]=true\`, it lists only the others, in the order in which they were created.`;

const FormAccount = Type.Object(
  {
    ...CallListEntry.properties,
    promiseLimits: Nullable(
      Type.Object(
        { minimum: Money, maximum: Money, from: DateText, until: DateText },
        {
          title: 'PromiseLimits',
          description: 'What the customer can promise now. Null if no promise is possible for the account.',
        },
      ),
    ),
  },
  { title: 'CallFormAccount' },
);

export const CallForm = Type.Object(
  {
    customer: Customer,
    accounts: Type.Array(FormAccount, {
      description: 'The account, and all late accounts of customers who have one of its phones, at most 50.',
    }),
    calls: Type.Array(Call, { description: 'The latest 20 calls about these accounts, the newest first.' }),
    promises: Type.Array(CustomerPromise, { description: 'The promises of these calls.' }),
    nextCallUntil: DateText,
    warnings: Type.Array(CallWarning, { description: 'What would be unusual about an attempt now.' }),
  },
  {
    title: 'CallForm',
    examples: [
      {
        customer: exampleCustomer,
        accounts: [],
        calls: [],
        promises: [],
        nextCallUntil: '2026-12-02',
        warnings: [],
      },
    ],
  },
);

export const NewAssignment = Type.Object(
  {
    accountIds: Type.Array(Id, { minItems: 1, maxItems: MAX_ASSIGNED }),
    userId: Nullable({ ...Id, description: 'A user who may record calls. Null ends the assignment.' }),
  },
  { title: 'NewAccountAssignment', examples: [{ accountIds: [1], userId: 1 }] },
);
export type NewAssignment = Static<typeof NewAssignment>;

export const Assignment = Type.Object(
  { changed: Type.Integer({ description: 'The number of accounts whose assignee changed.' }) },
  { title: 'AccountAssignment', examples: [{ changed: 1 }] },
);

export const Officers = Type.Array(
  Type.Object({ userId: Id, officer: Type.String() }, { title: 'Officer' }),
  {
    examples: [[{ userId: 4, officer: 'Daudi Mwangi' }]],
  },
);
