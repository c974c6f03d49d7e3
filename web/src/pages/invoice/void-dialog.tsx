import type { Schemas } from '../../api/paths.ts';
import { useWrite } from '../../api/write.ts';
import { t } from '../../i18n/index.ts';
import { TextAreaField } from '../../ui/form.tsx';
import { FormDialog } from '../shared/form-dialog.tsx';

interface VoidDialogProps {
  invoice: Schemas['Invoice'];
  onClose(): void;
}

export function VoidDialog({ invoice, onClose }: VoidDialogProps) {
  const voiding = useWrite('post', '/api/invoices/{id}/void');
  return (
    <FormDialog
      title={t('invoices.void')}
      lead={t('invoices.void.lead', { number: invoice.number })}
      write={voiding}
      submit={t('invoices.void')}
      kind="danger"
      done={t('invoices.voided')}
      onClose={onClose}
      onSubmit={(values) =>
        voiding.send({ params: { path: { id: invoice.id } }, body: { reason: values.text('reason') } })
      }
    >
      <TextAreaField label={t('field.reason')} name="reason" maxLength={500} required isFirst />
    </FormDialog>
  );
}
