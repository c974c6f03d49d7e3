import { type Static, Type } from 'typebox';
import { ACCOUNT_STATUSES } from '../accounts/status/rules.ts';
import {
  AmountFromZero,
  CalendarDate,
  Choice,
  DateText,
  Id,
  Money,
  Nullable,
  Text,
  Timestamp,
} from '../core/http/fields.ts';
import { defineList } from '../core/lists/query.ts';
import { Totals } from '../core/lists/totals.ts';
import { COMMISSION_STATUSES, MONTH_STATUSES } from './status-rules.ts';

const MAX_SALES = 1_000;
/** The whole commission of a sale, in basis points. */
export const WHOLE_SALE = 10_000;
/** The maximum number of lines of one commission. All lines are calculated, stored and returned together. */
export const MAX_LINES = 10_000;

/** The number of sales without commission that an answer names. `GET /commissions/unclaimed-sales` lists all. */
export const MAX_LEFT_OUT = 100;

/** What the user has to confirm before a commission is paid. */
export const PAYMENT_WARNINGS = {
  month_not_ended: 'The month has not ended yet. Later sales of the month cannot be added after the payment.',
} as const;

const COMMISSION_WARNING_CODES = Object.keys(PAYMENT_WARNINGS) as (keyof typeof PAYMENT_WARNINGS)[];

const Period = Type.String({ format: 'calendar-month', description: 'YYYY-MM' });
const Status = Choice('CommissionStatus', COMMISSION_STATUSES);

const Sale = Type.Object({
  accountId: Type.Optional(Id),
  productId: Type.Optional(Id),
  amount: Type.Optional(AmountFromZero),
  quantity: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
  saleDate: Type.Optional(
    CalendarDate({
      format: 'entry-date',
      description: 'Must be in the period. The default for an account is its activation date.',
    }),
  ),
  shareBasisPoints: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: WHOLE_SALE,
      description:
        'Only with accountId: this employee’s share of the commission. 5000 is half. Default: 10000. The shares of one sale add up to at most 10000.',
    }),
  ),
});
export type Sale = Static<typeof Sale>;

export const CalculateBody = Type.Object(
  {
    employeeId: Id,
    period: Type.String({ format: 'entry-month', description: 'YYYY-MM, from 2000-01.' }),
    salesData: Type.Optional(
      Type.Array(Sale, {
        maxItems: MAX_SALES,
        description:
          'Each sale has an account or a product. An account earns commission only once. Several employees can share this commission. ' +
          'If empty or missing, the sales are the accounts that the employee sold in the period, at most ' +
          `${MAX_LINES}. Each sale then has the share that is not in another commission yet.`,
      }),
    ),
    includeDerived: Type.Optional(
      Type.Boolean({
        description:
          'Whether the commission has the sales of the period in addition to `salesData`. An account that `salesData` names is not added ' +
          'again. `salesData` can then name accounts that were activated before the period, without a `saleDate`: for sales that were ' +
          'entered after the commission of their own month was paid. With true, such sales also stay in the commission when it is calculated ' +
          'again without their names. Default: true without `salesData`, otherwise false.',
      }),
    ),
  },
  { title: 'NewCommission', examples: [{ employeeId: 1, period: '2026-11', salesData: [{ accountId: 1 }] }] },
);
export type CalculateBody = Static<typeof CalculateBody>;

const UNCLAIMED_SALE = {
  id: 2,
  accountNumber: 'ACC10000020',
  accountStatus: 'active',
  employeeId: 1,
  productId: 1,
  activationDate: '2026-10-30',
  total: 22_800,
  currency: 'KES',
  freeShareBasisPoints: 10_000,
  createdAt: '2026-11-02T08:15:30.000Z',
};

/** An account whose sale has a share that no commission has. */
export const UnclaimedSale = Type.Object(
  {
    id: { ...Id, description: 'The id of the account.' },
    accountNumber: Type.String(),
    accountStatus: Choice('AccountStatus', ACCOUNT_STATUSES),
    employeeId: Nullable(Type.Integer({ description: 'The seller.' })),
    productId: Id,
    activationDate: DateText,
    total: Money,
    currency: Type.String(),
    freeShareBasisPoints: Type.Integer({
      description: 'The share that no commission has. 10000 is the whole sale.',
    }),
    createdAt: Timestamp,
  },
  { title: 'UnclaimedSale', examples: [UNCLAIMED_SALE] },
);

const Confirmation = Type.Object(
  { codes: Type.Array(Choice('CommissionWarningCode', COMMISSION_WARNING_CODES), { maxItems: 1 }) },
  {
    title: 'CommissionConfirmation',
    description: `Needed to pay a commission in its own month (\`month_not_ended\`). ${PAYMENT_WARNINGS.month_not_ended}`,
  },
);
const PaymentReference = Type.Optional({
  ...Text(100),
  description: 'Only with the status `paid`: the reference under which the money was sent.',
});

export const CommissionChanges = Type.Object(
  {
    status: Status,
    paymentReference: PaymentReference,
    confirmation: Type.Optional(Confirmation),
  },
  { title: 'CommissionChanges', examples: [{ status: 'approved' }] },
);

export const MonthParams = Type.Object({ period: { ...Period, examples: ['2026-11'] } });

export const MonthStatusChange = Type.Object(
  {
    status: Type.Enum([...MONTH_STATUSES]),
    total: {
      ...AmountFromZero,
      description:
        'The sum of the commissions that change: `calculated.total` to approve them, `approved.total` to pay them. If it is not the present sum, the answer is 409.',
    },
    paymentReference: PaymentReference,
    confirmation: Type.Optional(Confirmation),
  },
  { title: 'CommissionMonthChange', examples: [{ status: 'approved', total: 570 }] },
);
export type MonthStatusChange = Static<typeof MonthStatusChange>;

const MonthSums = Type.Object({ count: Type.Integer(), total: Money });

export const CommissionMonth = Type.Object(
  {
    period: Type.String(),
    currency: Type.String(),
    uncalculated: Type.Integer({
      description: 'The number of employees who sold an account in the month and have no commission for it.',
    }),
    kept: Type.Integer({
      description:
        'The number of unpaid commissions that a calculation of the month leaves as they are: approved ones, and those for which sales were named.',
    }),
    calculated: MonthSums,
    approved: MonthSums,
    paid: MonthSums,
  },
  {
    title: 'CommissionMonth',
    examples: [
      {
        period: '2026-11',
        currency: 'KES',
        uncalculated: 0,
        kept: 0,
        calculated: { count: 1, total: 570 },
        approved: { count: 0, total: 0 },
        paid: { count: 0, total: 0 },
      },
    ],
  },
);

const commissionProperties = {
  id: Id,
  employeeId: Id,
  period: Type.String(),
  status: Status,
  total: Money,
  currency: Type.String(),
  calculatedBy: Nullable(
    Type.Integer({
      description: 'The id of the user who calculated it last, or who created the API key that did.',
    }),
  ),
  paidAt: Nullable(Timestamp),
  paymentReference: Nullable(Type.String()),
  createdAt: Timestamp,
  updatedAt: Timestamp,
};
const COMMISSION = {
  id: 1,
  employeeId: 1,
  period: '2026-11',
  status: 'calculated',
  total: 570,
  currency: 'KES',
  calculatedBy: 1,
  paidAt: null,
  paymentReference: null,
  createdAt: '2026-11-02T08:15:30.000Z',
  updatedAt: '2026-11-02T08:15:30.000Z',
};

export const CommissionSummary = Type.Object(commissionProperties, {
  title: 'CommissionSummary',
  description: 'A commission without its lines. `GET /commissions/payments/{id}` returns the lines.',
  examples: [COMMISSION],
});

export const Commission = Type.Object(
  {
    ...commissionProperties,
    lines: Type.Array(
      Type.Object({
        accountId: Nullable(Type.Integer()),
        accountStatus: Nullable(
          Choice('AccountStatus', ACCOUNT_STATUSES, { description: 'The current status of the account.' }),
        ),
        productId: Nullable(Type.Integer()),
        saleDate: Nullable(DateText),
        quantity: Type.Integer(),
        base: Money,
        ruleId: Nullable(Type.Integer({ description: 'Null if there is no rule. The rate is then 0.' })),
        rateBasisPoints: Type.Integer(),
        shareBasisPoints: Type.Integer({ description: 'This employee’s share of the commission.' }),
        amount: Money,
      }),
    ),
    leftOut: Type.Object(
      {
        inPeriod: Type.Integer({ description: 'The number of these sales in the period.' }),
        earlier: Type.Integer({
          description:
            'The number of these sales before the period. They enter a commission only if `salesData` names them.',
        }),
        sales: Type.Array(UnclaimedSale, {
          description: `The sales, the newest first, at most ${MAX_LEFT_OUT}. \`GET /commissions/unclaimed-sales\` lists all.`,
        }),
      },
      {
        description:
          'The sales of the employee up to the end of the period with a share that no commission has now. To pay them, calculate an unpaid ' +
          'month with `includeDerived`, and name them in `salesData`.',
      },
    ),
  },
  {
    title: 'Commission',
    examples: [
      {
        ...COMMISSION,
        lines: [
          {
            accountId: 1,
            accountStatus: 'active',
            productId: 1,
            saleDate: '2026-11-02',
            quantity: 1,
            base: 22800,
            ruleId: 3,
            rateBasisPoints: 250,
            shareBasisPoints: 10_000,
            amount: 570,
          },
        ],
        leftOut: { inPeriod: 0, earlier: 0, sales: [] },
      },
    ],
  },
);

export const NewRule = Type.Object(
  {
    category: Type.Optional(Nullable(Text(100))),
    rateBasisPoints: Type.Integer({ minimum: 0, maximum: 10_000, description: '250 is 2.5 %.' }),
  },
  { title: 'NewRule', examples: [{ category: 'home_system', rateBasisPoints: 250 }] },
);
export type NewRule = Static<typeof NewRule>;

export const Rule = Type.Object(
  {
    id: Id,
    category: Nullable(
      Type.String({ description: 'Null for the default rule, which applies to categories without a rule.' }),
    ),
    version: Type.Integer(),
    rateBasisPoints: Type.Integer(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  {
    title: 'CommissionRule',
    examples: [
      {
        id: 3,
        category: 'home_system',
        version: 1,
        rateBasisPoints: 250,
        createdAt: '2026-11-02T08:15:30.000Z',
        updatedAt: '2026-11-02T08:15:30.000Z',
      },
    ],
  },
);
export type Rule = Static<typeof Rule>;

export const commissionList = defineList(
  {
    id: { kind: 'id', column: 'c.id' },
    employeeId: { kind: 'id', column: 'c.employee_id' },
    period: { kind: 'text', column: 'c.period' },
    status: { kind: 'enum', column: 'c.status', values: COMMISSION_STATUSES },
    total: { kind: 'money', column: 'c.total_minor' },
    createdAt: { kind: 'timestamp', column: 'c.created_at' },
    updatedAt: { kind: 'timestamp', column: 'c.updated_at' },
  },
  {
    employeeId: Type.Optional({ ...Id, examples: [1] }),
    period: Type.Optional({ ...Period, examples: ['2026-11'] }),
  },
  undefined,
  { hasTotals: true },
);
export const CommissionTotals = Totals('CommissionTotals', { total: Money });

export const unclaimedSaleList = defineList(
  {
    id: { kind: 'id', column: 'a.id' },
    accountStatus: { kind: 'enum', column: 'a.status', values: ACCOUNT_STATUSES },
    employeeId: { kind: 'id', column: 'a.employee_id', nullable: true },
    productId: { kind: 'id', column: 'a.product_id' },
    activationDate: { kind: 'date', column: 'a.activation_date' },
    total: { kind: 'money', column: 'a.total_minor' },
    createdAt: { kind: 'timestamp', column: 'a.created_at' },
  },
  {},
);

export const ruleList = defineList(
  {
    id: { kind: 'id', column: 'r.id' },
    category: { kind: 'text', nullable: true },
    version: { kind: 'integer', column: 'r.version' },
    rateBasisPoints: { kind: 'integer', column: 'r.rate_basis_points' },
    createdAt: { kind: 'timestamp', column: 'r.created_at' },
  },
  {},
);
