import { event } from '../../changes/events/change-rules.ts';
import { audit } from '../../changes/events/change-store.ts';
import { type Actor, type Context, type Currency, readAmount } from '../../core/context.ts';
import { inTransaction } from '../../core/database/transactions.ts';
import { namesWith, newValuesOf } from '../../core/declared-fields.ts';
import { invalidField, notFound } from '../../core/http/errors.ts';
import { externalFieldsOf, upsertByExternalId } from '../../core/http/external-ids.ts';
import { refuseSpreadsheetChange } from '../../core/http/validation.ts';
import { withTrimmed } from '../../core/values/text.ts';
import {
  type NewConfiguration,
  type NewProduct,
  type ProductChanges,
  type ProductUpsert,
  productFields,
} from './schema.ts';
import { clearDefault, insertConfiguration, insertProduct, lockProduct, updateProduct } from './store.ts';

/** A page of the list contains up to a hundred configurations, so each must be small. */
const MAX_ATTRIBUTES_BYTES = 16 * 1024;

export async function createProduct(context: Context, actor: Actor, sent: NewProduct) {
  const body = withTrimmed(sent, ...namesWith(productFields, 'trimmed'));
  const { currency } = context;
  checkCurrency(body.currency, currency);
  const fields = {
    ...newValuesOf(productFields, body),
    priceMinor: readAmount(body.price, currency),
    ...externalFieldsOf(body),
  };
  return inTransaction(context.db, async (tx) => {
    const product = await insertProduct(tx, fields);
    await audit(tx, actor, {
      action: 'product.create',
      resource: 'product',
      resourceId: product.id,
      after: fields,
      event: event('product.created', { priceMinor: fields.priceMinor, active: fields.active }),
    });
    return product;
  });
}

/** Changes a product. Existing accounts keep their terms. */
export async function changeProduct(context: Context, actor: Actor, id: number, sent: ProductChanges) {
  const body = withTrimmed(sent, ...namesWith(productFields, 'trimmed'));
  const { currency } = context;
  const { price, currency: given, ...others } = body;
  checkCurrency(given, currency);
  const changes = {
    ...others,
    ...externalFieldsOf(body),
    ...(price !== undefined && { priceMinor: readAmount(price, currency) }),
  };
  return inTransaction(context.db, async (tx) => {
    const before = await lockProduct(tx, id);
    if (!before) throw notFound('product', id);
    refuseSpreadsheetChange('externalId', body.externalId, before.externalId);
    const product = await updateProduct(tx, id, changes);
    await audit(tx, actor, {
      action: 'product.change',
      resource: 'product',
      resourceId: id,
      before,
      after: changes,
      event: event('product.updated', { changedFields: Object.keys(body) }),
    });
    return product;
  });
}

export function upsertProduct(context: Context, actor: Actor, externalId: string, body: ProductUpsert) {
  return upsertByExternalId(context.db, 'product', externalId, {
    create: (tx) => createProduct({ ...context, db: tx }, actor, { ...body, externalId }),
    change: (tx, id) => changeProduct({ ...context, db: tx }, actor, id, body),
  });
}

export async function createConfiguration(
  context: Context,
  actor: Actor,
  productId: number,
  sent: NewConfiguration,
) {
  const body = withTrimmed(sent, 'name');
  const { currency } = context;
  checkAttributes(body.attributes ?? {});
  const fields = {
    productId,
    name: body.name,
    attributes: body.attributes ?? {},
    priceMinor: body.price === undefined || body.price === null ? null : readAmount(body.price, currency),
    isDefault: body.isDefault ?? false,
  };
  return inTransaction(context.db, async (tx) => {
    const formerDefault = fields.isDefault ? await clearDefault(tx, productId) : undefined;
    const configuration = await insertConfiguration(tx, fields);
    const entry = { action: 'product.configuration', resource: 'product', resourceId: productId } as const;
    if (formerDefault !== undefined) {
      const before = { configurationId: formerDefault, isDefault: true };
      const after = { ...before, isDefault: false };
      const changed = event('product.configuration_updated', after);
      await audit(tx, actor, { ...entry, before, after, event: changed });
    }
    const { priceMinor, isDefault } = fields;
    const configurationId = configuration.id;
    await audit(tx, actor, {
      ...entry,
      after: { configurationId, ...fields },
      event: event('product.configuration_created', { configurationId, priceMinor, isDefault }),
    });
    return configuration;
  });
}

function checkAttributes(attributes: object): void {
  if (Buffer.byteLength(JSON.stringify(attributes)) > MAX_ATTRIBUTES_BYTES)
    throw invalidField('attributes', `must have at most ${MAX_ATTRIBUTES_BYTES} bytes in total`);
}

function checkCurrency(given: string | undefined, { code }: Currency): void {
  if (given !== undefined && given !== code)
    throw invalidField('currency', `must be ${code}, the currency of the books`);
}
