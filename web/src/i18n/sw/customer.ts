import type { customer as en } from '../en/customer.ts';
import { phoneProblems } from './codes.ts';
import { history } from './history.ts';

export const customer: Record<keyof typeof en, string> = {
  ...phoneProblems,
  ...history,
  'customer.title': 'Mteja',
  'customer.edit': 'Hariri mteja',
  'customer.contact': 'Mawasiliano',
  'customer.phoneProblem': 'Tatizo la namba ya simu',
  'customer.since': 'Mteja tangu',
  'customer.accounts.none': 'Mteja huyu hana akaunti bado.',
  'customer.kyc.none': 'Hakuna hati zilizowasilishwa.',
  'customer.kyc.verify': 'Thibitisha',
  'customer.kyc.reject': 'Kataa',
  'customer.kyc.decided': 'Uamuzi umehifadhiwa',
  'customer.kyc.by': '{actor}, {date}',
  'customer.kyc.submit': 'Wasilisha hati',
  'customer.kyc.submit.text': 'Mtu mwenye ruhusa ataithibitisha au kuikataa.',
  'customer.kyc.submitted': 'Hati imewasilishwa',
  'customer.kyc.expiresAt': 'Mwisho wa matumizi',
  'customer.kyc.expiresAt.hint':
    'Kuanzia siku hii, hati haitumiki tena. Acha wazi kama hati haina siku hiyo.',
  'customer.kyc.otherNumber': 'Namba tofauti',
  'customer.kyc.otherNumber.text':
    'Namba ya hati ni tofauti na kitambulisho cha taifa cha mteja. Sahihisha mteja, au thibitisha hata hivyo.',
  'customer.kyc.otherNumber.confirm': 'Thibitisha hata hivyo',
};
