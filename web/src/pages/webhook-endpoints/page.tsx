import { useState } from 'react';
import { api, KEEPS_LAST } from '../../api/client.ts';
import type { Schemas } from '../../api/paths.ts';
import { useWrite } from '../../api/write.ts';
import { t, tValue } from '../../i18n/index.ts';
import { Badge } from '../../ui/badge.tsx';
import type { Column } from '../../ui/table.tsx';
import { activeFilter, createdColumn } from '../shared/columns.tsx';
import { EndpointFields, readEndpoint } from '../shared/endpoint-fields.tsx';
import { FormDialog } from '../shared/form-dialog.tsx';
import { ResourcePage, useList } from '../shared/list.tsx';
import { SecretDialog } from '../shared/secret-dialog.tsx';

export function Page() {
  const list = useList({ name: 'createdAt', isDescending: true }, [activeFilter()]);
  const endpoints = api.useQuery(
    'get',
    '/api/webhook-endpoints',
    { params: { query: list.query } },
    KEEPS_LAST,
  );
  const columns: Column<Schemas['WebhookEndpoint']>[] = [
    {
      name: 'url',
      label: t('webhooks.url'),
      canSort: true,
      show: ({ url }) => <span className="break">{url}</span>,
    },
    {
      name: 'description',
      label: t('field.description'),
      onPhone: 'plain',
      show: ({ description }) => description,
    },
    {
      name: 'types',
      label: t('webhooks.types'),
      show: ({ types }) => <span className="mono">{types.join(', ')}</span>,
    },
    {
      name: 'active',
      label: t('field.status'),
      onPhone: 'plain',
      show: ({ active, failingSince }) => (
        <Badge tone={failingSince ? 'bad' : active ? 'good' : 'neutral'}>
          {failingSince && active ? t('webhooks.failing') : tValue('active', String(active))}
        </Badge>
      ),
    },
    createdColumn('hidden'),
  ];
  return (
    <ResourcePage
      title={t('nav.webhooks')}
      list={list}
      query={endpoints}
      columns={columns}
      none={t('webhooks.none')}
      hrefOf={({ id }) => `/webhook-endpoints/${id}`}
      create={{ label: t('webhooks.new'), dialog: (close) => <NewEndpointDialog onClose={close} /> }}
    />
  );
}

function NewEndpointDialog({ onClose }: { onClose(): void }) {
  const create = useWrite('post', '/api/webhook-endpoints', { isRepeatable: false });
  const [secret, setSecret] = useState<string>();
  if (secret !== undefined)
    return (
      <SecretDialog
        title={t('webhooks.secret')}
        lead={t('webhooks.secret.lead')}
        secret={secret}
        onClose={onClose}
      />
    );
  return (
    <FormDialog
      title={t('webhooks.new')}
      write={create}
      submit={t('action.create')}
      onClose={onClose}
      onSubmit={(values) => create.send({ body: readEndpoint(values) })}
      onDone={(issued) => setSecret(issued.secret)}
    >
      <EndpointFields />
    </FormDialog>
  );
}
