/** The documents that prove who a customer is. */
export const VERIFICATION_TYPES = [
  'national_id',
  'passport',
  'alien_id',
  'driving_licence',
  'voter_id',
  'tax_pin',
  'business_registration',
] as const;
