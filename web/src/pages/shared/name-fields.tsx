import { t } from '../../i18n/index.ts';
import { TextField } from '../../ui/form.tsx';

export function NameFields({ person }: { person?: { firstName: string; lastName: string } }) {
  return (
    <>
      <TextField
        label={t('field.firstName')}
        name="firstName"
        maxLength={100}
        defaultValue={person?.firstName}
        required
        isFirst
      />
      <TextField
        label={t('field.lastName')}
        name="lastName"
        maxLength={100}
        defaultValue={person?.lastName}
        required
      />
    </>
  );
}
