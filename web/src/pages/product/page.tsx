import { useState } from 'react';
import { Link } from 'wouter';
import { api, client } from '../../api/client.ts';
import { explain } from '../../api/explain.ts';
import type { Schemas } from '../../api/paths.ts';
import { may } from '../../api/session.ts';
import { useWrite } from '../../api/write.ts';
import { format, nameOfKey, t, tValue } from '../../i18n/index.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Loaded, Skeleton } from '../../ui/feedback.tsx';
import { CheckField } from '../../ui/form.tsx';
import { Columns, Facts, PageHead, Panel } from '../../ui/panel.tsx';
import { accountColumns } from '../shared/account-columns.tsx';
import { FormDialog } from '../shared/form-dialog.tsx';
import { LatestVersion } from '../shared/latest-version.tsx';
import { metadataFacts } from '../shared/metadata.ts';
import { ProductFields, readProduct } from '../shared/product-fields.tsx';
import { TablePanel } from '../shared/table-panel.tsx';
import { Configurations } from './configurations.tsx';

type Product = Schemas['Product'];

export function Page({ id }: { id: string }) {
  const product = api.useQuery('get', '/api/products/{id}', { params: { path: { id: Number(id) } } });
  return (
    <Loaded query={product} explain={explain} skeleton={<Skeleton lines={8} />}>
      {({ data }) => <ProductPage product={data} />}
    </Loaded>
  );
}

function ProductPage({ product }: { product: Product }) {
  const [isEditing, setIsEditing] = useState(false);
  return (
    <>
      <PageHead
        eyebrow={<span className="mono">{product.sku}</span>}
        title={product.name}
        actions={
          may('catalogue:write') && <Button onClick={() => setIsEditing(true)}>{t('action.edit')}</Button>
        }
      >
        <Badge tone={product.active ? 'good' : 'neutral'}>{tValue('active', String(product.active))}</Badge>
        <span>{format.money(product.price)}</span>
        <span>{nameOfKey(product.category)}</span>
      </PageHead>
      <Columns
        main={
          <>
            <Configurations product={product} />
            {may('accounts:read') && <Accounts productId={product.id} />}
          </>
        }
        side={
          <Panel title={t('field.details')}>
            {product.description && <p className="text">{product.description}</p>}
            <Facts
              rows={[
                [t('field.externalId'), product.externalId],
                ...metadataFacts(product.metadata),
                [t('field.createdAt'), format.dateTime(product.createdAt)],
                [t('field.updatedAt'), format.dateTime(product.updatedAt)],
              ]}
            />
          </Panel>
        }
      />
      {isEditing && (
        <LatestVersion
          title={product.name}
          read={() => client.GET('/api/products/{id}', { params: { path: { id: product.id } } })}
          onClose={() => setIsEditing(false)}
        >
          {(latest, etag) => <EditDialog product={latest} etag={etag} onClose={() => setIsEditing(false)} />}
        </LatestVersion>
      )}
    </>
  );
}

const ACCOUNTS_SHOWN = 10;

function Accounts({ productId }: { productId: number }) {
  const query = {
    'filter[productId]': { eq: productId },
    expand: ['customer' as const],
    limit: ACCOUNTS_SHOWN,
    sort: 'id:desc',
  };
  const accounts = api.useQuery('get', '/api/accounts', { params: { query } });
  return (
    <TablePanel
      title={t('products.accounts')}
      actions={<Link href={`/accounts?productId=${productId}`}>{t('products.accounts.all')}</Link>}
      query={accounts}
      columns={accountColumns({
        name: 'customerId',
        label: t('field.customer'),
        show: ({ customer }) => customer?.name,
      })}
      hrefOf={({ id }) => `/accounts/${id}`}
      none={t('products.accounts.none')}
    />
  );
}

function EditDialog({ product, etag, onClose }: { product: Product; etag: string; onClose(): void }) {
  const change = useWrite('put', '/api/products/{id}');
  return (
    <FormDialog
      title={product.name}
      lead={t('products.edit.lead')}
      write={change}
      submit={t('action.save')}
      done={t('list.saved')}
      onClose={onClose}
      onSubmit={(values) =>
        change.send({
          params: { path: { id: product.id }, header: { 'If-Match': etag } },
          body: { ...readProduct(values), active: values.isChecked('active') },
        })
      }
    >
      <ProductFields product={product} />
      <CheckField label={t('products.active')} name="active" defaultChecked={product.active} />
    </FormDialog>
  );
}
