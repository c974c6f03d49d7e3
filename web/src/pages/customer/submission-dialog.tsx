import type { Schemas } from '../../api/paths.ts';
import { useWrite } from '../../api/write.ts';
import { t } from '../../i18n/index.ts';
import { DateField, TextField } from '../../ui/form.tsx';
import { FormDialog } from '../shared/form-dialog.tsx';
import { VerificationTypeField } from '../shared/verification-type-field.tsx';

interface SubmissionDialogProps {
  customerId: number;
  onClose(): void;
}

/** Submits an identity document of a customer. A user with `kyc:decide` then decides on it. */
export function SubmissionDialog({ customerId, onClose }: SubmissionDialogProps) {
  const submit = useWrite('put', '/api/customers/{id}/kyc');
  return (
    <FormDialog
      title={t('customer.kyc.submit')}
      lead={t('customer.kyc.submit.text')}
      write={submit}
      submit={t('customer.kyc.submit')}
      done={t('customer.kyc.submitted')}
      onClose={onClose}
      onSubmit={(values) => {
        const type = values.text('verificationType') as Schemas['VerificationType'];
        const expiresAt = values.optional('expiresAt');
        const documents = [{ type, number: values.text('documents'), ...(expiresAt && { expiresAt }) }];
        return submit.send({
          params: { path: { id: customerId } },
          body: { verificationType: type, verificationStatus: 'pending', documents },
        });
      }}
    >
      <VerificationTypeField />
      <TextField
        label={t('customer.kyc.number')}
        name="documents"
        maxLength={100}
        autoComplete="off"
        spellCheck={false}
        required
        isFirst
      />
      <DateField
        label={t('customer.kyc.expiresAt')}
        name="expiresAt"
        hint={t('customer.kyc.expiresAt.hint')}
      />
    </FormDialog>
  );
}
