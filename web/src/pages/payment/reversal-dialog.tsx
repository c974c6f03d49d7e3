import type { Schemas } from '../../api/paths.ts';
import { useWrite } from '../../api/write.ts';
import { format, t } from '../../i18n/index.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Form, FormButtons, TextAreaField } from '../../ui/form.tsx';
import { toastOutcome, withApprovalHint } from '../shared/approval.ts';

interface ReversalDialogProps {
  payment: Schemas['Payment'];
  onClose(): void;
}

export function ReversalDialog({ payment, onClose }: ReversalDialogProps) {
  const reverse = useWrite('post', '/api/payments/{id}/reverse');
  return (
    <Dialog
      title={t('payment.reverse.title', { amount: format.money(payment.amount) })}
      lead={withApprovalHint(t('payment.reverse.text'), payment.amount)}
      canClose={!reverse.isSending}
      onClose={onClose}
    >
      <Form
        problem={reverse.problem}
        isSending={reverse.isSending}
        onStop={reverse.stop}
        onSubmit={async (values) => {
          const reason = values.text('reason');
          const answer = await reverse.send({ params: { path: { id: payment.id } }, body: { reason } });
          if (!answer) return;
          toastOutcome(answer, t('payment.reverse.done'));
          onClose();
        }}
      >
        <TextAreaField label={t('field.reason')} name="reason" maxLength={500} required isFirst />
        <FormButtons submit={t('payment.reverse')} kind="danger" onCancel={onClose} />
      </Form>
    </Dialog>
  );
}
