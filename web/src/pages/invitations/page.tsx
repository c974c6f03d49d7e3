import { useState } from 'react';
import { api, KEEPS_LAST } from '../../api/client.ts';
import type { Schemas } from '../../api/paths.ts';
import { useWrite } from '../../api/write.ts';
import { format, t, tValue } from '../../i18n/index.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { Actions, Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { TextField } from '../../ui/form.tsx';
import { Facts } from '../../ui/panel.tsx';
import type { Column } from '../../ui/table.tsx';
import { createdColumn, statusColumn, statusFilter, timeColumn } from '../shared/columns.tsx';
import { FormDialog } from '../shared/form-dialog.tsx';
import { DaysField, IdentityDialog, LinkDialog } from '../shared/invitation-dialogs.tsx';
import { ResourcePage, useList } from '../shared/list.tsx';
import { EmployeeField, RoleField } from '../shared/user-fields.tsx';
import { UserTabs } from '../shared/user-tabs.tsx';

type Invitation = Schemas['Invitation'];

const TONES: Record<Schemas['InvitationStatus'], Tone> = {
  pending: 'info',
  accepted: 'good',
  revoked: 'neutral',
  expired: 'neutral',
};

export function Page() {
  const list = useList({ name: 'createdAt', isDescending: true }, [
    statusFilter(TONES, (status) => tValue('invitationStatus', status)),
  ]);
  const invitations = api.useQuery(
    'get',
    '/api/users/invitations',
    { params: { query: list.query } },
    KEEPS_LAST,
  );
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
    statusColumn(TONES, (status) => tValue('invitationStatus', status), { onPhone: 'value' }),
    timeColumn('expiresAt', t('field.expiresAt'), ({ expiresAt }) => expiresAt),
    createdColumn('hidden'),
  ];
  return (
    <ResourcePage
      title={t('nav.users')}
      list={list}
      query={invitations}
      columns={columns}
      none={t('invitations.none')}
      create={{ label: t('invitations.new'), dialog: (close) => <InviteDialog onClose={close} /> }}
      rowQuery={(id) =>
        api.queryOptions('get', '/api/users/invitations', { params: { query: { 'filter[id]': { eq: id } } } })
      }
      dialogOf={(invitation, close) => <InvitationDialog invitation={invitation} onClose={close} />}
    >
      <UserTabs />
    </ResourcePage>
  );
}

function InvitationDialog({ invitation, onClose }: { invitation: Invitation; onClose(): void }) {
  const [opened, setOpened] = useState<'again' | 'revoke'>();
  const { email, purpose, role, status, userId } = invitation;
  if (opened === 'revoke') return <RevokeDialog invitation={invitation} onClose={onClose} />;
  if (opened === 'again' && purpose === 'sign_up')
    return <InviteDialog earlier={invitation} onClose={onClose} />;
  if (opened === 'again' && userId !== null)
    return <IdentityDialog userId={userId} email={email} onClose={onClose} />;
  return (
    <Dialog title={email} onClose={onClose}>
      <Facts
        rows={[
          [
            t('field.status'),
            <Badge key="status" tone={TONES[status]}>
              {tValue('invitationStatus', status)}
            </Badge>,
          ],
          [t('invitations.purpose'), tValue('invitationPurpose', purpose)],
          [t('field.role'), role && tValue('role', role)],
          [t('field.createdAt'), format.dateTime(invitation.createdAt)],
          [t('field.expiresAt'), format.dateTime(invitation.expiresAt)],
        ]}
      />
      {status !== 'accepted' && (
        <Actions>
          <Button onClick={() => setOpened('again')}>{t('invitations.again')}</Button>
          {status === 'pending' && (
            <Button kind="danger" onClick={() => setOpened('revoke')}>
              {t('invitations.revoke')}
            </Button>
          )}
        </Actions>
      )}
    </Dialog>
  );
}

/** @param earlier - an invitation whose values fill the form. */
function InviteDialog({ earlier, onClose }: { earlier?: Invitation; onClose(): void }) {
  const invite = useWrite('post', '/api/users/invitations', { isRepeatable: false });
  const [issued, setIssued] = useState<Schemas['IssuedInvitation']>();
  if (issued) return <LinkDialog invitation={issued} onClose={onClose} />;
  return (
    <FormDialog
      title={t(earlier ? 'invitations.again' : 'invitations.new')}
      lead={t(earlier ? 'invitations.again.lead' : 'invitations.new.lead')}
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
      onDone={setIssued}
    >
      <TextField
        label={t('field.email')}
        name="email"
        type="email"
        autoComplete="off"
        defaultValue={earlier?.email}
        required
        isFirst
      />
      <RoleField role={earlier?.role ?? undefined} />
      <EmployeeField employeeId={earlier?.employeeId ?? null} />
      <DaysField />
    </FormDialog>
  );
}

function RevokeDialog({ invitation, onClose }: { invitation: Invitation; onClose(): void }) {
  const revoke = useWrite('post', '/api/users/invitations/{id}/revoke');
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
