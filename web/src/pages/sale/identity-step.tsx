import { t, tValue } from '../../i18n/index.ts';
import { Badge } from '../../ui/badge.tsx';
import { Form, FormButtons, TextField } from '../../ui/form.tsx';
import { KYC_TONES } from '../shared/tones.ts';
import { VerificationTypeField } from '../shared/verification-type-field.tsx';
import { keepTyped, type StepProps } from './sales.ts';

/** The identity document of the customer. Staff verify it later. Without a number, the sale has no document. */
export function IdentityStep({ sale, onDone, onBack }: StepProps) {
  const { typed, customer, parts } = sale;
  const number = typed.documentNumber ?? typed.nationalId ?? '';
  return (
    <Form
      problem={parts.identity.problem}
      isSending={false}
      onSubmit={(values) => {
        // Keeps the number even if nobody typed it here, because it may come from the customer step.
        keepTyped(sale.id, {
          verificationType: values.text('verificationType'),
          documentNumber: values.text('documentNumber'),
        });
        onDone();
      }}
    >
      {customer?.kycStatus && (
        <p>
          <Badge tone={KYC_TONES[customer.kycStatus]}>
            {`${t('customer.kyc')}: ${tValue('kycStatus', customer.kycStatus)}`}
          </Badge>
        </p>
      )}
      <VerificationTypeField type={typed.verificationType} />
      <TextField
        label={t('customer.kyc.number')}
        name="documentNumber"
        defaultValue={number}
        maxLength={100}
        autoComplete="off"
        spellCheck={false}
        hint={t('sale.documentNumber.hint')}
        isFirst
      />
      <FormButtons submit={t('sale.next')} onCancel={onBack} cancel={t('action.back')} />
    </Form>
  );
}
