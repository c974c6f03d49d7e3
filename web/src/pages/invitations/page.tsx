import { useState } from 'react';
import { api } from '../../api/client.ts';
import type { Schemas } from '../../api/paths.ts';
import { useWrite } from '../../api/write.ts';
import { format, t, tValue } from '../../i18n/index.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { TextField } from '../../ui/form.tsx';
import type { Column } from '../../ui/table.tsx';
import { choiceFilter, createdColumn } from '../shared/columns.tsx';
import { FormDialog } from '../shared/form-dialog.tsx';
import { ResourcePage, useList } from '../shared/list.tsx';
import { SecretDialog } from '../shared/secret-dialog.tsx';
import { EmployeeField, RoleField } from '../shared/user-fields.tsx';
import { UserTabs } from '../shared/user-tabs.tsx';

type Invitation = Schemas['Invitation'];

const TONES: Record<Schemas['InvitationStatus'], Tone> = {
  pending: 'info',
  accepted: 'good',
  revoked: 'neutral',
  expired: 'neutral',
};
const DAYS = 7;

export function Page() {
  const list = useList({ name: 'createdAt', isDescending: true }, [
    choiceFilter('status', t('field.status'), Object.keys(TONES), (status) =>
      tValue('invitationStatus', status),
    ),
  ]);
  const invitations = api.useQuery('get', '/api/users/invitations', { params: { query: list.query } });
  const columns: Column<Invitation>[] = [
    { name: 'email', label: t('field.email'), canSort: true, show: ({ email }) => email },
    {
      name: 'purpose',
      label: t('invitations.purpose'),
      onPhone: 'plain',
      show: ({ purpose }) => tValue('invitationPurpose', purpose),
    },
    {
      name: 'role',
      label: t('field.role'),
      onPhone: 'plain',
      show: ({ role }) => role && tValue('role', role),
    },
    {
      name: 'status',
      label: t('field.status'),
      onPhone: 'value',
      show: ({ status }) => <Badge tone={TONES[status]}>{tValue('invitationStatus', status)}</Badge>,
    },
    {
      name: 'expiresAt',
      label: t('field.expiresAt'),
      canSort: true,
      show: ({ expiresAt }) => <span className="nowrap">{format.dateTime(expiresAt)}</span>,
    },
    { ...createdColumn(), onPhone: 'hidden' },
  ];
  return (
    <ResourcePage
      title={t('nav.users')}
      list={list}
      query={invitations}
      columns={columns}
      none={t('invitations.none')}
      create={{ label: t('invitations.new'), dialog: (close) => <InviteDialog onClose={close} /> }}
      dialogOf={(invitation, close) =>
        invitation.status === 'pending' && <RevokeDialog invitation={invitation} onClose={close} />
      }
    >
      <UserTabs />
    </ResourcePage>
  );
}

function InviteDialog({ onClose }: { onClose(): void }) {
  const invite = useWrite('post', '/api/users/invitations', { isRepeatable: false });
  const [token, setToken] = useState<string>();
  if (token !== undefined)
    return (
      <SecretDialog
        title={t('invitations.token')}
        lead={t('invitations.token.lead')}
        secret={token}
        onClose={onClose}
      />
    );
  return (
    <FormDialog
      title={t('invitations.new')}
      lead={t('invitations.new.lead')}
      write={invite}
      submit={t('invitations.submit')}
      onClose={onClose}
      onSubmit={(values) =>
        invite.send({
          body: {
            email: values.text('email'),
            role: values.text('role') as Schemas['Role'],
            employeeId: values.number('employeeId') || null,
            expiresInDays: values.number('expiresInDays'),
          },
        })
      }
      onDone={(issued) => setToken(issued.token)}
    >
      <TextField label={t('field.email')} name="email" type="email" autoComplete="off" required isFirst />
      <RoleField />
      <EmployeeField />
      <TextField
        label={t('invitations.days')}
        name="expiresInDays"
        type="number"
        min={1}
        max={30}
        defaultValue={DAYS}
        required
      />
    </FormDialog>
  );
}

function RevokeDialog({ invitation, onClose }: { invitation: Invitation; onClose(): void }) {
  const revoke = useWrite('post', '/api/users/invitations/{id}/revoke', { isRepeatable: false });
  return (
    <FormDialog
      title={t('invitations.revoke')}
      lead={invitation.email}
      write={revoke}
      submit={t('invitations.revoke')}
      kind="danger"
      done={t('invitations.revoked')}
      onClose={onClose}
      onSubmit={() => revoke.send({ params: { path: { id: invitation.id } }, body: {} })}
    />
  );
}
