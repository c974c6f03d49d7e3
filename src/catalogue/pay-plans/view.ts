import { amountOf, type Currency } from '../../core/context.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import { areEqualInstalments, dueCountOf, endsOf, priceOf, runsOfPlan, shapeOf } from './rules.ts';
import type { PayPlanRow } from './store.ts';

/** @param activationDate - of the account whose dates are shown. */
export function toPayPlan(row: PayPlanRow, currency: Currency, activationDate: PlainDate) {
  const shape = shapeOf(row);
  const runs = runsOfPlan(shape, activationDate);
  const { first, last, firstMinor, lastMinor } = endsOf(runs);
  const optional = (minor: number | null) => (minor === null ? null : amountOf(minor, currency));
  return {
    id: row.id,
    name: row.name,
    productId: row.product_id,
    deposit: amountOf(row.deposit_minor, currency),
    price: optional(row.price_minor),
    instalmentAmount: amountOf(firstMinor, currency),
    instalmentCount: row.instalment_count,
    roundingUnit: optional(row.rounding_minor),
    frequency: row.frequency,
    every: row.every,
    monthsWithoutDues: row.months_without_dues,
    harvest: shape.harvest,
    dueCount: dueCountOf(shape),
    lastInstalmentAmount: amountOf(lastMinor, currency),
    hasEqualInstalments: areEqualInstalments(runs, { frequency: row.frequency, activationDate }),
    total: amountOf(priceOf(shape), currency),
    graceDays: row.grace_days,
    autoSuspend: row.auto_suspend,
    active: row.active,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    dates: { activationDate, firstInstalment: first, lastInstalment: last },
  };
}
