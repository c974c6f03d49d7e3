import { type Selectable, sql } from 'kysely';
import type { Db, Tx } from '../../core/database/db.ts';
import { violatedForeignKey, violatedUnique } from '../../core/database/postgres-errors.ts';
import type { Frequency, PayPlans } from '../../core/database/tables.ts';
import { type AppError, duplicate, notFound } from '../../core/http/errors.ts';
import { fetchPage } from '../../core/lists/page.ts';
import type { ListPlan } from '../../core/lists/query.ts';
import type { Minor } from '../../core/values/money.ts';
import { type EarlyPayoff, earlyPayoffColumns, type Harvest, harvestColumns } from './rules.ts';

export type PayPlanRow = Selectable<PayPlans>;

interface PayPlanFields {
  name: string;
  productId: number | null;
  depositMinor: Minor;
  priceMinor: Minor | null;
  instalmentMinor: Minor;
  instalmentCount: number;
  roundingMinor: Minor | null;
  frequency: Frequency;
  every: number;
  monthsWithoutDues: number[];
  harvest: Harvest | null;
  graceDays: number;
  autoSuspend: boolean;
  active: boolean;
  earlyPayoff: EarlyPayoff | null;
}

/** @throws AppError DUPLICATE_ENTRY if the name is taken, NOT_FOUND for an unknown product. */
export async function insertPayPlan(tx: Tx, fields: PayPlanFields): Promise<PayPlanRow> {
  try {
    return await tx
      .insertInto('pay_plans')
      .values({
        name: fields.name,
        product_id: fields.productId,
        deposit_minor: fields.depositMinor,
        price_minor: fields.priceMinor,
        instalment_minor: fields.instalmentMinor,
        instalment_count: fields.instalmentCount,
        rounding_minor: fields.roundingMinor,
        frequency: fields.frequency,
        every: fields.every,
        months_without_dues: fields.monthsWithoutDues,
        ...harvestColumns(fields.harvest),
        grace_days: fields.graceDays,
        auto_suspend: fields.autoSuspend,
        active: fields.active,
        ...earlyPayoffColumns(fields.earlyPayoff),
      })
      .returningAll()
      .executeTakeFirstOrThrow();
  } catch (error) {
    if (violatedUnique(error)) throw nameTaken(fields.name);
    if (violatedForeignKey(error)) throw notFound('product', fields.productId, 'productId');
    throw error;
  }
}

export function lockPayPlan(tx: Tx, id: number): Promise<PayPlanRow | undefined> {
  return tx.selectFrom('pay_plans').selectAll().where('id', '=', id).forUpdate().executeTakeFirst();
}

/** @throws AppError DUPLICATE_ENTRY if the name is taken. */
export async function updatePayPlan(
  tx: Tx,
  id: number,
  changes: { name?: string; active?: boolean; autoSuspend?: boolean; earlyPayoff?: EarlyPayoff | null },
): Promise<PayPlanRow> {
  const { autoSuspend, earlyPayoff, ...others } = changes;
  return tx
    .updateTable('pay_plans')
    .set({
      ...others,
      ...(autoSuspend !== undefined && { auto_suspend: autoSuspend }),
      ...(earlyPayoff !== undefined && earlyPayoffColumns(earlyPayoff)),
      updated_at: sql`business_now()`,
    })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
    .catch((error: unknown) => {
      throw violatedUnique(error) && changes.name !== undefined ? nameTaken(changes.name) : error;
    });
}

function nameTaken(name: string): AppError {
  return duplicate('payplan', 'name', sql`select id from pay_plans where name = ${name}`);
}

export async function findAutoSuspendPlanIds(db: Db): Promise<number[]> {
  const rows = await db
    .selectFrom('pay_plans')
    .select('id')
    .where('auto_suspend', '=', true)
    .orderBy('id')
    .execute();
  return rows.map(({ id }) => id);
}

export function listPayPlans(db: Db, plan: ListPlan) {
  return fetchPage<PayPlanRow>(db, plan, {
    select: sql`select p.* from pay_plans p`,
    from: sql`from pay_plans p`,
  });
}

export function findPayPlanRow(db: Db, id: number): Promise<PayPlanRow | undefined> {
  return db.selectFrom('pay_plans').selectAll().where('id', '=', id).executeTakeFirst();
}
