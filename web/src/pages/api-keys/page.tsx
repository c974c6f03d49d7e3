import { useState } from 'react';
import { api, KEEPS_LAST } from '../../api/client.ts';
import type { Permission, Schemas } from '../../api/paths.ts';
import { currentSession } from '../../api/session.ts';
import { useWrite } from '../../api/write.ts';
import { format, t, tValue } from '../../i18n/index.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { Actions, Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { CheckField, SelectField } from '../../ui/form.tsx';
import { Facts } from '../../ui/panel.tsx';
import type { Column } from '../../ui/table.tsx';
import { createdColumn, statusColumn, statusFilter, timeColumn } from '../shared/columns.tsx';
import { FormDialog } from '../shared/form-dialog.tsx';
import { ResourcePage, useList } from '../shared/list.tsx';
import { SecretDialog } from '../shared/secret-dialog.tsx';
import { SecretOverlapField } from '../shared/secret-overlap-field.tsx';
import { ROLES } from '../shared/user-fields.tsx';
import { ChangeDialog } from './change-dialog.tsx';
import { ExpiryField, endOfDay, NameField, NetworksField, networksOf } from './fields.tsx';

type ApiKey = Schemas['ApiKey'];
type KeyPermission = NonNullable<Schemas['NewApiKey']['permissions']>[number];

const TONES: Record<ApiKey['status'], Tone> = { active: 'good', expired: 'warning', revoked: 'neutral' };
/** The value of the field `role` if the user chooses permissions instead of a role. */
const NO_ROLE = 'permissions';
/** Permissions that no API key can have. */
const USER_ONLY: Readonly<Record<Exclude<Permission, KeyPermission>, true>> = {
  'users:administer': true,
  'api-keys:administer': true,
  'webhook-endpoints:administer': true,
  'approvals:decide': true,
  'cash:confirm': true,
  'cash:count': true,
  'cash:settle': true,
  'imports:run': true,
  'calls:record': true,
  'calls:manage': true,
  'commissions:read-own': true,
  'events:follow': true,
};

export function Page() {
  const list = useList({ name: 'createdAt', isDescending: true }, [
    statusFilter(TONES, (status) => tValue('apiKeyStatus', status)),
  ]);
  const keys = api.useQuery('get', '/api/api-keys', { params: { query: list.query } }, KEEPS_LAST);
  const columns: Column<ApiKey>[] = [
    { name: 'name', label: t('field.name'), canSort: true, show: ({ name }) => name },
    { name: 'hint', label: t('apiKeys.hint'), onPhone: 'plain', show: ({ hint }) => <Hint hint={hint} /> },
    { name: 'role', label: t('apiKeys.rights'), onPhone: 'plain', show: rightsOf },
    statusColumn(TONES, (status) => tValue('apiKeyStatus', status), { onPhone: 'value' }),
    timeColumn('lastUsedAt', t('apiKeys.lastUsed'), ({ lastUsedAt }) => lastUsedAt),
    createdColumn('hidden'),
  ];
  return (
    <ResourcePage
      title={t('nav.apiKeys')}
      list={list}
      query={keys}
      columns={columns}
      none={t('apiKeys.none')}
      create={{ label: t('apiKeys.new'), dialog: (close) => <NewKeyDialog onClose={close} /> }}
      rowQuery={(id) =>
        api.queryOptions('get', '/api/api-keys', { params: { query: { 'filter[id]': { eq: id } } } })
      }
      dialogOf={(apiKey, close) => <KeyDialog apiKey={apiKey} onClose={close} />}
    />
  );
}

function NewKeyDialog({ onClose }: { onClose(): void }) {
  const create = useWrite('post', '/api/api-keys', { isRepeatable: false });
  const [role, setRole] = useState(NO_ROLE);
  const [secret, setSecret] = useState<string>();
  if (secret !== undefined)
    return <SecretDialog title={t('apiKeys.created')} secret={secret} onClose={onClose} />;
  return (
    <FormDialog
      title={t('apiKeys.new')}
      write={create}
      submit={t('action.create')}
      onClose={onClose}
      onSubmit={(values) => {
        const day = values.optional('expiresAt');
        const rights =
          role === NO_ROLE
            ? { permissions: values.all('permissions') as KeyPermission[] }
            : { role: role as Schemas['Role'] };
        return create.send({
          body: {
            name: values.text('name'),
            ...rights,
            networks: networksOf(values),
            expiresAt: day === undefined ? null : endOfDay(day),
          },
        });
      }}
      onDone={(issued) => setSecret(issued.key)}
    >
      <NameField />
      <SelectField
        label={t('apiKeys.rights')}
        name="role"
        value={role}
        onChange={(event) => setRole(event.target.value)}
        required
      >
        <option value={NO_ROLE}>{t('apiKeys.chosenPermissions')}</option>
        {ROLES.map((choice) => (
          <option key={choice} value={choice}>
            {t('apiKeys.asRole', { role: tValue('role', choice) })}
          </option>
        ))}
      </SelectField>
      {role === NO_ROLE && <Permissions />}
      <NetworksField />
      <ExpiryField />
    </FormDialog>
  );
}

function Permissions() {
  const permissions = [...(currentSession()?.permissions ?? [])].filter(
    (permission) => !(permission in USER_ONLY),
  );
  return (
    <fieldset className="checks">
      <legend>{t('apiKeys.permissions')}</legend>
      {permissions.map((permission) => (
        <CheckField
          key={permission}
          name="permissions"
          value={permission}
          label={<span className="mono">{permission}</span>}
        />
      ))}
    </fieldset>
  );
}

function KeyDialog({ apiKey, onClose }: { apiKey: ApiKey; onClose(): void }) {
  const [opened, setOpened] = useState<'change' | 'rotate' | 'revoke'>();
  if (opened === 'change') return <ChangeDialog apiKey={apiKey} onClose={onClose} />;
  if (opened === 'rotate') return <RotateDialog apiKey={apiKey} onClose={onClose} />;
  if (opened === 'revoke') return <RevokeDialog apiKey={apiKey} onClose={onClose} />;
  const { previousSecretEndsAt, networks, expiresAt, revokedAt, lastUsedAt, permissions } = apiKey;
  return (
    <Dialog title={apiKey.name} lead={<Hint hint={apiKey.hint} />} onClose={onClose}>
      <Facts
        rows={[
          [
            t('field.status'),
            <Badge key="status" tone={TONES[apiKey.status]}>
              {tValue('apiKeyStatus', apiKey.status)}
            </Badge>,
          ],
          [t('apiKeys.rights'), permissions ? permissions.join(', ') : rightsOf(apiKey)],
          [t('apiKeys.networks'), networks ? networks.join(', ') : t('apiKeys.anyNetwork')],
          [t('apiKeys.expires'), expiresAt ? format.dateTime(expiresAt) : t('apiKeys.never')],
          [t('apiKeys.previousEnds'), previousSecretEndsAt && format.dateTime(previousSecretEndsAt)],
          [t('apiKeys.lastUsed'), lastUsedAt && `${format.dateTime(lastUsedAt)}, ${apiKey.lastUsedAddress}`],
          [t('apiKeys.revokedAt'), revokedAt && format.dateTime(revokedAt)],
          [t('field.createdAt'), format.dateTime(apiKey.createdAt)],
        ]}
      />
      {apiKey.status !== 'revoked' && (
        <Actions>
          <Button onClick={() => setOpened('change')}>{t('action.edit')}</Button>
          {apiKey.status === 'active' && (
            <Button onClick={() => setOpened('rotate')}>{t('apiKeys.rotate')}</Button>
          )}
          <Button kind="danger" onClick={() => setOpened('revoke')}>
            {t('apiKeys.revoke')}
          </Button>
        </Actions>
      )}
    </Dialog>
  );
}

function RotateDialog({ apiKey, onClose }: { apiKey: ApiKey; onClose(): void }) {
  const rotate = useWrite('post', '/api/api-keys/{id}/rotate', { isRepeatable: false });
  const [secret, setSecret] = useState<string>();
  if (secret !== undefined)
    return <SecretDialog title={t('apiKeys.rotated')} lead={apiKey.name} secret={secret} onClose={onClose} />;
  return (
    <FormDialog
      title={t('apiKeys.rotate')}
      lead={apiKey.name}
      write={rotate}
      submit={t('apiKeys.rotate')}
      onClose={onClose}
      onSubmit={(values) =>
        rotate.send({
          params: { path: { id: apiKey.id } },
          body: { overlapSeconds: values.number('overlapSeconds') },
        })
      }
      onDone={(issued) => setSecret(issued.key)}
    >
      <SecretOverlapField />
    </FormDialog>
  );
}

function RevokeDialog({ apiKey, onClose }: { apiKey: ApiKey; onClose(): void }) {
  const revoke = useWrite('post', '/api/api-keys/{id}/revoke');
  return (
    <FormDialog
      title={t('apiKeys.revoke')}
      lead={t('apiKeys.revoke.lead', { name: apiKey.name })}
      write={revoke}
      submit={t('apiKeys.revoke')}
      kind="danger"
      done={t('apiKeys.revoked')}
      onClose={onClose}
      onSubmit={() => revoke.send({ params: { path: { id: apiKey.id } }, body: {} })}
    />
  );
}

/** Shows how the secret begins and ends. All secrets begin with `ams_key_`. */
function Hint({ hint }: { hint: string }) {
  return <span className="mono">{`ams_key_…${hint}`}</span>;
}

function rightsOf({ role, permissions }: ApiKey): string {
  return role ? tValue('role', role) : t('apiKeys.permissionCount', { count: permissions?.length ?? 0 });
}
