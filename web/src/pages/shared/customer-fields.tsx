import type { Schemas } from '../../api/paths.ts';
import type { fields } from '../../i18n/en/fields.ts';
import { LANGUAGES, t } from '../../i18n/index.ts';
import { type FormValues, SelectField, TextField } from '../../ui/form.tsx';

/** The optional texts of a customer. The customer's page shows them, and its dialog and a sale have a field for each of them. */
export const CUSTOMER_TEXTS = {
  // A number to call the customer, from which no payments are recognized.
  secondPhone: { label: 'field.secondPhone', type: 'tel', inputMode: 'tel', maxLength: 30 },
  email: { label: 'field.email', type: 'email', inputMode: 'email' },
  nationalId: { label: 'field.nationalId', maxLength: 50 },
} as const satisfies Partial<Record<keyof Schemas['CustomerChanges'], TextProps>>;

interface TextProps {
  label: keyof typeof fields;
  type?: 'tel' | 'email';
  inputMode?: 'tel' | 'email';
  maxLength?: number;
}

export type CustomerText = keyof typeof CUSTOMER_TEXTS;

const TEXTS = Object.entries(CUSTOMER_TEXTS) as [CustomerText, TextProps][];

export function CustomerTextFields({ values }: { values: { [Name in CustomerText]?: string | null } }) {
  return TEXTS.map(([name, { label, ...props }]) => (
    <TextField
      key={name}
      name={name}
      label={t(label)}
      autoComplete="off"
      defaultValue={values[name] ?? ''}
      {...props}
    />
  ));
}

/** The texts for a change of the customer: null for an empty field. */
export function changedTexts(values: FormValues) {
  const texts = TEXTS.map(([name]) => [name, values.optional(name) ?? null]);
  return Object.fromEntries(texts) as Record<CustomerText, string | null>;
}

export function customerTextFacts(customer: Schemas['Customer']) {
  return TEXTS.map(([name, { label }]) => [t(label), customer[name]] as const);
}

/** The language of statements and texts for the customer. */
export function LanguageField({ defaultValue }: { defaultValue?: string | null | undefined }) {
  return (
    <SelectField label={t('field.language')} name="language" defaultValue={defaultValue ?? ''}>
      <option value="">{t('customer.language.company')}</option>
      {Object.entries(LANGUAGES).map(([language, name]) => (
        <option key={language} value={language}>
          {name}
        </option>
      ))}
    </SelectField>
  );
}
