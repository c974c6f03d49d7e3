import type { Schemas } from '../../api/paths.ts';
import { useWrite } from '../../api/write.ts';
import { t } from '../../i18n/index.ts';
import { SelectField, TextAreaField, TextField } from '../../ui/form.tsx';
import { toastOutcome, withApprovalHint } from '../shared/approval.ts';
import { FormDialog } from '../shared/form-dialog.tsx';
import { usePaymentMethods } from '../shared/payment-methods.ts';
import { CreditAmountField } from './credit-amount-field.tsx';

interface RefundDialogProps {
  account: Schemas['Account'];
  onClose(): void;
}

/** Records credit that was paid back to the customer. */
export function RefundDialog({ account, onClose }: RefundDialogProps) {
  const refund = useWrite('post', '/api/accounts/{id}/credit/refund');
  const methods = usePaymentMethods().filter(({ active }) => active);
  return (
    <FormDialog
      title={t('account.refund')}
      lead={withApprovalHint(t('account.refund.text'), account.credit)}
      write={refund}
      submit={t('account.refund')}
      onClose={onClose}
      onSubmit={(values) =>
        refund.send({
          params: { path: { id: account.id } },
          body: {
            amount: values.number('amount'),
            reason: values.text('reason'),
            paymentMethodId: values.number('paymentMethodId'),
            transactionRef: values.optional('transactionRef') ?? null,
          },
        })
      }
      onDone={(done) => {
        toastOutcome(done, t('account.refund.done'));
        onClose();
      }}
    >
      <CreditAmountField credit={account.credit} isFirst />
      {/* As for payments, no method is chosen for the user. */}
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
      <TextAreaField label={t('field.reason')} name="reason" maxLength={500} required />
    </FormDialog>
  );
}
