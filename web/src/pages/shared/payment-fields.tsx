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

/** The methods with which the user can record payments, and the earliest date that one of them allows. */
export function useRecordableMethods() {
  const methods = usePaymentMethods().filter(({ recordableFrom }) => recordableFrom !== null);
  const [earliest] = methods.flatMap(({ recordableFrom }) => recordableFrom ?? []).sort();
  return { methods, earliest };
}

/** Without a `defaultValue`, no method is preselected, because it would often be wrong, and users would not notice. */
export function PaymentMethodField(props: PaymentMethodFieldProps) {
  const { methods } = useRecordableMethods();
  return (
    // The default can be chosen only when the methods are loaded.
    <SelectField
      key={methods.length === 0 ? 'loading' : 'loaded'}
      label={t('field.paymentMethod')}
      name="paymentMethodId"
      {...props}
      required
    >
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
