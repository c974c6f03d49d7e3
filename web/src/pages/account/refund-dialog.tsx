import type { Schemas } from '../../api/paths.ts';
import { useWrite } from '../../api/write.ts';
import { t } from '../../i18n/index.ts';
import { TextAreaField } from '../../ui/form.tsx';
import { outcomeOf, withApprovalHint } from '../shared/approval.ts';
import { FormDialog } from '../shared/form-dialog.tsx';
import { PaymentMethodField, ReferenceField } from '../shared/payment-fields.tsx';
import { CreditAmountField } from './credit-amount-field.tsx';

interface RefundDialogProps {
  account: Schemas['Account'];
  onClose(): void;
}

/** Records that credit is paid back to the customer. */
export function RefundDialog({ account, onClose }: RefundDialogProps) {
  const refund = useWrite('post', '/api/accounts/{id}/credit/refund');
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
      done={(answer) => outcomeOf(answer, t('account.refund.done'))}
    >
      <CreditAmountField credit={account.credit} isFirst />
      <PaymentMethodField defaultValue="" />
      <ReferenceField />
      <TextAreaField label={t('field.reason')} name="reason" maxLength={500} required />
    </FormDialog>
  );
}
