import type { accounts as en } from '../en/accounts.ts';

export const accounts: Record<keyof typeof en, string> = {
  'accounts.late': 'Kuchelewa',
  'accounts.late.no': 'Haijachelewa',
  'accounts.late.days': 'Siku {range}',
  'accounts.nextDue': 'Malipo yajayo',
  'accounts.balance': 'Deni lililobaki',
  'accounts.days.one': 'Siku {count}',
  'accounts.days.other': 'Siku {count}',
};
