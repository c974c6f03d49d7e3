import { type Selectable, sql } from 'kysely';
import { amountOf, type Currency } from '../core/context.ts';
import type { Db } from '../core/db.ts';
import { fetchPage, type ListPlan } from '../core/list-query.ts';
import type { PayPlans } from '../core/tables.ts';

export type PayPlanRow = Selectable<PayPlans>;

export async function listPayPlans(db: Db, currency: Currency, plan: ListPlan) {
  const page = await fetchPage<PayPlanRow>(db, plan, {
    select: sql`select p.* from pay_plans p`,
    from: sql`from pay_plans p`,
  });
  return { ...page, rows: page.rows.map((row) => toPayPlan(row, currency)) };
}

export function findPayPlanRow(db: Db, id: number): Promise<PayPlanRow | undefined> {
  return db.selectFrom('pay_plans').selectAll().where('id', '=', id).executeTakeFirst();
}

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
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  };
}
