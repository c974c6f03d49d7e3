import type { accounts as en } from '../en/accounts.ts';

export const accounts: Record<keyof typeof en, string> = {
  'accounts.search': 'Namba ya akaunti au mteja',
  'accounts.late': 'Kuchelewa',
  'accounts.late.no': 'Haijachelewa',
  'accounts.late.days': 'Siku {range}',
  'accounts.restructured': 'Umepangwa upya',
  'accounts.restructured.deferral': 'awamu zimeahirishwa {date}',
  'accounts.restructured.revision': 'mpango umebadilishwa {date}',
};
