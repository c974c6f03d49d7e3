import { Type } from 'typebox';
import { Id, Money, Timestamp } from '../core/fields.ts';
import { column, defineList } from '../core/list-query.ts';

export const Product = Type.Object({
  id: Id,
  sku: Type.String(),
  name: Type.String(),
  category: Type.String(),
  description: Type.String(),
  price: Money,
  currency: Type.String(),
  active: Type.Boolean(),
  createdAt: Timestamp,
  updatedAt: Timestamp,
});

export const productList = defineList(
  {
    id: { kind: 'id', column: column('p.id') },
    sku: { kind: 'text', column: column('p.sku') },
    name: { kind: 'text', column: column('p.name') },
    category: { kind: 'text', column: column('p.category') },
    price: { kind: 'money', column: column('p.price_minor') },
    active: { kind: 'boolean', column: column('p.active') },
    createdAt: { kind: 'timestamp', column: column('p.created_at') },
    updatedAt: { kind: 'timestamp', column: column('p.updated_at') },
  },
  {
    category: Type.Optional(Type.String({ maxLength: 100, format: 'query-text' })),
    active: Type.Optional(Type.Boolean()),
  },
);
