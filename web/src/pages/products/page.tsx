import { api, KEEPS_LAST } from '../../api/client.ts';
import type { Schemas } from '../../api/paths.ts';
import { useWrite } from '../../api/write.ts';
import { nameOfKey, t } from '../../i18n/index.ts';
import type { Column } from '../../ui/table.tsx';
import { activeColumn, activeFilter, codeColumn, createdColumn, moneyColumn } from '../shared/columns.tsx';
import { FormDialog } from '../shared/form-dialog.tsx';
import { ResourcePage, useList } from '../shared/list.tsx';
import { ProductFields, readProduct } from '../shared/product-fields.tsx';

export function Page() {
  const list = useList({ name: 'name', isDescending: false }, [activeFilter()]);
  const products = api.useQuery('get', '/api/products', { params: { query: list.query } }, KEEPS_LAST);
  const columns: Column<Schemas['Product']>[] = [
    { name: 'name', label: t('field.name'), canSort: true, show: ({ name }) => name },
    codeColumn('sku', t('field.sku'), ({ sku }) => sku, { canSort: true }),
    {
      name: 'category',
      label: t('field.category'),
      onPhone: 'plain',
      canSort: true,
      show: ({ category }) => nameOfKey(category),
    },
    activeColumn('plain'),
    createdColumn('hidden'),
    moneyColumn('price', t('field.price'), ({ price }) => price, { canSort: true }),
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
