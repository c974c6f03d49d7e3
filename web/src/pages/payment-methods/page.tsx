import { api, KEEPS_LAST } from '../../api/client.ts';
import type { Schemas } from '../../api/paths.ts';
import { useWrite } from '../../api/write.ts';
import { t } from '../../i18n/index.ts';
import { Badge } from '../../ui/badge.tsx';
import { CheckField, TextField } from '../../ui/form.tsx';
import type { Column } from '../../ui/table.tsx';
import { activeColumn, activeFilter, codeColumn, createdColumn } from '../shared/columns.tsx';
import { FormDialog } from '../shared/form-dialog.tsx';
import { ResourcePage, useList } from '../shared/list.tsx';

type PaymentMethod = Schemas['PaymentMethod'];

export function Page() {
  const list = useList({ name: 'name', isDescending: false }, [activeFilter()]);
  const methods = api.useQuery('get', '/api/payment-methods', { params: { query: list.query } }, KEEPS_LAST);
  const columns: Column<PaymentMethod>[] = [
    {
      name: 'name',
      label: t('field.name'),
      canSort: true,
      show: ({ name, cash }) => (
        <>
          {name} {cash && <Badge>{t('paymentMethods.isCash')}</Badge>}
        </>
      ),
    },
    codeColumn('code', t('field.code'), ({ code }) => code, { canSort: true }),
    activeColumn(),
    createdColumn(),
  ];
  return (
    <ResourcePage
      title={t('nav.paymentMethods')}
      list={list}
      query={methods}
      columns={columns}
      permission="catalogue:write"
      create={{
        label: t('paymentMethods.new'),
        dialog: (close) => <NewMethodDialog onClose={close} />,
      }}
      rowQuery={(id) =>
        api.queryOptions('get', '/api/payment-methods', { params: { query: { 'filter[id]': { eq: id } } } })
      }
      dialogOf={(method, close) => <MethodDialog method={method} onClose={close} />}
    />
  );
}

function NewMethodDialog({ onClose }: { onClose(): void }) {
  const create = useWrite('post', '/api/payment-methods');
  return (
    <FormDialog
      title={t('paymentMethods.new')}
      write={create}
      submit={t('action.create')}
      done={t('list.created')}
      onClose={onClose}
      onSubmit={(values) =>
        create.send({
          body: { name: values.text('name'), code: values.text('code'), cash: values.isChecked('cash') },
        })
      }
    >
      <TextField label={t('field.name')} name="name" maxLength={100} required isFirst />
      <TextField
        label={t('field.code')}
        name="code"
        hint={t('paymentMethods.code.hint')}
        maxLength={50}
        autoCapitalize="none"
        spellCheck={false}
        required
      />
      <CheckField label={t('paymentMethods.cash')} name="cash" />
    </FormDialog>
  );
}

function MethodDialog({ method, onClose }: { method: PaymentMethod; onClose(): void }) {
  const change = useWrite('put', '/api/payment-methods/{id}');
  return (
    <FormDialog
      title={method.name}
      lead={<span className="mono">{method.code}</span>}
      write={change}
      submit={t('action.save')}
      done={t('list.saved')}
      onClose={onClose}
      onSubmit={(values) =>
        change.send({
          params: { path: { id: method.id } },
          body: {
            name: values.text('name'),
            active: values.isChecked('active'),
            cash: values.isChecked('cash'),
          },
        })
      }
    >
      <TextField
        label={t('field.name')}
        name="name"
        maxLength={100}
        defaultValue={method.name}
        required
        isFirst
      />
      <CheckField label={t('paymentMethods.active')} name="active" defaultChecked={method.active} />
      <CheckField label={t('paymentMethods.cash')} name="cash" defaultChecked={method.cash} />
    </FormDialog>
  );
}
