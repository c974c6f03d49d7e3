import type { ChangeEvent } from 'react';
import { t } from '../../i18n/index.ts';
import { SelectField, TextField } from '../../ui/form.tsx';
import { usePaymentMethods } from './catalogue.ts';

interface PaymentMethodFieldProps {
  defaultValue?: string;
  value?: string;
  onChange?: (event: ChangeEvent<HTMLSelectElement>) => void;
  hint?: string | undefined;
}

/** No method is preselected, because it would often be wrong, and users would not notice. */
export function PaymentMethodField(props: PaymentMethodFieldProps) {
  const methods = usePaymentMethods().filter(({ active }) => active);
  return (
    <SelectField label={t('field.paymentMethod')} name="paymentMethodId" {...props} required>
      <option value="" disabled hidden />
      {methods.map(({ id, name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </SelectField>
  );
}

/** The number of the transaction or the receipt. */
export function ReferenceField({ defaultValue }: { defaultValue?: string | undefined }) {
  return (
    <TextField
      label={t('field.reference')}
      name="transactionRef"
      hint={t('account.pay.reference.hint')}
      defaultValue={defaultValue}
      maxLength={100}
      autoComplete="off"
      spellCheck={false}
    />
  );
}
