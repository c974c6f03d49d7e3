import { type Static, Type } from 'typebox';
import { Choice, DateText, Id, Metadata, Nullable, Text, Timestamp } from '../../core/http/fields.ts';
import { type BodyConditions, bodyConditions, defineList } from '../../core/lists/query.ts';
import { NewPlanChange } from '../plan-changes/schema.ts';
import { accountList } from '../schema.ts';
import {
  BULK_DEFERRAL_MOVES,
  BULK_DEFERRAL_PROBLEMS,
  BULK_DEFERRAL_STATES,
  BULK_DEFERRAL_STATUSES,
} from './rules.ts';

/** The fields of `GET /accounts` by which accounts can be selected. */
const FILTERED = [
  'productId',
  'payplanId',
  'employeeId',
  'status',
  'activationDate',
  'total',
  'paid',
  'balance',
  'nextDueDate',
  'daysPastDue',
  'largestDaysPastDue',
  'planVersion',
  'restructuredDate',
];
export const FILTER_FIELDS = accountList.fields.filter(({ name }) => FILTERED.includes(name));

export const MAX_ACCOUNTS = 20_000;

/** For how long before a preview it counts earlier deferrals and revisions. */
export const RESTRUCTURED_DAYS = 30;

const { from, periods, days, reasonCode } = NewPlanChange.properties;

export const BulkDeferralFilter = Type.Unsafe<BulkFilter>(
  Type.Object(
    {
      ...bodyConditions(FILTER_FIELDS),
      metadata: Type.Optional({ ...Metadata, minProperties: 1, description: 'The metadata of the account.' }),
      customerMetadata: Type.Optional({
        ...Metadata,
        minProperties: 1,
        description: 'The metadata of the customer, such as the region. It needs `customers:read`.',
      }),
    },
    {
      title: 'BulkDeferralFilter',
      minProperties: 1,
      description:
        'The filters of `GET /accounts`, by field and operator: `{"status": {"in": ["active"]}, "daysPastDue": {"gte": 1}}`. An account ' +
        'must match all of them.',
    },
  ),
);
export interface BulkFilter {
  metadata?: Record<string, string>;
  customerMetadata?: Record<string, string>;
  [field: string]: BodyConditions[string] | Record<string, string> | undefined;
}

export const NewBulkDeferral = Type.Object(
  {
    filter: BulkDeferralFilter,
    from: Type.Unsafe<Required<NewPlanChange>['from']>({
      ...from,
      description: 'The first instalment date that moves.',
    }),
    periods: Type.Optional({
      ...periods,
      description: 'Each instalment takes the date of the one this many places later.',
    }),
    days: Type.Optional({
      ...days,
      description: 'By how many days each instalment moves, instead of periods.',
    }),
    arrears: Type.Optional(
      Choice('ArrearsOfBulkDeferral', ['stay', 'behind'], {
        description:
          'What happens to instalments that are due and not paid. `stay` (default): they stay due. `behind`: they are due after the last instalment.',
      }),
    ),
    reason: Text(500, { description: 'Why the plans are changed. Statements for the customers show it.' }),
    reasonCode,
  },
  {
    title: 'NewBulkDeferral',
    examples: [
      {
        filter: { status: { in: ['active', 'suspended'] }, productId: { eq: 1 } },
        from: '2027-03-01',
        periods: 2,
        reason: 'The harvest was lost',
      },
      {
        filter: { payplanId: { eq: 2 } },
        from: '2027-03-01',
        days: 14,
        arrears: 'behind',
        reason: 'The bridge is closed',
      },
    ],
  },
);
export type NewBulkDeferral = Static<typeof NewBulkDeferral>;

export const UndoBulkDeferral = Type.Object(
  { reason: Text(500, { description: 'Why the deferral is undone. Statements for the customers show it.' }) },
  { title: 'UndoBulkDeferral', examples: [{ reason: 'The wrong region' }] },
);

/** The examples are requests in an order that works: the first bulk deferral is started, the second one discarded. */
export const PreviewParams = Type.Object({ id: { ...Id, examples: [2] } });

const Problem = Type.Object(
  {
    code: Choice('BulkDeferralProblem', BULK_DEFERRAL_PROBLEMS, {
      description:
        '`status`: the status of the account allows no change. `not_possible`: the deferral is not possible with its instalments, or beyond ' +
        'MAX_DEFERRED_DAYS. `plan_changed`, `money_posted`: the account has changed since the preview. `later_change`, `already_undone`: ' +
        'its deferral is not its newest change any more. `failed`: its change failed several times, for a reason that is in the log of the service. ' +
        '`stopped`: a user stopped the bulk deferral before it came to the account.',
    }),
    text: Type.String(),
  },
  { title: 'ProblemOfBulkDeferral' },
);

const EXAMPLE = {
  id: 1,
  status: 'draft' as const,
  allowedMoves: ['running' as const, 'expired' as const],
  from: '2027-03-01',
  periods: 2,
  days: null,
  arrears: 'stay' as const,
  reason: 'The harvest was lost',
  reasonCode: null,
  preparedOn: '2026-11-02',
  currency: 'KES',
  selectedCount: 812,
  deferrableCount: 800,
  balance: 14_560_000,
  arrearsMoved: 0,
  needsApproval: false,
  pendingApprovalId: null,
  approvalId: null,
  createdBy: 'amina@example.com',
  actor: null,
  undoReason: null,
  failure: null,
  startedAt: null,
  endedAt: null,
  createdAt: '2026-11-02T08:15:30.000Z',
  updatedAt: '2026-11-02T08:15:31.000Z',
};

const fields = {
  id: Id,
  status: Choice('BulkDeferralStatus', BULK_DEFERRAL_STATUSES, {
    description:
      '`previewing`: a job computes what the deferral would do. `draft`: this can be confirmed until the end of the business day, else or if a user ' +
      'discards it, it is `expired`. `running` and `undoing`: a job changes one account after another.',
  }),
  allowedMoves: Type.Array(Choice('BulkDeferralMove', BULK_DEFERRAL_MOVES), {
    description:
      'What is possible now: `running` by `/confirm`, `undoing` by `/undo`, `expired` by `/discard`, `done` by `/stop`.',
  }),
  from: DateText,
  periods: Nullable(Type.Integer()),
  days: Nullable(Type.Integer()),
  arrears: Choice('ArrearsOfBulkDeferral', ['stay', 'behind']),
  reason: Type.String(),
  reasonCode: Nullable(Type.String()),
  preparedOn: { ...DateText, description: 'The business day of the preview.' },
  currency: Type.String(),
  selectedCount: Type.Integer({ description: 'The number of accounts that the filter selected.' }),
  deferrableCount: Nullable(
    Type.Integer({ description: 'How many of them can be deferred. Null before the preview is complete.' }),
  ),
  balance: Nullable(Type.Number({ description: 'The sum of the unpaid balances of these accounts.' })),
  arrearsMoved: Nullable(Type.Number({ description: 'The sum of what is due, and would be due later.' })),
  needsApproval: Type.Boolean({ description: 'Whether the confirmation is sent for approval.' }),
  pendingApprovalId: Nullable(Type.Integer({ description: 'The request that waits for approval.' })),
  approvalId: Nullable(Type.Integer({ description: 'The approved request for the last work.' })),
  createdBy: Type.String(),
  actor: Nullable(
    Type.String({ description: 'Who confirmed, undid or approved the last work, or discarded the preview.' }),
  ),
  undoReason: Nullable(Type.String()),
  failure: Nullable(Type.String({ description: 'Why the preview failed.' })),
  startedAt: Nullable(Timestamp),
  endedAt: Nullable(Timestamp),
  createdAt: Timestamp,
  updatedAt: Timestamp,
};

export const BulkDeferral = Type.Object(fields, { title: 'BulkDeferral', examples: [EXAMPLE] });

export const BulkDeferralWithProblems = Type.Object(
  {
    ...fields,
    counts: Type.Object(
      {
        selected: Type.Integer({ description: 'Not yet previewed.' }),
        refused: Type.Integer({ description: 'Cannot be deferred.' }),
        waiting: Type.Integer({ description: 'Not yet deferred.' }),
        deferred: Type.Integer(),
        skipped: Type.Integer({
          description: 'Not deferred, for example because the account has changed since the preview.',
        }),
        undone: Type.Integer(),
        notUndone: Type.Integer({
          description: 'Still deferred after the undo, because the deferral was not the newest change.',
        }),
      },
      {
        title: 'BulkDeferralCounts',
        description:
          'The number of accounts by state. All are 0 for an expired or failed preview, whose accounts are deleted.',
      },
    ),
    filter: Type.Any({
      description: 'As in the request. Callers without `customers:read` do not see `customerMetadata`.',
    }),
    restructuredCount: Nullable(
      Type.Integer({
        description:
          `Of a draft: how many of the accounts that can be deferred have a deferral or a revision of the last ${RESTRUCTURED_DAYS} days that is ` +
          'not undone. They would be deferred once more. Otherwise null.',
      }),
    ),
    problems: Type.Array(
      Type.Object(
        {
          ...Problem.properties,
          state: Choice('BulkDeferralState', BULK_DEFERRAL_STATES),
          count: Type.Integer(),
          accountIds: Type.Array(Type.Integer(), { description: 'The first five.' }),
        },
        { title: 'ProblemsOfBulkDeferral' },
      ),
      { description: 'Why accounts were left out: the 20 most frequent reasons.' },
    ),
  },
  {
    title: 'BulkDeferralWithProblems',
    examples: [
      {
        ...EXAMPLE,
        counts: { selected: 0, refused: 12, waiting: 800, deferred: 0, skipped: 0, undone: 0, notUndone: 0 },
        filter: { status: { in: ['active', 'suspended'] }, productId: { eq: 1 } },
        restructuredCount: 0,
        problems: [
          {
            code: 'status' as const,
            text: 'the account is completed',
            state: 'refused' as const,
            count: 12,
            accountIds: [7, 9],
          },
        ],
      },
    ],
  },
);

export const BulkDeferralAccount = Type.Object(
  {
    id: Id,
    accountId: Id,
    accountNumber: Type.String(),
    customerName: Nullable(Type.String({ description: 'Null for callers without `customers:read`.' })),
    state: Choice('BulkDeferralState', BULK_DEFERRAL_STATES),
    balance: Nullable(Type.Number({ description: 'The unpaid balance at the preview.' })),
    arrearsMoved: Nullable(
      Type.Number({ description: 'What was due at the preview, and would be due later.' }),
    ),
    problem: Nullable(Problem),
    changeId: Nullable(Type.Integer({ description: 'The change that deferred the account.' })),
  },
  {
    title: 'BulkDeferralAccount',
    examples: [
      {
        id: 1,
        accountId: 1,
        accountNumber: 'ACC10000012',
        customerName: 'Wanjiru Kamau',
        state: 'waiting' as const,
        balance: 18_200,
        arrearsMoved: 0,
        problem: null,
        changeId: null,
      },
    ],
  },
);

export const bulkDeferralList = defineList(
  {
    id: { kind: 'id', column: 'b.id' },
    status: { kind: 'enum', column: 'b.status', values: BULK_DEFERRAL_STATUSES },
    preparedOn: { kind: 'date', column: 'b.prepared_on' },
    createdAt: { kind: 'timestamp', column: 'b.created_at' },
    updatedAt: { kind: 'timestamp', column: 'b.updated_at' },
  },
  {},
);

export const bulkDeferralAccountList = defineList(
  {
    id: { kind: 'id', column: 's.id' },
    accountId: { kind: 'id', column: 's.account_id' },
    state: { kind: 'enum', column: 's.state', values: BULK_DEFERRAL_STATES },
    problem: { kind: 'enum', column: 's.problem', values: BULK_DEFERRAL_PROBLEMS, nullable: true },
    balance: { kind: 'money', column: 's.balance_minor', nullable: true },
    createdAt: { kind: 'timestamp', column: 'b.created_at' },
  },
  {},
);
