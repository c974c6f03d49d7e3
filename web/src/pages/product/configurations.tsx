import { useState } from 'react';
import { api } from '../../api/client.ts';
import { explain } from '../../api/explain.ts';
import type { Schemas } from '../../api/paths.ts';
import { may } from '../../api/session.ts';
import { settings } from '../../api/settings.ts';
import { useWrite } from '../../api/write.ts';
import { format, nameOfKey, t } from '../../i18n/index.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Empty, Loaded } from '../../ui/feedback.tsx';
import { AmountField, CheckField, TextAreaField, TextField } from '../../ui/form.tsx';
import { Panel } from '../../ui/panel.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { FormDialog } from '../shared/form-dialog.tsx';

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
        Object.entries(attributes)
          .map(
            ([name, value]) =>
              `${nameOfKey(name)}: ${typeof value === 'string' ? value : JSON.stringify(value)}`,
          )
          .join(', '),
    },
    {
      name: 'price',
      label: t('field.price'),
      isNumber: true,
      onPhone: 'value',
      show: ({ price }) => format.money(price ?? product.price),
    },
  ];
  return (
    <Panel
      title={t('configurations.title')}
      isFlush
      actions={
        may('catalogue:write') && (
          <Button icon="plus" onClick={() => setIsCreating(true)}>
            {t('configurations.new')}
          </Button>
        )
      }
    >
      <Loaded query={configurations} explain={explain}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty>{t('configurations.none')}</Empty>
          ) : (
            <Table caption={t('configurations.title')} columns={columns} rows={data} keyOf={({ id }) => id} />
          )
        }
      </Loaded>
      {isCreating && <NewConfigurationDialog productId={product.id} onClose={() => setIsCreating(false)} />}
    </Panel>
  );
}

function NewConfigurationDialog({ productId, onClose }: { productId: number; onClose(): void }) {
  const create = useWrite('post', '/api/products/{id}/configurations');
  const { currency, currencyDecimals } = settings();
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
      <AmountField
        label={t('field.price')}
        name="price"
        unit={currency}
        step={10 ** -currencyDecimals}
        hint={t('configurations.price.hint')}
      />
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
