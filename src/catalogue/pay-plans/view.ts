import { amountOf, type Currency } from '../../core/context.ts';
import type { PayPlanRow } from './store.ts';

export function toPayPlan(row: PayPlanRow, currency: Currency) {
  return {
    id: row.id,
    name: row.name,
    productId: row.product_id,
    deposit: amountOf(row.deposit_minor, currency),
    instalmentAmount: amountOf(row.instalment_minor, currency),
    instalmentCount: row.instalment_count,
    frequency: row.frequency,
    graceDays: row.grace_days,
    autoSuspend: row.auto_suspend,
    active: row.active,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
