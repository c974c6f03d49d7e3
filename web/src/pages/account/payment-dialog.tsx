import { useState } from 'react';
import type { Schemas } from '../../api/paths.ts';
import { settings } from '../../api/settings.ts';
import { useWrite } from '../../api/write.ts';
import { format, t } from '../../i18n/index.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { AmountField, DateField, Form, FormButtons, SelectField, TextField } from '../../ui/form.tsx';
import { toast } from '../../ui/toast.tsx';
import { usePaymentMethods } from '../shared/payment-methods.ts';
import { useIsWaiting } from '../shared/use-is-waiting.ts';

interface PaymentDialogProps {
  account: Schemas['Account'];
  onClose(): void;
}

export function PaymentDialog({ account, onClose }: PaymentDialogProps) {
  const record = useWrite('post', '/api/payments');
  const isWaiting = useIsWaiting();
  const methods = usePaymentMethods().filter(({ active }) => active);
  const { today, currency, currencyDecimals } = settings();
  const [amount, setAmount] = useState('');
  return (
    <Dialog
      title={t('account.pay.title')}
      lead={t('account.pay.to', { name: account.customer?.name ?? '', number: account.accountNumber })}
      canClose={!record.isSending}
      onClose={onClose}
    >
      <Form
        problem={record.problem}
        isSending={record.isSending}
        isWaiting={isWaiting}
        onStop={record.stop}
        onSubmit={async (values) => {
          const payment = await record.send({
            body: {
              accountId: account.id,
              amount: values.number('amount'),
              paymentMethodId: values.number('paymentMethodId'),
              paymentDate: values.text('paymentDate'),
              transactionRef: values.optional('transactionRef') ?? null,
            },
          });
          if (!payment) return;
          toast({ text: t('account.pay.done', { amount: format.money(payment.amount) }) });
          onClose();
        }}
      >
        <AmountField
          label={t('field.amount')}
          name="amount"
          unit={currency}
          step={10 ** -currencyDecimals}
          min={10 ** -currencyDecimals}
          value={amount}
          onChange={(event) => setAmount(event.target.value)}
          hint={
            <Suggestions account={account} onChoose={(chosen) => setAmount(format.plainAmount(chosen))} />
          }
          required
          isFirst
        />
        {/* No method is chosen for the user: the first of the list would often be wrong, and nobody would see it. */}
        <SelectField label={t('field.paymentMethod')} name="paymentMethodId" defaultValue="" required>
          <option value="" disabled hidden />
          {methods.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </SelectField>
        <TextField
          label={t('field.reference')}
          name="transactionRef"
          hint={t('account.pay.reference.hint')}
          maxLength={100}
          autoComplete="off"
          spellCheck={false}
        />
        <DateField
          label={t('account.pay.date')}
          name="paymentDate"
          defaultValue={today}
          max={today}
          required
        />
        <FormButtons submit={t('account.recordPayment')} onCancel={onClose} />
      </Form>
    </Dialog>
  );
}

/** Amounts that are often paid. */
function Suggestions({ account, onChoose }: { account: Schemas['Account']; onChoose(amount: number): void }) {
  const { arrears, nextDueAmount, balance } = account;
  const all = [
    { key: 'overdue', amount: arrears },
    { key: 'next', amount: nextDueAmount ?? 0 },
    { key: 'all', amount: balance },
  ] as const;
  const shown = all.filter(
    ({ amount }, at) => amount > 0 && all.findIndex((one) => one.amount === amount) === at,
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
