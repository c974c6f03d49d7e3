import { type Static, Type } from 'typebox';
import { FREQUENCIES, MAX_INSTALMENTS, NewHarvest } from '../../catalogue/pay-plans/schema.ts';
import type { PlanChangeKind } from '../../core/database/tables.ts';
import {
  AmountAboveZero,
  Choice,
  DateText,
  EntryDate,
  Id,
  Label,
  Money,
  Nullable,
  Text,
  Timestamp,
} from '../../core/http/fields.ts';
import { defineList } from '../../core/lists/query.ts';
import { ARREARS_CHOICES, REQUESTED_KINDS } from '../../staff/approvals/plan-change-schema.ts';
import { paymentStateFields, Restructured } from '../schema.ts';

export type RequestedKind = (typeof REQUESTED_KINDS)[number];

export const PLAN_CHANGE_KINDS = [
  'deferral',
  'revision',
  'discount',
  'price_correction',
  'price_rise',
  'sale_correction',
  'payoff',
  'undo',
  'imported',
] as const satisfies readonly PlanChangeKind[];

export const MAX_DUES_OF_RISE = 100;

const Kind = Choice('PlanChangeKind', PLAN_CHANGE_KINDS);

export const NewPlanChange = Type.Object(
  {
    kind: Choice('NewPlanChangeKind', REQUESTED_KINDS, {
      description:
        '`deferral`: instalments are due later. `revision`: what is not yet due is spread again. `discount`, `price_correction` and ' +
        '`price_rise`: another price. `sale_correction`: another pay plan from the same activation date. `undo`: the terms before the ' +
        'newest change that is not undone.',
    }),
    from: Type.Optional({ ...EntryDate, description: 'deferral: the first instalment date that moves.' }),
    periods: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 1000,
        description: 'deferral: each instalment takes the date of the one this many places later.',
      }),
    ),
    days: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 3650,
        description: 'deferral: by how many days, instead of periods.',
      }),
    ),
    arrears: Type.Optional(
      Choice('ArrearsOfPlanChange', ARREARS_CHOICES, {
        description:
          'What happens to instalments that are due and not paid. `stay` (default): they stay due. `behind` (deferral): they are due after ' +
          'the last instalment. `move` (revision): they are spread with the rest.',
      }),
    ),
    firstDueDate: Type.Optional({ ...EntryDate, description: 'revision: the first instalment date.' }),
    instalmentCount: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_INSTALMENTS,
        description: 'revision: the number of instalments; there can be fewer.',
      }),
    ),
    instalmentAmount: Type.Optional({
      ...AmountAboveZero,
      description: 'revision: the amount of each instalment, instead of instalmentCount.',
    }),
    frequency: Type.Optional(Choice('Frequency', FREQUENCIES, { description: 'revision.' })),
    every: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 365,
        description:
          'revision: the number of days, weeks or months from one instalment to the next. Default: 1.',
      }),
    ),
    monthsWithoutDues: Type.Optional(
      Type.Array(Type.Integer({ minimum: 1, maximum: 12 }), {
        maxItems: 10,
        uniqueItems: true,
        description: 'revision: months (1 is January) in which no instalment is due. Default: none.',
      }),
    ),
    harvest: Type.Optional(NewHarvest),
    amount: Type.Optional({
      ...AmountAboveZero,
      description: 'discount, price_correction, price_rise: by how much the price changes.',
    }),
    consent: Type.Optional(
      Text(500, { description: 'price_rise: how and when the customer agreed. Required to confirm.' }),
    ),
    dues: Type.Optional(
      Type.Array(Type.Object({ date: EntryDate, amount: AmountAboveZero }, { title: 'NewDue' }), {
        minItems: 1,
        maxItems: MAX_DUES_OF_RISE,
        description:
          'price_rise, and deferral with arrears behind: the dates and amounts of the additional instalments, for accounts whose instalments have no rhythm, such as those of harvests.',
      }),
    ),
    payplanId: Type.Optional({ ...Id, description: 'sale_correction: the pay plan that was meant.' }),
    reason: Type.Optional(
      Text(500, {
        description: 'Why the plan is changed. Statements for the customer show it. Required to confirm.',
      }),
    ),
    reasonCode: Type.Optional(Label(40, { description: 'One of PLAN_CHANGE_REASONS.' })),
    confirm: Type.Optional(
      Type.Object(
        {
          version: Type.Integer({
            minimum: 0,
            description: 'The version that the answer without `confirm` had.',
          }),
          paid: Type.Optional(
            Type.Number({
              'x-amount': true,
              description: 'The sum paid that this answer had. Required if its `readsPaid` is true.',
            }),
          ),
          effectiveOn: Type.Optional({
            ...DateText,
            description: 'The day that this answer had. If given, the change is refused on another day.',
          }),
        },
        {
          title: 'PlanChangeConfirmation',
          description: 'Does the change. Without it, the answer shows what the change would do.',
        },
      ),
    ),
  },
  {
    title: 'NewPlanChange',
    examples: [
      { kind: 'discount', amount: 500, reason: 'The lamp came late' },
      { kind: 'price_correction', amount: 300, reason: 'The price of last month' },
    ],
  },
);
export type NewPlanChange = Static<typeof NewPlanChange>;

const planTermsFields = {
  deposit: Money,
  total: { ...Money, description: 'The price: the sum of the deposit and all instalments.' },
  instalmentCount: Type.Integer(),
  completionDate: { ...DateText, description: 'The date of the last instalment.' },
};

const runsField = {
  runs: Type.Array(
    Type.Object(
      { count: Type.Integer(), amount: Money, firstDueDate: DateText, lastDueDate: DateText },
      { title: 'InstalmentRun' },
    ),
    { description: 'The instalments in their order: neighbours of one amount and rhythm together.' },
  ),
};

const PlanTerms = Type.Object(planTermsFields, { title: 'PlanTerms' });

const PlanEffect = Type.Object(
  {
    ...planTermsFields,
    ...runsField,
    ...paymentStateFields,
    arrears: Money,
    balance: Money,
    credit: Money,
    restructured: Restructured,
  },
  { title: 'PlanEffect', description: 'The terms, and the account today with these terms.' },
);

const EXAMPLE_TERMS = { deposit: 2000, total: 22800, instalmentCount: 52, completionDate: '2027-11-01' };
const EXAMPLE_TERMS_AFTER = {
  deposit: 2000,
  total: 22300,
  instalmentCount: 51,
  completionDate: '2027-10-25',
};
const EXAMPLE_RUNS = [{ count: 52, amount: 400, firstDueDate: '2026-11-09', lastDueDate: '2027-11-01' }];
const EXAMPLE_RUNS_AFTER = [
  { count: 50, amount: 400, firstDueDate: '2026-11-09', lastDueDate: '2027-10-18' },
  { count: 1, amount: 300, firstDueDate: '2027-10-25', lastDueDate: '2027-10-25' },
];
const EXAMPLE_STATE = {
  paymentState: 'paid_ahead' as const,
  daysPastDue: 0,
  paidUntil: '2026-12-06',
  nextDueDate: '2026-12-07',
  nextDueAmount: 400,
  arrears: 0,
  credit: 0,
  restructured: null,
};

export const ShownPlanChange = Type.Object(
  {
    accountId: Id,
    accountNumber: Type.String(),
    currency: Type.String(),
    kind: Kind,
    version: Type.Integer({ description: 'The number of changes of the account so far.' }),
    paid: { ...Money, description: 'The sum paid so far.' },
    readsPaid: Type.Boolean({
      description:
        'Whether another sum paid would have another effect, so that the confirmation has to repeat it.',
    }),
    effectiveOn: { ...DateText, description: 'Today, the day on which the change would take effect.' },
    needsApproval: Type.Boolean({ description: 'Whether the confirmation is sent for approval.' }),
    priceChange: { ...Money, description: 'Negative if the price falls.' },
    arrearsMoved: { ...Money, description: 'What is due now, and would be due later.' },
    aheadMoved: { ...Money, description: 'What was paid ahead, and would become one instalment of today.' },
    undoes: Nullable(Type.Integer({ description: 'For an undo: the id of the change that it undoes.' })),
    before: PlanEffect,
    after: PlanEffect,
  },
  {
    title: 'ShownPlanChange',
    examples: [
      {
        accountId: 1,
        accountNumber: 'ACC10000012',
        currency: 'KES',
        kind: 'discount' as const,
        version: 0,
        paid: 3600,
        readsPaid: true,
        effectiveOn: '2026-11-02',
        needsApproval: false,
        priceChange: -500,
        arrearsMoved: 0,
        aheadMoved: 0,
        undoes: null,
        before: { ...EXAMPLE_TERMS, runs: EXAMPLE_RUNS, ...EXAMPLE_STATE, balance: 19200 },
        after: { ...EXAMPLE_TERMS_AFTER, runs: EXAMPLE_RUNS_AFTER, ...EXAMPLE_STATE, balance: 18700 },
      },
    ],
  },
);

/** What a change did, as lists and histories say it. */
const outcomeFields = {
  kind: Kind,
  priceChange: { ...Money, description: 'Negative if the price fell.' },
  arrearsMoved: { ...Money, description: 'What was due, and is due later.' },
  instalments: Nullable(
    Type.Object(
      {
        count: Type.Integer(),
        firstDueDate: DateText,
        lastDueDate: DateText,
        movedFrom: Nullable({
          ...DateText,
          description: 'For a deferral: the date of the first of these instalments before the change.',
        }),
      },
      {
        title: 'ChangedInstalments',
        description:
          'For a deferral: the instalments that it moved. For a revision: those that it made. The dates are those after the change.',
      },
    ),
  ),
  payplanName: Nullable(
    Type.String({ description: 'For a sale correction: the name of the pay plan that was meant.' }),
  ),
  undoneChange: Nullable(
    Type.Object(
      { kind: Kind, effectiveOn: DateText },
      { title: 'UndoneChange', description: 'For an undo: the change that it undid.' },
    ),
  ),
};

export const PlanChangeOutcome = Type.Object(outcomeFields, { title: 'PlanChangeOutcome' });

export const PlanChange = Type.Object(
  {
    id: Id,
    accountId: Id,
    accountNumber: Type.String(),
    customerId: Id,
    customerName: Nullable(Type.String({ description: 'Null for callers without `customers:read`.' })),
    currency: Type.String(),
    version: Type.Integer({ description: 'The number of the change among those of the account.' }),
    ...outcomeFields,
    effectiveOn: { ...DateText, description: 'The first business day with the new terms.' },
    reason: Nullable(Type.String()),
    reasonCode: Nullable(Type.String()),
    consent: Nullable(Type.String({ description: 'For a price rise: how and when the customer agreed.' })),
    aheadMoved: { ...Money, description: 'What was paid ahead, and became one instalment of effectiveOn.' },
    undoes: Nullable(Type.Integer({ description: 'For an undo: the id of the change that it undid.' })),
    undoneBy: Nullable(Type.Integer({ description: 'The id of the undo of this change.' })),
    actor: Type.String({
      description:
        'The e-mail of the user who made or approved the change, "api key" with the name of the key, or "system".',
    }),
    approvalId: Nullable(Type.Integer()),
    bulkDeferralId: Nullable(
      Type.Integer({ description: 'The bulk deferral that made the change, or that was undone by it.' }),
    ),
    requestedBy: Nullable(Type.String({ description: 'Who asked for the approval.' })),
    before: PlanTerms,
    after: PlanTerms,
    createdAt: Timestamp,
  },
  {
    title: 'PlanChange',
    examples: [
      {
        id: 1,
        accountId: 1,
        accountNumber: 'ACC10000012',
        customerId: 1,
        customerName: 'Wanjiru Kamau',
        currency: 'KES',
        version: 1,
        kind: 'discount' as const,
        instalments: null,
        payplanName: null,
        undoneChange: null,
        effectiveOn: '2026-11-02',
        reason: 'The lamp came late',
        reasonCode: null,
        consent: null,
        priceChange: -500,
        arrearsMoved: 0,
        aheadMoved: 0,
        undoes: null,
        undoneBy: null,
        actor: 'amina@example.com',
        approvalId: null,
        bulkDeferralId: null,
        requestedBy: null,
        before: EXAMPLE_TERMS,
        after: EXAMPLE_TERMS_AFTER,
        createdAt: '2026-11-02T08:15:30.000Z',
      },
    ],
  },
);

export const planChangeList = defineList(
  {
    id: { kind: 'id', column: 'c.id' },
    accountId: { kind: 'id', column: 'c.account_id' },
    version: { kind: 'integer', column: 'c.version' },
    kind: { kind: 'enum', column: 'c.kind', values: PLAN_CHANGE_KINDS },
    effectiveOn: { kind: 'date', column: 'c.effective_on' },
    reasonCode: { kind: 'text', column: 'c.reason_code', nullable: true },
    undone: { kind: 'boolean' },
    bulkDeferralId: { kind: 'id', column: 'c.bulk_deferral_id', nullable: true },
    createdAt: { kind: 'timestamp', column: 'c.created_at' },
  },
  {},
);
