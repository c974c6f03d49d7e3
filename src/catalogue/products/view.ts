import { amountOf, type Currency } from '../../core/context.ts';
import type { ConfigurationRow, ProductRow } from './store.ts';

export function toProduct({ priceMinor, ...row }: ProductRow, currency: Currency) {
  return { ...row, price: amountOf(priceMinor, currency), currency: currency.code };
}

export function toConfiguration(row: ConfigurationRow, currency: Currency) {
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
