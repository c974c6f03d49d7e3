import { type Selectable, sql } from 'kysely';
import { amountOf, type Currency } from '../core/context.ts';
import { type Db, type Tx, violatedForeignKey, violatedUnique } from '../core/database/db.ts';
import type { ProductConfigurations, Products } from '../core/database/tables.ts';
import { type AppError, duplicate, notFound } from '../core/http/errors.ts';
import { fetchPage } from '../core/lists/page.ts';
import type { ListPlan } from '../core/lists/query.ts';
import type { Minor } from '../core/values/money.ts';

type ProductRow = Selectable<Products>;
type ConfigurationRow = Selectable<ProductConfigurations>;

interface ProductFields {
  sku: string;
  name: string;
  category: string;
  description: string;
  priceMinor: Minor;
  active: boolean;
}

/** @throws AppError DUPLICATE_ENTRY when the sku is taken. */
export async function insertProduct(tx: Tx, currency: Currency, fields: ProductFields) {
  const row = await tx
    .insertInto('products')
    .values(columnsOf(fields))
    .returningAll()
    .executeTakeFirstOrThrow()
    .catch((error: unknown) => {
      throw violatedUnique(error) === 'products_sku_unique' ? skuTaken(fields.sku) : error;
    });
  return toProduct(row, currency);
}

/** @throws AppError DUPLICATE_ENTRY when the sku is taken. */
export async function updateProduct(tx: Tx, currency: Currency, id: number, fields: ProductFields) {
  const row = await tx
    .updateTable('products')
    .set({ ...columnsOf(fields), updated_at: sql`business_now()` })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
    .catch((error: unknown) => {
      throw violatedUnique(error) === 'products_sku_unique' ? skuTaken(fields.sku) : error;
    });
  return toProduct(row, currency);
}

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

export async function hasProducts(db: Db): Promise<boolean> {
  const row = await db.selectFrom('products').select('id').limit(1).executeTakeFirst();
  return row !== undefined;
}

export function lockProductRow(tx: Tx, id: number): Promise<ProductRow | undefined> {
  return tx.selectFrom('products').selectAll().where('id', '=', id).forUpdate().executeTakeFirst();
}

interface ConfigurationFields {
  productId: number;
  name: string;
  attributes: Record<string, unknown>;
  priceMinor: Minor | null;
  isDefault: boolean;
}

/** @throws AppError DUPLICATE_ENTRY for a second configuration of this name, NOT_FOUND for an unknown product. */
export async function insertConfiguration(tx: Tx, currency: Currency, fields: ConfigurationFields) {
  try {
    const row = await tx
      .insertInto('product_configurations')
      .values({
        product_id: fields.productId,
        name: fields.name,
        attributes: JSON.stringify(fields.attributes),
        price_minor: fields.priceMinor,
        is_default: fields.isDefault,
      })
      .returningAll()
      .executeTakeFirstOrThrow();
    return toConfiguration(row, currency);
  } catch (error) {
    if (violatedUnique(error)) throw configurationTaken(fields);
    if (violatedForeignKey(error)) throw notFound('product', fields.productId);
    throw error;
  }
}

function configurationTaken({ productId, name }: ConfigurationFields): AppError {
  const existing = sql<{ id: number }>`
    select id from product_configurations where product_id = ${productId} and name = ${name}`;
  return duplicate('configuration', 'name', existing);
}

/**
 * Makes room for another default; the id of the configuration that was it.
 * The product's row lock lets one new default at a time through.
 */
export async function clearDefault(tx: Tx, productId: number): Promise<number | undefined> {
  await lockProductRow(tx, productId);
  const cleared = await tx
    .updateTable('product_configurations')
    .set({ is_default: false, updated_at: sql`business_now()` })
    .where('product_id', '=', productId)
    .where('is_default', '=', true)
    .returning('id')
    .executeTakeFirst();
  return cleared?.id;
}

export async function listConfigurations(db: Db, currency: Currency, plan: ListPlan, productId: number) {
  const page = await fetchPage<ConfigurationRow>(db, plan, {
    select: sql`select c.* from product_configurations c`,
    from: sql`from product_configurations c`,
    where: [sql<boolean>`c.product_id = ${productId}`],
  });
  return { ...page, rows: page.rows.map((row) => toConfiguration(row, currency)) };
}

function columnsOf(fields: ProductFields) {
  return {
    sku: fields.sku,
    name: fields.name,
    category: fields.category,
    description: fields.description,
    price_minor: fields.priceMinor,
    active: fields.active,
  };
}

function skuTaken(sku: string): AppError {
  return duplicate('product', 'sku', sql`select id from products where sku = ${sku}`);
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
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

function toConfiguration(row: ConfigurationRow, currency: Currency) {
  return {
    id: row.id,
    productId: row.product_id,
    name: row.name,
    attributes: row.attributes as Record<string, unknown>,
    price: row.price_minor === null ? null : amountOf(row.price_minor, currency),
    currency: currency.code,
    isDefault: row.is_default,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
