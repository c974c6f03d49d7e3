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

export const FREQUENCIES = ['daily', 'weekly', 'monthly'] as const satisfies Frequency[];

export const NewPayPlan = Type.Object(
  {
    name: Text(200),
    productId: Type.Optional(Nullable(Id)),
    deposit: AmountFromZero,
    instalmentAmount: AmountAboveZero,
    instalmentCount: Type.Integer({ minimum: 1, maximum: 10_000 }),
    frequency: Choice('Frequency', FREQUENCIES),
    graceDays: Type.Optional(Type.Integer({ minimum: 0, maximum: 365, description: 'Default: 0.' })),
    autoSuspend: Type.Optional(Type.Boolean()),
    active: Type.Optional(Type.Boolean()),
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
      },
    ],
  },
);
export type NewPayPlan = Static<typeof NewPayPlan>;

/** Does not contain the terms of a plan: they cannot be changed, because accounts were opened with them. */
export const PayPlanChanges = Type.Object(
  {
    name: Type.Optional(Text(200)),
    active: Type.Optional(Type.Boolean()),
    autoSuspend: Type.Optional(Type.Boolean()),
  },
  {
    minProperties: 1,
    title: 'PayPlanChanges',
    examples: [{ name: 'Daily, one year (closed)', active: false }],
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
    instalmentAmount: Money,
    instalmentCount: Type.Integer(),
    frequency: Choice('Frequency', FREQUENCIES),
    total: { ...Money, description: 'The sum of the deposit and all instalments.' },
    graceDays: Type.Integer(),
    autoSuspend: Type.Boolean(),
    active: Type.Boolean(),
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
        instalmentAmount: 400,
        instalmentCount: 52,
        frequency: 'weekly',
        total: 22800,
        graceDays: 7,
        autoSuspend: false,
        active: true,
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
