import { type Selectable, sql } from 'kysely';
import { amountOf, type Currency } from '../core/context.ts';
import type { Db } from '../core/db.ts';
import { fetchPage, type ListPlan } from '../core/list-query.ts';
import type { Products } from '../core/tables.ts';

type ProductRow = Selectable<Products>;

export async function listProducts(
  db: Db,
  currency: Currency,
  plan: ListPlan,
  { category, active }: { category?: string; active?: boolean },
) {
  const where = [
    ...(category === undefined ? [] : [sql<boolean>`p.category = ${category}`]),
    ...(active === undefined ? [] : [sql<boolean>`p.active = ${active}`]),
  ];
  const page = await fetchPage<ProductRow>(db, plan, {
    select: sql`select p.* from products p`,
    from: sql`from products p`,
    where,
  });
  return { ...page, rows: page.rows.map((row) => toProduct(row, currency)) };
}

export async function findProduct(db: Db, currency: Currency, id: number) {
  const row = await db.selectFrom('products').selectAll().where('id', '=', id).executeTakeFirst();
  return row && toProduct(row, currency);
}

function toProduct(row: ProductRow, currency: Currency) {
  return {
    id: row.id,
    sku: row.sku,
    name: row.name,
    category: row.category,
    description: row.description,
    price: amountOf(row.price_minor, currency),
    currency: currency.code,
    active: row.active,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  };
}
