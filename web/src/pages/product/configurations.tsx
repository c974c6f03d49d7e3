import { useState } from 'react';
import { api } from '../../api/client.ts';
import type { Schemas } from '../../api/paths.ts';
import { may } from '../../api/session.ts';
import { useWrite } from '../../api/write.ts';
import { t } from '../../i18n/index.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { AmountField, CheckField, TextAreaField, TextField } from '../../ui/form.tsx';
import type { Column } from '../../ui/table.tsx';
import { moneyColumn } from '../shared/columns.tsx';
import { FormDialog } from '../shared/form-dialog.tsx';
import { metadataFacts } from '../shared/metadata.ts';
import { TablePanel } from '../shared/table-panel.tsx';

type Configuration = Schemas['Configuration'];

const MOST_ROWS = 100;

/** The variants of a product. */
export function Configurations({ product }: { product: Schemas['Product'] }) {
  const configurations = api.useQuery('get', '/api/products/{id}/configurations', {
    params: { path: { id: product.id }, query: { limit: MOST_ROWS, sort: 'name:asc' } },
  });
  const [isCreating, setIsCreating] = useState(false);
  const columns: Column<Configuration>[] = [
    {
      name: 'name',
      label: t('field.name'),
      show: ({ name, isDefault }) => (
        <>
          {name} {isDefault && <Badge>{t('configurations.default')}</Badge>}
        </>
      ),
    },
    {
      name: 'attributes',
      label: t('configurations.attributes'),
      onPhone: 'plain',
      show: ({ attributes }) =>
        metadataFacts(attributes)
          .map(([name, value]) => `${name}: ${value}`)
          .join(', '),
    },
    moneyColumn('price', t('field.price'), ({ price }) => price ?? product.price),
  ];
  return (
    <>
      <TablePanel
        title={t('configurations.title')}
        actions={
          may('catalogue:write') && (
            <Button icon="plus" onClick={() => setIsCreating(true)}>
              {t('configurations.new')}
            </Button>
          )
        }
        query={configurations}
        lines={3}
        columns={columns}
        none={t('configurations.none')}
      />
      {isCreating && <NewConfigurationDialog productId={product.id} onClose={() => setIsCreating(false)} />}
    </>
  );
}

function NewConfigurationDialog({ productId, onClose }: { productId: number; onClose(): void }) {
  const create = useWrite('post', '/api/products/{id}/configurations');
  return (
    <FormDialog
      title={t('configurations.new')}
      write={create}
      submit={t('action.create')}
      done={t('list.created')}
      onClose={onClose}
      onSubmit={(values) =>
        create.send({
          params: { path: { id: productId } },
          body: {
            name: values.text('name'),
            price: values.text('price') === '' ? null : values.number('price'),
            attributes: readAttributes(values.lines('attributes')),
            isDefault: values.isChecked('isDefault'),
          },
        })
      }
    >
      <TextField label={t('field.name')} name="name" maxLength={200} required isFirst />
      <AmountField label={t('field.price')} name="price" hint={t('configurations.price.hint')} />
      <TextAreaField
        label={t('configurations.attributes')}
        name="attributes"
        hint={t('configurations.attributes.hint')}
      />
      <CheckField label={t('configurations.isDefault')} name="isDefault" />
    </FormDialog>
  );
}

/** @param lines such as `panel: 40 W` */
function readAttributes(lines: string[]): Record<string, string> {
  return Object.fromEntries(
    lines.map((line) => {
      const [name = '', ...rest] = line.split(':');
      return [name.trim(), rest.join(':').trim()];
    }),
  );
}
