import { type Static, Type } from 'typebox';
import type { Frequency, PlanChangeKind } from '../../core/database/tables.ts';
import { Choice, DateText, Money, Nullable } from '../../core/http/fields.ts';

/** The kinds of changes of a plan that staff can ask for. */
export const REQUESTED_KINDS = [
  'deferral',
  'revision',
  'discount',
  'price_correction',
  'price_rise',
  'sale_correction',
  'undo',
] as const satisfies readonly PlanChangeKind[];

/** What happens to instalments that are due and not paid. */
export const ARREARS_CHOICES = ['stay', 'behind', 'move'] as const;

/**
 * A requested change of a plan, as its approver reads it: the request without its confirmation. `accounts/plan-changes/` checks and stores
 * the request. It imports this feature, so this schema repeats its fields. A test compares them.
 */
export const RequestedPlanChange = Type.Object(
  {
    kind: Choice('NewPlanChangeKind', REQUESTED_KINDS),
    from: Type.Optional(DateText),
    periods: Type.Optional(Type.Integer()),
    days: Type.Optional(Type.Integer()),
    arrears: Type.Optional(Choice('ArrearsOfPlanChange', ARREARS_CHOICES)),
    firstDueDate: Type.Optional(DateText),
    instalmentCount: Type.Optional(Type.Integer()),
    instalmentAmount: Type.Optional(Money),
    frequency: Type.Optional(Choice('Frequency', ['daily', 'weekly', 'monthly'] satisfies Frequency[])),
    every: Type.Optional(Type.Integer()),
    monthsWithoutDues: Type.Optional(Type.Array(Type.Integer())),
    harvest: Type.Optional(
      Type.Object(
        {
          entries: Type.Array(
            Type.Object(
              { month: Type.Integer(), day: Type.Integer(), shareBasisPoints: Type.Integer() },
              { title: 'RequestedHarvestEntry' },
            ),
          ),
          cycles: Type.Integer(),
          leadDays: Type.Integer(),
        },
        { title: 'RequestedHarvest' },
      ),
    ),
    amount: Type.Optional(Money),
    consent: Type.Optional(Type.String()),
    dues: Type.Optional(
      Type.Array(Type.Object({ date: DateText, amount: Money }, { title: 'RequestedDue' })),
    ),
    payplanId: Type.Optional(Type.Integer()),
    payplanName: Nullable(
      Type.String({ description: 'For a sale correction: the pay plan that was meant.' }),
    ),
    reason: Type.Optional(Type.String()),
    reasonCode: Type.Optional(Type.String()),
  },
  {
    title: 'RequestedPlanChange',
    description:
      'For a change of the plan: the body of the request, without `confirm`. Sent to `POST /accounts/{id}/plan-changes` without `payplanName`, it shows the present effect.',
  },
);
export type RequestedPlanChange = Static<typeof RequestedPlanChange>;
