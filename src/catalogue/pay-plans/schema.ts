import { type Static, Type } from 'typebox';
import type { Frequency } from '../../core/database/tables.ts';
import {
  AmountAboveZero,
  AmountFromZero,
  Choice,
  DateText,
  EntryDate,
  Id,
  Money,
  Nullable,
  Text,
  Timestamp,
} from '../../core/http/fields.ts';
import { defineList } from '../../core/lists/query.ts';
import { WHOLE_SHARE } from './instalment-rounding-rules.ts';
import { MAX_MONTHS_TO_FIRST_DUE, MAX_PAYOFF_BASIS_POINTS } from './rules.ts';

export const FREQUENCIES = ['daily', 'weekly', 'monthly'] as const satisfies Frequency[];

export const MAX_INSTALMENTS = 10_000;

/** `minDues` of an early payoff that does not say it. */
export const DEFAULT_MIN_DUES = 2;

/** @param prefix - bodies refuse unknown fields, so their schemas have names of their own. */
const harvestFields = (prefix: 'New' | '') => ({
  entries: Type.Array(
    Type.Object(
      {
        month: Type.Integer({ minimum: 1, maximum: 12 }),
        day: Type.Integer({
          minimum: 1,
          maximum: 31,
          description: '29 February is the 28th in years without it.',
        }),
        shareBasisPoints: Type.Integer({
          minimum: 1,
          maximum: WHOLE_SHARE,
          description: 'The share of the instalments of a year, in hundredths of a per cent.',
        }),
      },
      { title: `${prefix}HarvestEntry` },
    ),
    { minItems: 1, maxItems: 12, description: 'The instalments of each year. The shares sum to 10,000.' },
  ),
  cycles: Type.Integer({ minimum: 1, maximum: 20, description: 'The number of years with instalments.' }),
  leadDays: Type.Integer({
    minimum: 0,
    maximum: 365,
    description: 'The first instalment is on the first of the days at least this long after the activation.',
  }),
});

export const NewHarvest = Type.Object(harvestFields('New'), {
  title: 'NewHarvest',
  description:
    'For a plan with a price, or a revision, whose instalments are due on certain days of the year, such as after harvests, instead of frequency, every, monthsWithoutDues, instalmentAmount and instalmentCount. Each instalment is its share of (price − deposit) / cycles, or of what is spread, rounded down to roundingUnit; the last one takes the rest.',
});
const Harvest = Type.Object(harvestFields(''), { title: 'Harvest' });

const discountBasisPoints = Type.Integer({
  minimum: 1,
  maximum: MAX_PAYOFF_BASIS_POINTS,
  description:
    'The part of the unpaid instalments due after the day of the payoff that is discounted, in hundredths of a per cent. The discount is rounded down to roundingUnit.',
});
const lastDayOfOffer = 'The last day of the offer. Null: the offer has no end.';
const minDues = {
  minimum: 1,
  maximum: MAX_INSTALMENTS,
  description: 'The number of unpaid instalments after the day of the payoff that an account needs.',
};

const OFFER =
  'A discount for a customer who pays all that is left on one day, on active, suspended and defaulted accounts whose deposit was paid before. It applies to all accounts of the plan, from now on; discounts that were given stay. Null: none.';

export const NewEarlyPayoff = Type.Object(
  {
    discountBasisPoints,
    until: Type.Optional(Nullable({ ...EntryDate, description: `${lastDayOfOffer} Default: null.` })),
    minDues: Type.Optional(
      Type.Integer({ ...minDues, description: `${minDues.description} Default: ${DEFAULT_MIN_DUES}.` }),
    ),
  },
  { title: 'NewEarlyPayoff', description: OFFER },
);
export type NewEarlyPayoff = Static<typeof NewEarlyPayoff>;

const EarlyPayoff = Type.Object(
  {
    discountBasisPoints,
    until: Nullable({ ...DateText, description: lastDayOfOffer }),
    minDues: Type.Integer(minDues),
  },
  { title: 'EarlyPayoff', description: OFFER },
);

export const NewPayPlan = Type.Object(
  {
    name: Text(200),
    productId: Type.Optional(Nullable(Id)),
    deposit: AmountFromZero,
    price: Type.Optional({
      ...AmountAboveZero,
      description:
        'The whole price, including the deposit. With a price, give either instalmentCount or instalmentAmount; the last instalment takes the rest. Without a price, give both, and all instalments are equal.',
    }),
    instalmentAmount: Type.Optional({
      ...AmountAboveZero,
      description: 'The amount of each instalment. With a price: a multiple of roundingUnit.',
    }),
    instalmentCount: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_INSTALMENTS,
        description:
          'With a price: (price − deposit) / instalmentCount is rounded up to roundingUnit, so there can be fewer instalments.',
      }),
    ),
    roundingUnit: Type.Optional({
      ...AmountAboveZero,
      description: 'Instalments that are computed from a price are multiples of this amount. Default: 1.',
    }),
    frequency: Type.Optional(Choice('Frequency', FREQUENCIES, { description: 'Required without harvest.' })),
    harvest: Type.Optional(NewHarvest),
    every: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 365,
        description: 'The number of days, weeks or months from one instalment to the next. Default: 1.',
      }),
    ),
    monthsWithoutDues: Type.Optional(
      Type.Array(Type.Integer({ minimum: 1, maximum: 12 }), {
        maxItems: 10,
        uniqueItems: true,
        description:
          'Months (1 is January) in which no instalment is due. The plan then ends later. Default: none.',
      }),
    ),
    graceDays: Type.Optional(Type.Integer({ minimum: 0, maximum: 365, description: 'Default: 0.' })),
    autoSuspend: Type.Optional(Type.Boolean()),
    active: Type.Optional(Type.Boolean()),
    earlyPayoff: Type.Optional(Nullable(NewEarlyPayoff)),
  },
  {
    title: 'NewPayPlan',
    examples: [
      {
        name: 'Weekly, half a year',
        productId: null,
        deposit: 3000,
        instalmentAmount: 850,
        instalmentCount: 26,
        frequency: 'weekly',
        graceDays: 7,
        autoSuspend: false,
        active: true,
        earlyPayoff: { discountBasisPoints: 1000, until: '2027-06-30', minDues: 2 },
      },
      {
        name: 'Monthly without the hungry months',
        price: 48000,
        deposit: 6000,
        instalmentCount: 18,
        roundingUnit: 50,
        frequency: 'monthly',
        monthsWithoutDues: [5, 6],
        graceDays: 14,
      },
      {
        name: 'Pump, two harvests a year',
        price: 60000,
        deposit: 6000,
        roundingUnit: 100,
        harvest: {
          entries: [
            { month: 3, day: 15, shareBasisPoints: 6000 },
            { month: 9, day: 30, shareBasisPoints: 4000 },
          ],
          cycles: 2,
          leadDays: 60,
        },
        graceDays: 30,
      },
    ],
  },
);
export type NewPayPlan = Static<typeof NewPayPlan>;

/**
 * Does not contain the terms of a plan: they cannot be changed, because accounts were opened with them. What the plan offers for an early
 * payoff is no term that accounts copy.
 */
export const PayPlanChanges = Type.Object(
  {
    name: Type.Optional(Text(200)),
    active: Type.Optional(Type.Boolean()),
    autoSuspend: Type.Optional(Type.Boolean()),
    earlyPayoff: Type.Optional(Nullable(NewEarlyPayoff)),
  },
  {
    minProperties: 1,
    title: 'PayPlanChanges',
    examples: [
      { name: 'Daily, one year (closed)', active: false },
      { earlyPayoff: { discountBasisPoints: 1000, until: null } },
    ],
  },
);
export type PayPlanChanges = Static<typeof PayPlanChanges>;

export const PayPlanQuery = Type.Object({
  activationDate: Type.Optional({
    ...EntryDate,
    description: 'The date for `dates`. Default: today.',
    examples: ['2026-11-02'],
  }),
});

export const PayPlan = Type.Object(
  {
    id: Id,
    name: Type.String(),
    productId: Nullable(
      Type.Integer({ description: 'The product that the plan is for. Null for any product.' }),
    ),
    deposit: Money,
    price: Nullable(
      Type.Number({ description: 'The price from which the instalments are computed. Null: all are equal.' }),
    ),
    instalmentAmount: {
      ...Money,
      description: 'Each instalment; the last one can be lower. For a harvest plan: the first instalment.',
    },
    instalmentCount: Type.Integer({
      description: 'As it was given. With a price, there can be fewer instalments, see dueCount.',
    }),
    roundingUnit: Nullable(Type.Number({ description: 'Null for a plan without a price.' })),
    frequency: Choice('Frequency', FREQUENCIES),
    every: Type.Integer({
      description: 'The number of days, weeks or months from one instalment to the next.',
    }),
    monthsWithoutDues: Type.Array(Type.Integer(), {
      description: 'Months in which no instalment is due.',
    }),
    harvest: Nullable(Harvest),
    dueCount: Type.Integer({ description: 'The number of instalments that an account gets.' }),
    lastInstalmentAmount: Money,
    hasEqualInstalments: Type.Boolean({
      description:
        'Whether all instalments are instalmentAmount, the first one period (`frequency`) after the activation date.',
    }),
    total: { ...Money, description: 'The whole price: the sum of the deposit and all instalments.' },
    graceDays: Type.Integer(),
    autoSuspend: Type.Boolean(),
    active: Type.Boolean(),
    earlyPayoff: Nullable(EarlyPayoff),
    createdAt: Timestamp,
    updatedAt: Timestamp,
    dates: Type.Object(
      { activationDate: DateText, firstInstalment: DateText, lastInstalment: DateText },
      {
        title: 'PayPlanDates',
        description: 'When the instalments of an account are due that is activated on this date.',
      },
    ),
  },
  {
    title: 'PayPlan',
    examples: [
      {
        id: 2,
        name: 'Weekly, one year',
        productId: null,
        deposit: 2000,
        price: null,
        instalmentAmount: 400,
        instalmentCount: 52,
        roundingUnit: null,
        frequency: 'weekly',
        every: 1,
        monthsWithoutDues: [],
        harvest: null,
        dueCount: 52,
        lastInstalmentAmount: 400,
        hasEqualInstalments: true,
        total: 22800,
        graceDays: 7,
        autoSuspend: false,
        active: true,
        earlyPayoff: null,
        createdAt: '2026-11-02T08:15:30.000Z',
        updatedAt: '2026-11-02T08:15:30.000Z',
        dates: {
          activationDate: '2026-11-02',
          firstInstalment: '2026-11-09',
          lastInstalment: '2027-11-01',
        },
      },
    ],
  },
);

export const FirstDueDate = {
  ...EntryDate,
  description: `The date of the first instalment: after the activation date, at most ${MAX_MONTHS_TO_FIRST_DUE} months after it, and in a month in which the pay plan has instalments. The others follow from this date. Default: one period of the pay plan after the activation date. A harvest plan has its own dates.`,
};

/** The terms of a sale that a preview shows. */
export const PayPlanSale = Type.Object(
  {
    activationDate: Type.Optional({ ...EntryDate, description: 'Default: today.' }),
    firstDueDate: Type.Optional(FirstDueDate),
  },
  {
    title: 'PayPlanSale',
    examples: [{ activationDate: '2026-11-02', firstDueDate: '2026-11-30' }, {}],
  },
);

export const PayPlanPreview = Type.Object(
  {
    payplanId: Id,
    currency: Type.String(),
    activationDate: DateText,
    total: { ...Money, description: 'The sum of the deposit and all instalments.' },
    deposit: { ...Money, description: 'Due on the activation date.' },
    dueCount: Type.Integer({ description: 'The number of instalments.' }),
    firstDueDate: { ...DateText, description: 'The date of the first instalment.' },
    lastDueDate: { ...DateText, description: 'The date of the last instalment.' },
    hasEqualInstalments: Type.Boolean({
      description: 'Whether all instalments are equal, the first one period after the activation date.',
    }),
    items: Type.Array(
      Type.Object(
        {
          number: Type.Integer({ description: '0 for the deposit, 1 for the first instalment.' }),
          dueDate: DateText,
          amount: Money,
        },
        { title: 'PreviewedItem' },
      ),
      { description: 'The deposit, unless it is 0, and all instalments.' },
    ),
    runs: Type.Array(
      Type.Object(
        {
          firstItem: Type.Integer(),
          lastItem: Type.Integer(),
          firstDueDate: DateText,
          lastDueDate: DateText,
          count: Type.Integer({ description: 'The number of instalments of the run.' }),
          instalmentAmount: { ...Money, description: 'The amount of each of them.' },
        },
        { title: 'PreviewedRun' },
      ),
      {
        description:
          'The same instalments, with those of one amount and one rhythm in one run. A month without instalments begins a new run.',
      },
    ),
  },
  {
    title: 'PayPlanPreview',
    examples: [
      {
        ...{ payplanId: 4, currency: 'KES', activationDate: '2026-11-02', total: 2000, deposit: 500 },
        ...{ dueCount: 3, firstDueDate: '2026-11-30', lastDueDate: '2027-01-30', hasEqualInstalments: false },
        items: [
          { number: 0, dueDate: '2026-11-02', amount: 500 },
          { number: 1, dueDate: '2026-11-30', amount: 600 },
          { number: 2, dueDate: '2026-12-30', amount: 600 },
          { number: 3, dueDate: '2027-01-30', amount: 300 },
        ],
        runs: [
          {
            ...{ firstItem: 1, lastItem: 2, firstDueDate: '2026-11-30', lastDueDate: '2026-12-30' },
            ...{ count: 2, instalmentAmount: 600 },
          },
          {
            ...{ firstItem: 3, lastItem: 3, firstDueDate: '2027-01-30', lastDueDate: '2027-01-30' },
            ...{ count: 1, instalmentAmount: 300 },
          },
        ],
      },
    ],
  },
);

export const payPlanList = defineList(
  {
    id: { kind: 'id', column: 'p.id' },
    name: { kind: 'text', column: 'p.name' },
    productId: { kind: 'id', column: 'p.product_id', nullable: true },
    frequency: { kind: 'enum', column: 'p.frequency', values: FREQUENCIES },
    active: { kind: 'boolean', column: 'p.active' },
    createdAt: { kind: 'timestamp', column: 'p.created_at' },
    updatedAt: { kind: 'timestamp', column: 'p.updated_at' },
  },
  PayPlanQuery.properties,
);
