import { useState } from 'react';
import { api } from '../../api/client.ts';
import { explain } from '../../api/explain.ts';
import type { Schemas } from '../../api/paths.ts';
import { may } from '../../api/session.ts';
import { settings } from '../../api/settings.ts';
import { useWrite } from '../../api/write.ts';
import { format, t, tValue } from '../../i18n/index.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Empty, Loaded, Skeleton } from '../../ui/feedback.tsx';
import { AmountField, Form, FormButtons, TextField } from '../../ui/form.tsx';
import { Panel } from '../../ui/panel.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { toast } from '../../ui/toast.tsx';

type Account = Schemas['Account'];
type PaymentRequest = Schemas['PaymentRequest'];

const TONES: Record<Schemas['PaymentRequestStatus'], Tone> = {
  requested: 'info',
  sent: 'info',
  unknown: 'warning',
  paid: 'good',
  declined: 'bad',
  expired: 'neutral',
};

const SHOWN = 5;

export function RequestButton({ account }: { account: Account }) {
  const [isOpen, setIsOpen] = useState(false);
  if (!settings().paymentRequests || !may('payment-requests:create') || account.balance <= 0) return null;
  return (
    <>
      <Button onClick={() => setIsOpen(true)}>{t('account.request')}</Button>
      {isOpen && <RequestDialog account={account} onClose={() => setIsOpen(false)} />}
    </>
  );
}

function RequestDialog({ account, onClose }: { account: Account; onClose(): void }) {
  const ask = useWrite('post', '/api/accounts/{accountId}/payment-requests');
  const most = Math.ceil(account.balance);
  return (
    <Dialog
      title={t('account.request')}
      lead={t('account.request.lead')}
      canClose={!ask.isSending}
      onClose={onClose}
    >
      <Form
        problem={ask.problem}
        isSending={ask.isSending}
        onSubmit={async (values) => {
          const request = await ask.send({
            params: { path: { accountId: account.id } },
            body: { amount: values.number('amount'), phone: values.text('phone') },
          });
          if (!request) return;
          toast({ text: t('account.request.done', { phone: request.phone }) });
          onClose();
        }}
      >
        <AmountField
          label={t('field.amount')}
          name="amount"
          unit={settings().currency}
          min={1}
          max={most}
          defaultValue={format.plainAmount(Math.min(most, Math.ceil(dueNow(account))))}
          required
          isFirst
        />
        <TextField
          label={t('field.phone')}
          name="phone"
          type="tel"
          defaultValue={account.customer?.phone ?? ''}
          maxLength={32}
          required
        />
        <FormButtons submit={t('account.request.submit')} onCancel={onClose} />
      </Form>
    </Dialog>
  );
}

/** The amount that is due, or else the next instalment. */
function dueNow({ arrears, nextDueAmount, balance }: Account): number {
  return arrears > 0 ? arrears : (nextDueAmount ?? balance);
}

export function PaymentRequests({ accountId }: { accountId: number }) {
  const requests = api.useQuery('get', '/api/accounts/{accountId}/payment-requests', {
    params: { path: { accountId }, query: { limit: SHOWN, sort: 'id:desc' } },
  });
  const columns: Column<PaymentRequest>[] = [
    { name: 'createdAt', label: t('account.request.when'), show: (row) => format.dateTime(row.createdAt) },
    {
      name: 'phone',
      label: t('field.phone'),
      onPhone: 'plain',
      show: (row) => <span className="mono">{row.phone}</span>,
    },
    { name: 'status', label: t('field.status'), onPhone: 'plain', show: showStatus },
    {
      name: 'amount',
      label: t('field.amount'),
      isNumber: true,
      onPhone: 'value',
      show: (row) => format.money(row.amount),
    },
  ];
  return (
    <Panel title={t('account.requests')} isFlush>
      <Loaded query={requests} explain={explain} skeleton={<Skeleton lines={2} />}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty>{t('account.requests.none')}</Empty>
          ) : (
            <Table caption={t('account.requests')} columns={columns} rows={data} keyOf={({ id }) => id} />
          )
        }
      </Loaded>
    </Panel>
  );
}

function showStatus({ status, reason }: PaymentRequest) {
  return (
    <>
      <Badge tone={TONES[status]}>{tValue('paymentRequestStatus', status)}</Badge>
      {reason !== null && <span className="muted"> {tValue('paymentRequestReason', reason)}</span>}
    </>
  );
}
