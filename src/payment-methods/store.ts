import { type Selectable, sql } from 'kysely';
import { type Db, type Tx, violatedUnique } from '../core/database/db.ts';
import type { PaymentMethods } from '../core/database/tables.ts';
import { duplicate } from '../core/http/errors.ts';
import { fetchPage } from '../core/lists/page.ts';
import type { ListPlan } from '../core/lists/query.ts';

export type PaymentMethodRow = Selectable<PaymentMethods>;

/** The code of the method that the provider's notifications are booked under. */
export const MOBILE_MONEY = 'mobile_money';

/** @throws AppError DUPLICATE_ENTRY when the code is taken. */
export async function insertPaymentMethod(tx: Tx, fields: { code: string; name: string; active: boolean }) {
  const row = await tx
    .insertInto('payment_methods')
    .values(fields)
    .returningAll()
    .executeTakeFirstOrThrow()
    .catch((error: unknown) => {
      const existing = sql<{ id: number }>`select id from payment_methods where code = ${fields.code}`;
      throw violatedUnique(error) ? duplicate('payment_method', 'code', existing) : error;
    });
  return toPaymentMethod(row);
}

/** Changes a method that the transaction has locked. */
export async function updatePaymentMethod(tx: Tx, id: number, changes: { name?: string; active?: boolean }) {
  const row = await tx
    .updateTable('payment_methods')
    .set({ ...changes, updated_at: sql`business_now()` })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();
  return toPaymentMethod(row);
}

export function lockPaymentMethod(tx: Tx, id: number): Promise<PaymentMethodRow | undefined> {
  return tx.selectFrom('payment_methods').selectAll().where('id', '=', id).forUpdate().executeTakeFirst();
}

export async function listPaymentMethods(db: Db, plan: ListPlan) {
  const page = await fetchPage<PaymentMethodRow>(db, plan, {
    select: sql`select m.* from payment_methods m`,
    from: sql`from payment_methods m`,
  });
  return { ...page, rows: page.rows.map(toPaymentMethod) };
}

export function findPaymentMethodRow(db: Db, id: number): Promise<PaymentMethodRow | undefined> {
  return db.selectFrom('payment_methods').selectAll().where('id', '=', id).executeTakeFirst();
}

/** The method of a code that every catalogue has. */
export async function getMethodId(db: Db, code: string): Promise<number> {
  const method = await db
    .selectFrom('payment_methods')
    .select('id')
    .where('code', '=', code)
    .executeTakeFirst();
  if (!method) throw new Error(`The catalogue has no payment method ${code}.`);
  return method.id;
}

function toPaymentMethod(row: PaymentMethodRow) {
  return {
    id: row.id,
    code: row.code,
    name: row.name,
    active: row.active,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
