import type { Schemas } from '../../api/paths.ts';
import { useWrite } from '../../api/write.ts';
import { format, t } from '../../i18n/index.ts';
import { TextAreaField } from '../../ui/form.tsx';
import { outcomeOf, withApprovalHint } from '../shared/approval.ts';
import { FormDialog } from '../shared/form-dialog.tsx';

interface ReversalDialogProps {
  payment: Schemas['Payment'];
  onClose(): void;
}

export function ReversalDialog({ payment, onClose }: ReversalDialogProps) {
  const reverse = useWrite('post', '/api/payments/{id}/reverse');
  return (
    <FormDialog
      title={t('payment.reverse.title', { amount: format.money(payment.amount) })}
      lead={withApprovalHint(t('payment.reverse.text'), payment.amount)}
      write={reverse}
      submit={t('payment.reverse')}
      kind="danger"
      onClose={onClose}
      onSubmit={(values) =>
        reverse.send({ params: { path: { id: payment.id } }, body: { reason: values.text('reason') } })
      }
      done={(answer) => outcomeOf(answer, t('payment.reverse.done'))}
    >
      <TextAreaField label={t('field.reason')} name="reason" maxLength={500} required isFirst />
    </FormDialog>
  );
}
