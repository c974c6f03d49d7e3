import type { Schemas } from '../../api/paths.ts';
import { t } from '../../i18n/index.ts';
import { AmountField, type FormValues, TextAreaField, TextField } from '../../ui/form.tsx';
import { CATEGORIES_ID, Categories } from './categories.tsx';

/** The fields of a product that can be changed. */
export function ProductFields({ product }: { product?: Schemas['Product'] }) {
  return (
    <>
      <TextField
        label={t('field.name')}
        name="name"
        maxLength={200}
        defaultValue={product?.name}
        required
        isFirst
      />
      <TextField
        label={t('field.sku')}
        name="sku"
        maxLength={50}
        defaultValue={product?.sku}
        spellCheck={false}
        required
      />
      <TextField
        label={t('field.category')}
        name="category"
        maxLength={100}
        defaultValue={product?.category}
        hint={t('products.category.hint')}
        list={CATEGORIES_ID}
        required
      />
      <Categories />
      <AmountField label={t('field.price')} name="price" defaultValue={product?.price} required />
      <TextAreaField
        label={t('field.description')}
        name="description"
        maxLength={2000}
        defaultValue={product?.description}
      />
      <TextField
        label={t('field.externalId')}
        name="externalId"
        maxLength={100}
        defaultValue={product?.externalId ?? ''}
      />
    </>
  );
}

export function readProduct(values: FormValues) {
  return {
    name: values.text('name'),
    sku: values.text('sku'),
    category: values.text('category'),
    price: values.number('price'),
    description: values.text('description'),
    externalId: values.optional('externalId') ?? null,
  };
}
