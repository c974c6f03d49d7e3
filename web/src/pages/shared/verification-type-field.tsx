import type { Schemas } from '../../api/paths.ts';
import { t, tValue } from '../../i18n/index.ts';
import { SelectField } from '../../ui/form.tsx';

const TYPES = [
  'national_id',
  'passport',
  'alien_id',
  'driving_licence',
  'voter_id',
  'tax_pin',
  'business_registration',
] as const satisfies Schemas['VerificationType'][];

/** The type of the document that proves who a customer is. */
export function VerificationTypeField({ type = 'national_id' }: { type?: string | undefined }) {
  return (
    <SelectField label={t('customer.kyc.type')} name="verificationType" defaultValue={type} required>
      {TYPES.map((value) => (
        <option key={value} value={value}>
          {tValue('verificationType', value)}
        </option>
      ))}
    </SelectField>
  );
}
