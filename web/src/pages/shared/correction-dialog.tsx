import type { Schemas } from '../../api/paths.ts';
import { useWrite } from '../../api/write.ts';
import { format, t } from '../../i18n/index.ts';
import { AmountField, TextField } from '../../ui/form.tsx';
import { outcomeOf, withApprovalHint } from './approval.ts';
import { FormDialog } from './form-dialog.tsx';

interface CorrectionDialogProps {
  payment: Schemas['Payment'];
  onClose(): void;
}

/** Corrects the amount of a payment that staff recorded. */
export function CorrectionDialog({ payment, onClose }: CorrectionDialogProps) {
  const correct = useWrite('post', '/api/payments/{id}/correct-amount');
  return (
    <FormDialog
      title={t('correction.title', { amount: format.money(payment.amount) })}
      lead={withApprovalHint(t('correction.text'), payment.amount)}
      write={correct}
      submit={t('correction.submit')}
      onClose={onClose}
      onSubmit={(values) =>
        correct.send({
          params: { path: { id: payment.id } },
          body: { amount: values.number('amount'), reason: values.text('reason') },
        })
      }
      done={(answer) => outcomeOf(answer, t('correction.done'))}
    >
      <AmountField
        label={t('correction.amount')}
        name="amount"
        min={format.smallestAmount()}
        defaultValue=""
        required
        isFirst
      />
      <TextField label={t('field.reason')} name="reason" maxLength={500} required />
    </FormDialog>
  );
}
