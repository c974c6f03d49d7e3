import { type Static, Type } from 'typebox';
import { answerOf, bodyOf, type DeclaredFields, listFieldsOf } from '../../core/declared-fields.ts';
import { ChangedExternalFields, ExternalFields, ShownExternalFields } from '../../core/http/external-ids.ts';
import { AmountFromZero, Id, Money, Nullable, ScalarValue, Text, Timestamp } from '../../core/http/fields.ts';
import { defineList } from '../../core/lists/query.ts';

const name = (maxLength: number) => ({ schema: Text(maxLength), trimmed: true, list: true }) as const;

const textFields = {
  sku: { ...name(50), file: 'The stock number of the product.', unique: true, example: 'SHS-80' },
  name: { ...name(200), file: 'The name on statements.', example: 'Home system 80 W' },
  category: {
    ...name(100),
    file: 'The group of products in reports and commission rules.',
    example: 'home_system',
  },
  description: {
    schema: Type.String({ maxLength: 2000, format: 'paragraph' }),
    default: '',
    file: 'A longer description.',
    example: 'Panel, battery, four lamps',
  },
} satisfies DeclaredFields;

const otherFields = {
  active: {
    schema: Type.Boolean(),
    default: true,
    list: true,
    file: 'Whether new accounts can have the product. Empty: yes.',
    example: true,
  },
} satisfies DeclaredFields;

export const productFields = { ...textFields, ...otherFields };

export const NewProduct = Type.Object(
  {
    ...bodyOf(textFields),
    price: AmountFromZero,
    currency: Type.Optional(Type.String({ description: 'Must be the currency of the books.' })),
    ...bodyOf(otherFields),
    ...ExternalFields,
  },
  {
    title: 'NewProduct',
    examples: [
      {
        sku: 'SHS-80',
        name: 'Home system 80 W',
        category: 'home_system',
        description: 'Panel, battery, four lamps, radio',
        price: 34000,
        currency: 'KES',
        active: true,
        externalId: 'ERP-880',
        metadata: { line: 'home' },
      },
    ],
  },
);
export type NewProduct = Static<typeof NewProduct>;

export const ProductChanges = Type.Partial(
  Type.Object({ ...NewProduct.properties, ...ChangedExternalFields }),
  {
    minProperties: 1,
    title: 'ProductChanges',
    examples: [{ price: 17500 }],
  },
);
export type ProductChanges = Static<typeof ProductChanges>;

const { externalId: _inPath, ...upsertFields } = NewProduct.properties;
export const ProductUpsert = Type.Object(upsertFields, {
  title: 'ProductUpsert',
  examples: [{ sku: 'SHS-80', name: 'Home system 80 W', category: 'home_system', price: 33500 }],
});
export type ProductUpsert = Static<typeof ProductUpsert>;

export const NewConfiguration = Type.Object(
  {
    name: Text(200),
    attributes: Type.Optional(
      Type.Unsafe<Record<string, string | number | boolean | null>>({
        type: 'object',
        description: 'At most 16 KB in total.',
        maxProperties: 50,
        propertyNames: { maxLength: 50, pattern: '^[A-Za-z][A-Za-z0-9_.-]*$' },
        additionalProperties: ScalarValue(500),
      }),
    ),
    price: Type.Optional(Nullable(AmountFromZero)),
    isDefault: Type.Optional(Type.Boolean()),
  },
  {
    title: 'NewConfiguration',
    examples: [
      { name: 'With radio', attributes: { panelWatts: 40, radio: true }, price: 19500, isDefault: true },
    ],
  },
);
export type NewConfiguration = Static<typeof NewConfiguration>;

export const Configuration = Type.Object(
  {
    id: Id,
    productId: Id,
    name: Type.String(),
    attributes: Type.Object({}, { additionalProperties: true }),
    price: Nullable(Type.Number({ description: 'Null if the configuration has the price of the product.' })),
    currency: Type.String(),
    isDefault: Type.Boolean(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  {
    title: 'Configuration',
    examples: [
      {
        id: 1,
        productId: 1,
        name: 'With radio',
        attributes: { radio: true, panelWatts: 40 },
        price: 19500,
        currency: 'KES',
        isDefault: true,
        createdAt: '2026-11-02T08:15:30.000Z',
        updatedAt: '2026-11-02T08:15:30.000Z',
      },
    ],
  },
);

export const Product = Type.Object(
  {
    id: Id,
    ...answerOf(textFields),
    price: Money,
    currency: Type.String(),
    ...answerOf(otherFields),
    ...ShownExternalFields,
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  {
    title: 'Product',
    examples: [
      {
        id: 1,
        sku: 'SHS-40',
        name: 'Home system 40 W',
        category: 'home_system',
        description: 'Panel, battery, three lamps, phone charging',
        price: 18000,
        currency: 'KES',
        active: true,
        externalId: 'ERP-840',
        metadata: { line: 'home' },
        createdAt: '2026-11-02T08:15:30.000Z',
        updatedAt: '2026-11-02T08:15:30.000Z',
      },
    ],
  },
);

export const ExpandedProduct = Type.Object(
  { id: Id, name: Type.String() },
  { title: 'ExpandedProduct', examples: [{ id: 1, name: 'Home system 40 W' }] },
);
export type ExpandedProduct = Static<typeof ExpandedProduct>;

export const productList = defineList(
  {
    id: { kind: 'id', column: 'p.id' },
    ...listFieldsOf(textFields, 'p'),
    price: { kind: 'money', column: 'p.price_minor' },
    ...listFieldsOf(otherFields, 'p'),
    externalId: { kind: 'text', column: 'p.external_id', nullable: true },
    createdAt: { kind: 'timestamp', column: 'p.created_at' },
    updatedAt: { kind: 'timestamp', column: 'p.updated_at' },
  },
  {
    category: Type.Optional(Type.String({ maxLength: 100, format: 'query-text', examples: ['home_system'] })),
    active: Type.Optional(Type.Boolean({ examples: [true] })),
  },
  'p.metadata',
);

export const configurationList = defineList(
  {
    id: { kind: 'id', column: 'c.id' },
    name: { kind: 'text', column: 'c.name' },
    price: { kind: 'money', column: 'c.price_minor', nullable: true },
    isDefault: { kind: 'boolean', column: 'c.is_default' },
    createdAt: { kind: 'timestamp', column: 'c.created_at' },
    updatedAt: { kind: 'timestamp', column: 'c.updated_at' },
  },
  {},
);
