import type { Schemas } from '../../api/paths.ts';
import { useWrite } from '../../api/write.ts';
import { t, tValue } from '../../i18n/index.ts';
import { SelectField, TextField } from '../../ui/form.tsx';
import { FormDialog } from '../shared/form-dialog.tsx';
import { VERIFICATION_TYPES } from '../shared/verification-types.ts';

interface SubmissionDialogProps {
  customerId: number;
  onClose(): void;
}

/** Submits a document of a customer. A user with the permission decides on it. */
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
        const documents = [{ type, number: values.text('documents') }];
        return submit.send({
          params: { path: { id: customerId } },
          body: { verificationType: type, verificationStatus: 'pending', documents },
        });
      }}
    >
      <SelectField label={t('customer.kyc.type')} name="verificationType" defaultValue="national_id" required>
        {VERIFICATION_TYPES.map((type) => (
          <option key={type} value={type}>
            {tValue('verificationType', type)}
          </option>
        ))}
      </SelectField>
      <TextField
        label={t('customer.kyc.number')}
        name="documents"
        maxLength={100}
        autoComplete="off"
        spellCheck={false}
        required
        isFirst
      />
    </FormDialog>
  );
}
