import { client } from '../../api/client.ts';
import type { Schemas } from '../../api/paths.ts';
import { useWrite } from '../../api/write.ts';
import { t } from '../../i18n/index.ts';
import { FormDialog } from '../shared/form-dialog.tsx';
import { LatestVersion } from '../shared/latest-version.tsx';
import { ExpiryField, endOfDay, NameField, NetworksField, networksOf } from './fields.tsx';

type ApiKey = Schemas['ApiKey'];

/** Changes the name, the networks and the expiry. The rights of a key never change. */
export function ChangeDialog({ apiKey, onClose }: { apiKey: ApiKey; onClose(): void }) {
  return (
    <LatestVersion
      title={apiKey.name}
      read={() => client.GET('/api/api-keys/{id}', { params: { path: { id: apiKey.id } } })}
      onClose={onClose}
    >
      {(latest, etag) => <ChangeForm apiKey={latest} etag={etag} onClose={onClose} />}
    </LatestVersion>
  );
}

function ChangeForm({ apiKey, etag, onClose }: { apiKey: ApiKey; etag: string; onClose(): void }) {
  const change = useWrite('put', '/api/api-keys/{id}');
  const day = apiKey.expiresAt?.slice(0, 10);
  return (
    <FormDialog
      title={apiKey.name}
      lead={t('apiKeys.change.lead')}
      write={change}
      submit={t('action.save')}
      done={t('list.saved')}
      onClose={onClose}
      onSubmit={(values) => {
        const chosen = values.optional('expiresAt');
        return change.send({
          params: { path: { id: apiKey.id }, header: { 'If-Match': etag } },
          body: {
            name: values.text('name'),
            networks: networksOf(values),
            // The field shows only the day of the expiry. If the day stays the same, the exact time must stay, too.
            ...(chosen !== day && { expiresAt: chosen === undefined ? null : endOfDay(chosen) }),
          },
        });
      }}
    >
      <NameField name={apiKey.name} />
      <NetworksField networks={apiKey.networks} />
      <ExpiryField day={day} />
    </FormDialog>
  );
}
