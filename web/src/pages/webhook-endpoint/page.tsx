import { useState } from 'react';
import { useLocation } from 'wouter';
import { api, client } from '../../api/client.ts';
import { explain } from '../../api/explain.ts';
import type { Schemas } from '../../api/paths.ts';
import { useWrite } from '../../api/write.ts';
import { format, t, tValue } from '../../i18n/index.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Loaded, Notice, Skeleton } from '../../ui/feedback.tsx';
import { MoreActions } from '../../ui/menu.tsx';
import { PageHead } from '../../ui/panel.tsx';
import { toast } from '../../ui/toast.tsx';
import { EndpointFields, readEndpoint } from '../shared/endpoint-fields.tsx';
import { FormDialog } from '../shared/form-dialog.tsx';
import { LatestVersion } from '../shared/latest-version.tsx';
import { SecretDialog } from '../shared/secret-dialog.tsx';
import { SecretOverlapField } from '../shared/secret-overlap-field.tsx';
import { WriteNotice } from '../shared/write-notice.tsx';
import { Deliveries } from './deliveries.tsx';

type Endpoint = Schemas['WebhookEndpoint'];

export function Page({ id }: { id: string }) {
  const endpoint = api.useQuery('get', '/api/webhook-endpoints/{id}', {
    params: { path: { id: Number(id) } },
  });
  return (
    <Loaded query={endpoint} explain={explain} skeleton={<Skeleton lines={8} />}>
      {({ data }) => <EndpointPage endpoint={data} />}
    </Loaded>
  );
}

function EndpointPage({ endpoint }: { endpoint: Endpoint }) {
  const { id, active, description, types } = endpoint;
  const [opened, setOpened] = useState<'edit' | 'rotate' | 'delete'>();
  const close = () => setOpened(undefined);
  const test = useWrite('post', '/api/webhook-endpoints/{id}/test', { isRepeatable: false });
  const change = useWrite('put', '/api/webhook-endpoints/{id}');
  const path = { id };
  return (
    <>
      <PageHead
        eyebrow={t('webhooks.endpoint')}
        title={<span className="break">{endpoint.url}</span>}
        tabTitle={`${t('webhooks.endpoint')} ${id}`}
        actions={
          <>
            <Button
              kind="primary"
              isBusy={test.isSending}
              onClick={async () => {
                const result = await test.send({ params: { path }, body: {} });
                if (result)
                  toast({
                    tone: result.outcome === 'delivered' ? 'good' : 'bad',
                    text: t('webhooks.tested', {
                      outcome: tValue('deliveryOutcome', result.outcome),
                      answer: result.status ?? result.error ?? '',
                    }),
                  });
              }}
            >
              {t('webhooks.test')}
            </Button>
            <Button
              isBusy={change.isSending}
              onClick={async () => {
                const changed = await change.send({ params: { path }, body: { active: !active } });
                if (changed) toast({ text: t('list.saved') });
              }}
            >
              {t(active ? 'webhooks.disable' : 'webhooks.enable')}
            </Button>
            <MoreActions
              label={t('action.more')}
              actions={[
                { label: t('action.edit'), onChoose: () => setOpened('edit') },
                { label: t('webhooks.rotate'), onChoose: () => setOpened('rotate') },
                { label: t('action.delete'), onChoose: () => setOpened('delete') },
              ]}
            />
          </>
        }
      >
        <Badge tone={active ? 'good' : 'neutral'}>{tValue('active', String(active))}</Badge>
        <span className="mono">{types.join(', ')}</span>
        {description && <span>{description}</span>}
      </PageHead>
      <EndpointNotices endpoint={endpoint} />
      <WriteNotice problem={test.problem} title={t('form.failed')} />
      <WriteNotice problem={change.problem} title={t('form.failed')} />
      <Deliveries endpointId={id} />
      {opened === 'edit' && (
        <LatestVersion
          title={t('webhooks.endpoint')}
          read={() => client.GET('/api/webhook-endpoints/{id}', { params: { path: { id: endpoint.id } } })}
          onClose={close}
        >
          {(latest, etag) => <EditDialog endpoint={latest} etag={etag} onClose={close} />}
        </LatestVersion>
      )}
      {opened === 'rotate' && <RotateDialog id={id} onClose={close} />}
      {opened === 'delete' && <DeleteDialog endpoint={endpoint} onClose={close} />}
    </>
  );
}

/** Says whether the endpoint is disabled, failing or paused, and whether two secrets are valid. */
function EndpointNotices({ endpoint }: { endpoint: Endpoint }) {
  const { disabledReason, disabledAt, failingSince, pausedUntil, previousSecretExpiresAt } = endpoint;
  return (
    <>
      {disabledReason && disabledAt && (
        <Notice tone="warning" title={tValue('disabledReason', disabledReason)}>
          {format.dateTime(disabledAt)}
        </Notice>
      )}
      {failingSince && !disabledReason && (
        <Notice tone="bad" title={t('webhooks.failingSince', { date: format.dateTime(failingSince) })}>
          {pausedUntil && t('webhooks.pausedUntil', { date: format.dateTime(pausedUntil) })}
        </Notice>
      )}
      {previousSecretExpiresAt && (
        <Notice tone="info">
          {t('webhooks.twoSecrets', { date: format.dateTime(previousSecretExpiresAt) })}
        </Notice>
      )}
    </>
  );
}

function EditDialog({ endpoint, etag, onClose }: { endpoint: Endpoint; etag: string; onClose(): void }) {
  const change = useWrite('put', '/api/webhook-endpoints/{id}');
  return (
    <FormDialog
      title={t('webhooks.endpoint')}
      write={change}
      submit={t('action.save')}
      done={t('list.saved')}
      onClose={onClose}
      onSubmit={(values) =>
        change.send({
          params: { path: { id: endpoint.id }, header: { 'If-Match': etag } },
          body: readEndpoint(values),
        })
      }
    >
      <EndpointFields endpoint={endpoint} />
    </FormDialog>
  );
}

function RotateDialog({ id, onClose }: { id: number; onClose(): void }) {
  const rotate = useWrite('post', '/api/webhook-endpoints/{id}/rotate-secret', { isRepeatable: false });
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
      title={t('webhooks.rotate')}
      write={rotate}
      submit={t('webhooks.rotate')}
      onClose={onClose}
      onSubmit={(values) =>
        rotate.send({ params: { path: { id } }, body: { overlapSeconds: values.number('overlapSeconds') } })
      }
      onDone={(issued) => setSecret(issued.secret)}
    >
      <SecretOverlapField />
    </FormDialog>
  );
}

function DeleteDialog({ endpoint, onClose }: { endpoint: Endpoint; onClose(): void }) {
  const remove = useWrite('delete', '/api/webhook-endpoints/{id}');
  const [, navigate] = useLocation();
  return (
    <FormDialog
      title={t('webhooks.delete')}
      lead={t('webhooks.delete.lead')}
      write={remove}
      submit={t('action.delete')}
      kind="danger"
      done={t('webhooks.deleted')}
      onClose={onClose}
      onSubmit={() => remove.send({ params: { path: { id: endpoint.id } }, body: {} })}
      onDone={() => navigate('/webhook-endpoints', { replace: true })}
    />
  );
}
