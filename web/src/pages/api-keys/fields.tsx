import { t } from '../../i18n/index.ts';
import { DateField, type FormValues, TextAreaField, TextField } from '../../ui/form.tsx';

export function NameField({ name }: { name?: string }) {
  return (
    <TextField
      label={t('field.name')}
      name="name"
      hint={t('apiKeys.name.hint')}
      maxLength={100}
      defaultValue={name}
      required
      isFirst
    />
  );
}

export function NetworksField({ networks }: { networks?: readonly string[] | null }) {
  return (
    <TextAreaField
      label={t('apiKeys.networks')}
      name="networks"
      hint={t('apiKeys.networks.hint')}
      defaultValue={networks?.join('\n')}
      spellCheck={false}
    />
  );
}

/** @param day YYYY-MM-DD */
export function ExpiryField({ day }: { day?: string | undefined }) {
  return (
    <DateField
      label={t('apiKeys.expires')}
      name="expiresAt"
      hint={t('apiKeys.expires.hint')}
      defaultValue={day}
    />
  );
}

/** Null allows any network. */
export function networksOf(values: FormValues): string[] | null {
  const networks = values.lines('networks');
  return networks.length > 0 ? networks : null;
}

export function endOfDay(day: string): string {
  return `${day}T23:59:59Z`;
}
