import { LANGUAGES, t } from '../../i18n/index.ts';
import { SelectField, TextField } from '../../ui/form.tsx';

/** A number to call the customer, from which no payments are recognized. */
export function SecondPhoneField({ defaultValue }: { defaultValue?: string | null | undefined }) {
  return (
    <TextField
      label={t('field.secondPhone')}
      name="secondPhone"
      type="tel"
      inputMode="tel"
      autoComplete="off"
      maxLength={30}
      defaultValue={defaultValue ?? ''}
    />
  );
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
