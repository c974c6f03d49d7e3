import { useState } from 'react';
import type { Schemas } from '../../api/paths.ts';
import { may } from '../../api/session.ts';
import { settings } from '../../api/settings.ts';
import { useWrite } from '../../api/write.ts';
import { format, t, tValue } from '../../i18n/index.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { AmountField, TextField } from '../../ui/form.tsx';
import type { Column } from '../../ui/table.tsx';
import { codeColumn, moneyColumn } from '../shared/columns.tsx';
import { FormDialog } from '../shared/form-dialog.tsx';
import { loaded, TablePanel } from '../shared/table-panel.tsx';

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
    <FormDialog
      title={t('account.request')}
      lead={t('account.request.lead')}
      write={ask}
      submit={t('account.request.submit')}
      onClose={onClose}
      onSubmit={(values) =>
        ask.send({
          params: { path: { accountId: account.id } },
          body: { amount: values.number('amount'), phone: values.text('phone') },
        })
      }
      done={({ phone }) => t('account.request.done', { phone })}
    >
      <AmountField
        label={t('field.amount')}
        name="amount"
        step="any"
        min={1}
        max={most}
        defaultValue={Math.min(most, Math.ceil(suggestedAmount(account)))}
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
    </FormDialog>
  );
}

/** The amount due, or else the next instalment. A written-off account has neither, so its balance is suggested. */
function suggestedAmount({ arrears, nextDueAmount, balance }: Account): number {
  return arrears > 0 ? arrears : (nextDueAmount ?? balance);
}

interface PaymentRequestsProps {
  latest: NonNullable<Schemas['AccountOverview']['paymentRequests']>;
}

export function PaymentRequests({ latest }: PaymentRequestsProps) {
  const columns: Column<PaymentRequest>[] = [
    { name: 'createdAt', label: t('account.request.when'), show: (row) => format.dateTime(row.createdAt) },
    codeColumn('phone', t('field.phone'), ({ phone }) => phone),
    { name: 'status', label: t('field.status'), onPhone: 'plain', show: showStatus },
    moneyColumn('amount', t('field.amount'), ({ amount }) => amount),
  ];
  return (
    <TablePanel
      title={t('account.requests')}
      query={loaded(latest)}
      columns={columns}
      none={t('account.requests.none')}
    />
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
