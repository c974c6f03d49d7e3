import { api, client, KEEPS_LAST } from '../../api/client.ts';
import type { Schemas } from '../../api/paths.ts';
import { useWrite } from '../../api/write.ts';
import { t } from '../../i18n/index.ts';
import { CheckField, type FormValues, TextField } from '../../ui/form.tsx';
import { Facts } from '../../ui/panel.tsx';
import type { Column } from '../../ui/table.tsx';
import { activeColumn, activeFilter, createdColumn } from '../shared/columns.tsx';
import { FormDialog } from '../shared/form-dialog.tsx';
import { LatestVersion } from '../shared/latest-version.tsx';
import { ResourcePage, useList } from '../shared/list.tsx';
import { metadataFacts } from '../shared/metadata.ts';

type Employee = Schemas['Employee'];

export function Page() {
  const list = useList({ name: 'name', isDescending: false }, [activeFilter()]);
  const employees = api.useQuery('get', '/api/employees', { params: { query: list.query } }, KEEPS_LAST);
  const columns: Column<Employee>[] = [
    { name: 'name', label: t('field.name'), canSort: true, show: ({ name }) => name },
    { name: 'phone', label: t('field.phone'), onPhone: 'plain', show: ({ phone }) => phone },
    activeColumn(),
    { name: 'externalId', label: t('field.externalId'), show: ({ externalId }) => externalId },
    createdColumn(),
  ];
  return (
    <ResourcePage
      title={t('nav.employees')}
      list={list}
      query={employees}
      columns={columns}
      permission="catalogue:write"
      create={{ label: t('employees.new'), dialog: (close) => <NewEmployeeDialog onClose={close} /> }}
      rowQuery={(id) =>
        api.queryOptions('get', '/api/employees', { params: { query: { 'filter[id]': { eq: id } } } })
      }
      dialogOf={(employee, close) => (
        <LatestVersion
          title={employee.name}
          read={() => client.GET('/api/employees/{id}', { params: { path: { id: employee.id } } })}
          onClose={close}
        >
          {(latest, etag) => <EmployeeDialog employee={latest} etag={etag} onClose={close} />}
        </LatestVersion>
      )}
    />
  );
}

function NewEmployeeDialog({ onClose }: { onClose(): void }) {
  const create = useWrite('post', '/api/employees');
  return (
    <FormDialog
      title={t('employees.new')}
      write={create}
      submit={t('action.create')}
      done={t('list.created')}
      onClose={onClose}
      onSubmit={(values) => create.send({ body: readFields(values) })}
    >
      <EmployeeFields />
    </FormDialog>
  );
}

function EmployeeDialog({ employee, etag, onClose }: { employee: Employee; etag: string; onClose(): void }) {
  const change = useWrite('put', '/api/employees/{id}');
  return (
    <FormDialog
      title={employee.name}
      write={change}
      submit={t('action.save')}
      done={t('list.saved')}
      onClose={onClose}
      onSubmit={(values) =>
        change.send({
          params: { path: { id: employee.id }, header: { 'If-Match': etag } },
          body: { ...readFields(values), active: values.isChecked('active') },
        })
      }
    >
      <EmployeeFields employee={employee} />
      <CheckField label={t('employees.active')} name="active" defaultChecked={employee.active} />
      <Facts rows={metadataFacts(employee.metadata)} />
    </FormDialog>
  );
}

function EmployeeFields({ employee }: { employee?: Employee }) {
  return (
    <>
      <TextField
        label={t('field.name')}
        name="name"
        maxLength={200}
        defaultValue={employee?.name}
        required
        isFirst
      />
      <TextField label={t('field.phone')} name="phone" type="tel" defaultValue={employee?.phone ?? ''} />
      <TextField
        label={t('field.externalId')}
        name="externalId"
        maxLength={100}
        defaultValue={employee?.externalId ?? ''}
      />
    </>
  );
}

function readFields(values: FormValues) {
  return {
    name: values.text('name'),
    phone: values.optional('phone') ?? null,
    externalId: values.optional('externalId') ?? null,
  };
}
