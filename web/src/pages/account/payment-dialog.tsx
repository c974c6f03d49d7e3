import { useState } from 'react';
import type { Schemas } from '../../api/paths.ts';
import { settings } from '../../api/settings.ts';
import { useWrite } from '../../api/write.ts';
import { format, t } from '../../i18n/index.ts';
import { AmountField, DateField } from '../../ui/form.tsx';
import { FormDialog } from '../shared/form-dialog.tsx';
import { PaymentMethodField, ReferenceField } from '../shared/payment-fields.tsx';

interface PaymentDialogProps {
  account: Schemas['Account'];
  onClose(): void;
}

export function PaymentDialog({ account, onClose }: PaymentDialogProps) {
  const record = useWrite('post', '/api/payments');
  const { today } = settings();
  const [amount, setAmount] = useState('');
  return (
    <FormDialog
      title={t('account.pay.title')}
      lead={t('account.pay.to', { name: account.customer?.name ?? '', number: account.accountNumber })}
      write={record}
      submit={t('account.recordPayment')}
      onClose={onClose}
      onSubmit={(values) =>
        record.send({
          body: {
            accountId: account.id,
            amount: values.number('amount'),
            paymentMethodId: values.number('paymentMethodId'),
            paymentDate: values.text('paymentDate'),
            transactionRef: values.optional('transactionRef') ?? null,
          },
        })
      }
      done={(payment) => t('account.pay.done', { amount: format.money(payment.amount) })}
    >
      <AmountField
        label={t('field.amount')}
        name="amount"
        min={format.smallestAmount()}
        value={amount}
        onChange={(event) => setAmount(event.target.value)}
        hint={<Suggestions account={account} onChoose={(chosen) => setAmount(String(chosen))} />}
        required
        isFirst
      />
      <PaymentMethodField defaultValue="" />
      <ReferenceField />
      <DateField label={t('account.pay.date')} name="paymentDate" defaultValue={today} max={today} required />
    </FormDialog>
  );
}

/** Buttons for the amounts that customers often pay. */
function Suggestions({ account, onChoose }: { account: Schemas['Account']; onChoose(amount: number): void }) {
  const { arrears, nextDueAmount, balance } = account;
  const all = [
    { key: 'due', amount: arrears },
    { key: 'next', amount: nextDueAmount ?? 0 },
    { key: 'all', amount: balance },
  ] as const;
  const shown = all.filter(
    ({ amount }, at) => amount > 0 && all.findIndex((other) => other.amount === amount) === at,
  );
  return (
    <span className="chips">
      {shown.map(({ key, amount }) => (
        <button key={key} type="button" className="chip" onClick={() => onChoose(amount)}>
          {t(`account.pay.suggest.${key}`, { amount: format.money(amount) })}
        </button>
      ))}
    </span>
  );
}
