import { useState } from 'react';
import { api, client, KEEPS_LAST } from '../../api/client.ts';
import type { Schemas } from '../../api/paths.ts';
import { currentSession } from '../../api/session.ts';
import { settings } from '../../api/settings.ts';
import { useWrite } from '../../api/write.ts';
import { t, tValue } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import { CheckField, type FormValues, TextField } from '../../ui/form.tsx';
import type { Column } from '../../ui/table.tsx';
import { activeColumn, activeFilter, choiceFilter, createdColumn } from '../shared/columns.tsx';
import { FormDialog } from '../shared/form-dialog.tsx';
import { IdentityDialog } from '../shared/invitation-dialogs.tsx';
import { LatestVersion } from '../shared/latest-version.tsx';
import { ResourcePage, useList } from '../shared/list.tsx';
import { NameFields } from '../shared/name-fields.tsx';
import { EmployeeField, ROLES, RoleField } from '../shared/user-fields.tsx';
import { UserTabs } from '../shared/user-tabs.tsx';

type User = Schemas['User'];

export function Page() {
  const list = useList({ name: 'firstName', isDescending: false }, [
    choiceFilter('role', t('field.role'), ROLES, (role) => tValue('role', role)),
    activeFilter(),
  ]);
  const users = api.useQuery('get', '/api/users', { params: { query: list.query } }, KEEPS_LAST);
  const columns: Column<User>[] = [
    {
      name: 'firstName',
      label: t('field.name'),
      canSort: true,
      show: ({ firstName, lastName }) => `${firstName} ${lastName}`,
    },
    { name: 'email', label: t('field.email'), onPhone: 'plain', canSort: true, show: ({ email }) => email },
    {
      name: 'role',
      label: t('field.role'),
      onPhone: 'plain',
      canSort: true,
      show: ({ role }) => tValue('role', role),
    },
    activeColumn(),
    createdColumn('hidden'),
  ];
  return (
    <ResourcePage
      title={t('nav.users')}
      list={list}
      query={users}
      columns={columns}
      create={{ label: t('users.new'), dialog: (close) => <NewUserDialog onClose={close} /> }}
      rowQuery={(id) =>
        api.queryOptions('get', '/api/users', { params: { query: { 'filter[id]': { eq: id } } } })
      }
      dialogOf={(user, close) => (
        <LatestVersion
          title={`${user.firstName} ${user.lastName}`}
          read={() => client.GET('/api/users/{id}', { params: { path: { id: user.id } } })}
          onClose={close}
        >
          {(latest, etag) => <UserDialog user={latest} etag={etag} onClose={close} />}
        </LatestVersion>
      )}
    >
      <UserTabs />
    </ResourcePage>
  );
}

function NewUserDialog({ onClose }: { onClose(): void }) {
  const create = useWrite('post', '/api/users');
  return (
    <FormDialog
      title={t('users.new')}
      lead={t('users.new.lead')}
      write={create}
      submit={t('action.create')}
      done={t('list.created')}
      onClose={onClose}
      onSubmit={(values) =>
        create.send({
          body: { ...readFields(values), email: values.text('email'), password: values.raw('password') },
        })
      }
    >
      <NameFields />
      <TextField label={t('field.email')} name="email" type="email" autoComplete="off" required />
      <TextField
        label={t('session.password')}
        name="password"
        type="password"
        autoComplete="new-password"
        hint={t('users.password.hint')}
        minLength={8}
        maxLength={128}
        required
      />
      <RoleField />
      <EmployeeField />
    </FormDialog>
  );
}

function UserDialog({ user, etag, onClose }: { user: User; etag: string; onClose(): void }) {
  const change = useWrite('put', '/api/users/{id}');
  const [isInviting, setIsInviting] = useState(false);
  const isOwn = user.id === currentSession()?.user.id;
  if (isInviting) return <IdentityDialog userId={user.id} email={user.email} onClose={onClose} />;
  return (
    <FormDialog
      title={`${user.firstName} ${user.lastName}`}
      lead={user.email}
      write={change}
      submit={t('action.save')}
      onClose={onClose}
      onSubmit={(values) => {
        const password = values.raw('password');
        return change.send({
          params: { path: { id: user.id }, header: { 'If-Match': etag } },
          body: {
            ...readFields(values),
            active: isOwn || values.isChecked('active'),
            ...(password !== '' && { password }),
          },
        });
      }}
      done={({ active }) => (active || !settings().cashCounts ? t('list.saved') : t('users.cashLeft'))}
    >
      <NameFields person={user} />
      <RoleField role={user.role} />
      <EmployeeField employeeId={user.employeeId} />
      {!isOwn && (
        <TextField
          label={t('session.newPassword')}
          name="password"
          type="password"
          autoComplete="new-password"
          hint={t('users.newPassword.hint')}
          minLength={8}
          maxLength={128}
        />
      )}
      {!isOwn && <CheckField label={t('users.active')} name="active" defaultChecked={user.active} />}
      {user.active && settings().identityProviders.length > 0 && (
        <Button kind="quiet" onClick={() => setIsInviting(true)}>
          {t('invitations.identity')}
        </Button>
      )}
    </FormDialog>
  );
}

function readFields(values: FormValues) {
  return {
    firstName: values.text('firstName'),
    lastName: values.text('lastName'),
    role: values.text('role') as Schemas['Role'],
    employeeId: values.number('employeeId') || null,
  };
}
