import { settings } from '../../api/settings.ts';
import { t } from '../../i18n/index.ts';
import { DateField } from '../../ui/form.tsx';

export function ReconciliationDate({ earliest }: { earliest: string | null }) {
  const { today } = settings();
  return (
    <DateField
      label={t('providerStatements.date')}
      name="reconciliationDate"
      defaultValue={today}
      {...(earliest && { min: earliest })}
      hint={t('providerStatements.date.hint')}
      required
      isFirst
    />
  );
}
