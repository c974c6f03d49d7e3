import { sql } from 'kysely';
import type { Db, Tx } from '../../core/database/db.ts';
import { violatedUnique } from '../../core/database/postgres-errors.ts';
import { duplicate } from '../../core/http/errors.ts';
import { columnList, fetchPage } from '../../core/lists/page.ts';
import type { ListPlan } from '../../core/lists/query.ts';
import type { PaymentMethod } from './schema.ts';

/** A payment method without what the caller may do with it. */
export type PaymentMethodRow = Omit<PaymentMethod, 'recordableFrom'>;

/** The code of the payment method for mobile money. */
export const MOBILE_MONEY = 'mobile_money';

const METHOD = [
  'id',
  'code',
  'name',
  'active',
  'cash',
  'created_at as createdAt',
  'updated_at as updatedAt',
] as const;

/** @throws AppError DUPLICATE_ENTRY if the code is taken. */
export function insertPaymentMethod(
  tx: Tx,
  fields: { code: string; name: string; active: boolean; cash: boolean },
) {
  return tx
    .insertInto('payment_methods')
    .values(fields)
    .returning(METHOD)
    .executeTakeFirstOrThrow()
    .catch((error: unknown) => {
      const existing = sql<{ id: number }>`select id from payment_methods where code = ${fields.code}`;
      throw violatedUnique(error) ? duplicate('payment_method', 'code', existing) : error;
    });
}

export function updatePaymentMethod(
  tx: Tx,
  id: number,
  changes: { name?: string; active?: boolean; cash?: boolean },
): Promise<PaymentMethodRow> {
  return tx
    .updateTable('payment_methods')
    .set({ ...changes, updated_at: sql`business_now()` })
    .where('id', '=', id)
    .returning(METHOD)
    .executeTakeFirstOrThrow();
}

export function lockPaymentMethod(tx: Tx, id: number): Promise<PaymentMethodRow | undefined> {
  return tx.selectFrom('payment_methods').select(METHOD).where('id', '=', id).forUpdate().executeTakeFirst();
}

/** Whether somebody has counted cash of the method. The transaction has locked the method, so nobody starts to count meanwhile. */
export async function hasCashHolder(tx: Tx, id: number): Promise<boolean> {
  const { rows } = await sql<{ found: boolean }>`
    select exists (select from cash_holders where payment_method_id = ${id}) as found`.execute(tx);
  return rows[0]?.found ?? false;
}

export function listPaymentMethods(db: Db, plan: ListPlan) {
  return fetchPage<PaymentMethodRow>(db, plan, {
    select: sql`select ${columnList(METHOD)} from payment_methods m`,
    from: sql`from payment_methods m`,
  });
}

export function findPaymentMethodRow(db: Db, id: number): Promise<PaymentMethodRow | undefined> {
  return db.selectFrom('payment_methods').select(METHOD).where('id', '=', id).executeTakeFirst();
}

/** @throws Error for a code that no payment method has. */
export async function getMethodId(db: Db, code: string): Promise<number> {
  const method = await db
    .selectFrom('payment_methods')
    .select('id')
    .where('code', '=', code)
    .executeTakeFirst();
  if (!method) throw new Error(`The catalogue has no payment method ${code}.`);
  return method.id;
}

export function findMethodNames(db: Db) {
  return db.selectFrom('payment_methods').select(['id', 'name']).execute();
}
