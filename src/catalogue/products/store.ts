import { type Selectable, sql } from 'kysely';
import type { Db, Tx } from '../../core/database/db.ts';
import { violatedForeignKey, violatedUnique } from '../../core/database/postgres-errors.ts';
import { lookUp } from '../../core/database/statements.ts';
import type { ProductConfigurations } from '../../core/database/tables.ts';
import { columnsOf, rowOf, type ValuesOf } from '../../core/declared-fields.ts';
import { duplicate, notFound } from '../../core/http/errors.ts';
import { type ExternalValues, takenExternalId } from '../../core/http/external-ids.ts';
import { columnList, fetchPage } from '../../core/lists/page.ts';
import type { ListPlan } from '../../core/lists/query.ts';
import type { Minor } from '../../core/values/money.ts';
import { type ExpandedProduct, productFields } from './schema.ts';

export type ProductRow = Awaited<ReturnType<typeof insertProduct>>;
export type ConfigurationRow = Selectable<ProductConfigurations>;

const PRODUCT = [
  'id',
  ...columnsOf(productFields),
  'price_minor as priceMinor',
  'external_id as externalId',
  'metadata',
  'created_at as createdAt',
  'updated_at as updatedAt',
] as const;

type ProductFields = ValuesOf<typeof productFields> & ExternalValues & { priceMinor: Minor };

/** @throws AppError DUPLICATE_ENTRY when the sku or the external id is taken. */
export function insertProduct(tx: Tx, fields: ProductFields) {
  const { priceMinor, metadata, externalId } = fields;
  return tx
    .insertInto('products')
    .values({
      ...rowOf(productFields, fields),
      price_minor: priceMinor,
      metadata,
      external_id: externalId ?? null,
    })
    .returning(PRODUCT)
    .executeTakeFirstOrThrow()
    .catch(refuseTaken(fields.sku, externalId));
}

/** @throws AppError DUPLICATE_ENTRY when the sku or the external id is taken. */
export function updateProduct(tx: Tx, id: number, changes: Partial<ProductFields>): Promise<ProductRow> {
  const { priceMinor, metadata, externalId } = changes;
  return tx
    .updateTable('products')
    .set({
      ...rowOf(productFields, changes),
      price_minor: priceMinor,
      metadata,
      external_id: externalId,
      updated_at: sql`business_now()`,
    })
    .where('id', '=', id)
    .returning(PRODUCT)
    .executeTakeFirstOrThrow()
    .catch(refuseTaken(changes.sku, externalId));
}

export function listProducts(db: Db, query: ListPlan & { category?: string; active?: boolean }) {
  const { category, active } = query;
  const where = [
    ...(category === undefined ? [] : [sql<boolean>`p.category = ${category}`]),
    ...(active === undefined ? [] : [sql<boolean>`p.active = ${active}`]),
  ];
  return fetchPage<ProductRow>(db, query, {
    select: sql`select ${columnList(PRODUCT)} from products p`,
    from: sql`from products p`,
    where,
  });
}

export function findProduct(db: Db, id: number): Promise<ProductRow | undefined> {
  return db.selectFrom('products').select(PRODUCT).where('id', '=', id).executeTakeFirst();
}

export async function findExpandedProducts(
  db: Db,
  ids: readonly number[],
): Promise<ReadonlyMap<number, ExpandedProduct>> {
  const rows = await lookUp(
    db,
    sql<ExpandedProduct>`select id, name from products where id = any(${ids}::bigint[])`,
  );
  return new Map(rows.map((row) => [row.id, row]));
}

export async function hasProducts(db: Db): Promise<boolean> {
  const row = await db.selectFrom('products').select('id').limit(1).executeTakeFirst();
  return row !== undefined;
}

export function lockProduct(tx: Tx, id: number): Promise<ProductRow | undefined> {
  return tx.selectFrom('products').select(PRODUCT).where('id', '=', id).forNoKeyUpdate().executeTakeFirst();
}

interface ConfigurationFields {
  productId: number;
  name: string;
  attributes: Record<string, unknown>;
  priceMinor: Minor | null;
  isDefault: boolean;
}

/** @throws AppError DUPLICATE_ENTRY if the product has a configuration with this name, NOT_FOUND for an unknown product. */
export async function insertConfiguration(tx: Tx, fields: ConfigurationFields): Promise<ConfigurationRow> {
  try {
    return await tx
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
  } catch (error) {
    const { productId, name } = fields;
    const existing = sql<{ id: number }>`
      select id from product_configurations where product_id = ${productId} and name = ${name}`;
    if (violatedUnique(error)) throw duplicate('configuration', 'name', existing);
    if (violatedForeignKey(error)) throw notFound('product', productId);
    throw error;
  }
}

/**
 * If a product has a default configuration, makes it an ordinary configuration and returns its id. The lock on the product
 * serializes changes of the default.
 */
export async function clearDefault(tx: Tx, productId: number): Promise<number | undefined> {
  await lockProduct(tx, productId);
  const cleared = await tx
    .updateTable('product_configurations')
    .set({ is_default: false, updated_at: sql`business_now()` })
    .where('product_id', '=', productId)
    .where('is_default', '=', true)
    .returning('id')
    .executeTakeFirst();
  return cleared?.id;
}

export function listConfigurations(db: Db, plan: ListPlan, productId: number) {
  return fetchPage<ConfigurationRow>(db, plan, {
    select: sql`select c.* from product_configurations c`,
    from: sql`from product_configurations c`,
    where: [sql<boolean>`c.product_id = ${productId}`],
  });
}

function refuseTaken(sku: string | undefined, externalId: string | null | undefined) {
  return (error: unknown): never => {
    const existing = sql<{ id: number }>`select id from products where sku = ${sku}`;
    if (violatedUnique(error) === 'products_sku_unique') throw duplicate('product', 'sku', existing);
    throw takenExternalId(error, 'product', externalId) ?? error;
  };
}
