import { api, KEEPS_LAST } from '../../api/client.ts';
import type { Schemas } from '../../api/paths.ts';
import { useWrite } from '../../api/write.ts';
import { format, nameOfKey, t } from '../../i18n/index.ts';
import type { Column } from '../../ui/table.tsx';
import { activeColumn, activeFilter, createdColumn } from '../shared/columns.tsx';
import { FormDialog } from '../shared/form-dialog.tsx';
import { ResourcePage, useList } from '../shared/list.tsx';
import { ProductFields, readProduct } from '../shared/product-fields.tsx';

export function Page() {
  const list = useList({ name: 'name', isDescending: false }, [activeFilter()]);
  const products = api.useQuery('get', '/api/products', { params: { query: list.query } }, KEEPS_LAST);
  const columns: Column<Schemas['Product']>[] = [
    { name: 'name', label: t('field.name'), canSort: true, show: ({ name }) => name },
    {
      name: 'sku',
      label: t('field.sku'),
      onPhone: 'plain',
      canSort: true,
      show: ({ sku }) => <span className="mono">{sku}</span>,
    },
    {
      name: 'category',
      label: t('field.category'),
      onPhone: 'plain',
      canSort: true,
      show: ({ category }) => nameOfKey(category),
    },
    { ...activeColumn(), onPhone: 'plain' },
    { ...createdColumn(), onPhone: 'hidden' },
    {
      name: 'price',
      label: t('field.price'),
      isNumber: true,
      onPhone: 'value',
      canSort: true,
      show: ({ price }) => format.money(price),
    },
  ];
  return (
    <ResourcePage
      title={t('nav.products')}
      list={list}
      query={products}
      columns={columns}
      hrefOf={({ id }) => `/products/${id}`}
      permission="catalogue:write"
      create={{
        label: t('products.new'),
        dialog: (close) => <NewProductDialog onClose={close} />,
      }}
    />
  );
}

function NewProductDialog({ onClose }: { onClose(): void }) {
  const create = useWrite('post', '/api/products');
  return (
    <FormDialog
      title={t('products.new')}
      write={create}
      submit={t('action.create')}
      done={t('list.created')}
      onClose={onClose}
      onSubmit={(values) => create.send({ body: readProduct(values) })}
    >
      <ProductFields />
    </FormDialog>
  );
}
