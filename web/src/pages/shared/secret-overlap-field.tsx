import { t } from '../../i18n/index.ts';
import { SelectField } from '../../ui/form.tsx';

const HOUR = 3600;

/** How long the previous secret works after a rotation. */
export function SecretOverlapField() {
  return (
    <SelectField
      label={t('secret.overlap')}
      name="overlapSeconds"
      hint={t('secret.overlap.hint')}
      defaultValue={24 * HOUR}
      required
      isFirst
    >
      <option value={0}>{t('secret.overlap.none')}</option>
      <option value={HOUR}>{t('secret.overlap.hour')}</option>
      <option value={24 * HOUR}>{t('secret.overlap.day')}</option>
      <option value={7 * 24 * HOUR}>{t('secret.overlap.week')}</option>
    </SelectField>
  );
}
