import { expect, it } from 'vitest';
import type { VerificationType } from '../../core/database/tables.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import { refuseVerification } from './rules.ts';

it.each<[VerificationType, string, boolean]>([
  ['national_id', 'front', true],
  ['alien_id', 'back side', true],
  ['national_id', 'passport front', false],
  ['passport', 'front', false],
  ['driving_licence', 'back', false],
  ['voter_id', 'front', false],
  ['passport', 'national_id', true],
  ['passport', 'ID card, front', true],
])(
  'a verification by %s with another number in a document of the type "%s" needs a confirmation: %s',
  (verificationType, type, needed) => {
    const refused = refuseVerification(
      { verificationType, documents: [{ type, number: 'AK1' }], areEarlier: false, confirmed: [] },
      { nationalId: '12345678' },
      '2026-11-02' as PlainDate,
    );
    expect(refused !== undefined).toBe(needed);
  },
);
