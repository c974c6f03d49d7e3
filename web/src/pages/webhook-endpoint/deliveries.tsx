import { api, KEEPS_LAST } from '../../api/client.ts';
import { explain } from '../../api/explain.ts';
import type { Schemas } from '../../api/paths.ts';
import { useWrite } from '../../api/write.ts';
import { format, t, tValue } from '../../i18n/index.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Loaded } from '../../ui/feedback.tsx';
import { Form, FormButtons } from '../../ui/form.tsx';
import { Facts } from '../../ui/panel.tsx';
import type { Column } from '../../ui/table.tsx';
import { toast } from '../../ui/toast.tsx';
import { choiceFilter, codeColumn, timeColumn } from '../shared/columns.tsx';
import { ListPanel, OpenedRow, useList } from '../shared/list.tsx';
import { prettyJson } from '../shared/pretty-json.ts';
import { useConnection } from '../shared/use-connection.ts';

type Delivery = Schemas['WebhookDelivery'];

const TONES: Record<Delivery['outcome'], Tone> = { delivered: 'good', failed: 'warning', given_up: 'bad' };

/** Each attempt to deliver an event, with its request and answer. */
export function Deliveries({ endpointId }: { endpointId: number }) {
  const list = useList({ name: 'id', isDescending: true }, [
    choiceFilter('outcome', t('webhooks.outcome'), Object.keys(TONES), (outcome) =>
      tValue('deliveryOutcome', outcome),
    ),
    { name: 'eventType', label: t('webhooks.eventType') },
  ]);
  const deliveries = api.useQuery(
    'get',
    '/api/webhook-endpoints/{id}/deliveries',
    { params: { path: { id: endpointId }, query: list.query } },
    KEEPS_LAST,
  );
  const columns: Column<Delivery>[] = [
    timeColumn('id', t('field.date'), ({ createdAt }) => createdAt),
    codeColumn('eventType', t('webhooks.eventType'), ({ eventType }) => eventType),
    {
      name: 'outcome',
      label: t('webhooks.outcome'),
      onPhone: 'value',
      show: ({ outcome }) => <Badge tone={TONES[outcome]}>{tValue('deliveryOutcome', outcome)}</Badge>,
    },
    { name: 'status', label: t('webhooks.answer'), show: (row) => row.status ?? row.error },
    { name: 'attempt', label: t('webhooks.attempt'), isNumber: true, show: ({ attempt }) => attempt },
    {
      name: 'durationMs',
      label: t('webhooks.duration'),
      isNumber: true,
      canSort: true,
      show: ({ durationMs }) => t('webhooks.ms', { ms: format.number(durationMs) }),
    },
  ];
  return (
    <>
      <ListPanel
        caption={t('webhooks.deliveries')}
        list={list}
        query={deliveries}
        columns={columns}
        hrefOf={list.hrefOf}
        none={t('webhooks.deliveries.none')}
      />
      <OpenedRow
        title={t('webhooks.deliveries')}
        list={list}
        query={deliveries}
        rowQuery={(id) =>
          api.queryOptions('get', '/api/webhook-endpoints/{id}/deliveries', {
            params: { path: { id: endpointId }, query: { 'filter[id]': { eq: id } } },
          })
        }
        dialogOf={(delivery, close) => (
          <DeliveryDialog endpointId={endpointId} delivery={delivery} onClose={close} />
        )}
      />
    </>
  );
}

interface DeliveryDialogProps {
  endpointId: number;
  delivery: Delivery;
  onClose(): void;
}

function DeliveryDialog({ endpointId, delivery, onClose }: DeliveryDialogProps) {
  const { id, eventId, eventType, outcome, status, error, answer, nextAttemptAt } = delivery;
  const path = { id: endpointId, deliveryId: id };
  const whole = api.useQuery('get', '/api/webhook-endpoints/{id}/deliveries/{deliveryId}', {
    params: { path },
  });
  const resend = useWrite('post', '/api/webhook-endpoints/{id}/resend');
  const connection = useConnection();
  return (
    <Dialog
      title={eventType}
      lead={format.dateTime(delivery.createdAt)}
      canClose={!resend.isSending || connection !== 'ok'}
      onClose={() => {
        resend.stop();
        onClose();
      }}
    >
      <Facts
        rows={[
          [
            t('webhooks.outcome'),
            <Badge key="outcome" tone={TONES[outcome]}>
              {tValue('deliveryOutcome', outcome)}
            </Badge>,
          ],
          [t('webhooks.answer'), status ?? error],
          [t('webhooks.attempt'), delivery.attempt],
          [t('webhooks.duration'), t('webhooks.ms', { ms: format.number(delivery.durationMs) })],
          [t('webhooks.nextAttempt'), nextAttemptAt && format.dateTime(nextAttemptAt)],
          [t('webhooks.eventId'), eventId],
        ]}
      />
      <h3>{t('webhooks.request')}</h3>
      <Code text={headersOf(delivery)} />
      <Loaded query={whole} explain={explain}>
        {({ data }) => <Code text={prettyJson(data.requestBody ?? '')} />}
      </Loaded>
      {answer && (
        <>
          <h3>{t('webhooks.answer')}</h3>
          <Code text={prettyJson(answer)} />
        </>
      )}
      {eventId !== null && (
        <Form
          problem={resend.problem}
          isSending={resend.isSending}
          connection={connection}
          onStop={resend.stop}
          onSubmit={async () => {
            const sent = await resend.send({
              params: { path: { id: endpointId } },
              body: { eventIds: [eventId] },
            });
            if (!sent) return;
            toast({ text: t('webhooks.resent') });
            onClose();
          }}
        >
          <FormButtons submit={t('webhooks.resend')} onCancel={onClose} />
        </Form>
      )}
    </Dialog>
  );
}

/** A request or an answer, in a box that the keyboard can scroll. */
function Code({ text }: { text: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: Keyboards scroll it.
    <pre className="code" tabIndex={0}>
      {text}
    </pre>
  );
}

function headersOf({ requestHeaders }: Delivery): string {
  return Object.entries(requestHeaders)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n');
}
