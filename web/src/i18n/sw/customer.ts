import type { customer as en } from '../en/customer.ts';

export const customer: Record<keyof typeof en, string> = {
  'customer.title': 'Mteja',
  'customer.contact': 'Mawasiliano',
  'customer.externalId': 'Namba ya nje',
  'customer.since': 'Mteja tangu',
  'customer.accounts': 'Akaunti',
  'customer.accounts.none': 'Mteja huyu hana akaunti bado.',
  'customer.kyc.none': 'Hakuna hati zilizowasilishwa.',
  'customer.kyc.verify': 'Thibitisha',
  'customer.kyc.reject': 'Kataa',
  'customer.kyc.decided': 'Uamuzi umehifadhiwa',
  'customer.kyc.by': '{actor}, {date}',
};
