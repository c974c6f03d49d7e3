import { amountOf, type Currency } from '../../core/context.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import { dueDate, totalMinor } from './rules.ts';
import type { PayPlanRow } from './store.ts';

/** @param activationDate - of the account whose dates are shown. */
export function toPayPlan(row: PayPlanRow, currency: Currency, activationDate: PlainDate) {
  const terms = {
    depositMinor: BigInt(row.deposit_minor),
    instalmentMinor: BigInt(row.instalment_minor),
    instalmentCount: row.instalment_count,
    frequency: row.frequency,
  };
  return {
    id: row.id,
    name: row.name,
    productId: row.product_id,
    deposit: amountOf(row.deposit_minor, currency),
    instalmentAmount: amountOf(row.instalment_minor, currency),
    instalmentCount: row.instalment_count,
    frequency: row.frequency,
    total: amountOf(totalMinor(terms), currency),
    graceDays: row.grace_days,
    autoSuspend: row.auto_suspend,
    active: row.active,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    dates: {
      activationDate,
      firstInstalment: dueDate({ ...terms, activationDate }, 1),
      lastInstalment: dueDate({ ...terms, activationDate }, terms.instalmentCount),
    },
  };
}
