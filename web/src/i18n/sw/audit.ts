import type { audit as en } from '../en/audit.ts';

export const audit: Record<keyof typeof en, string> = {
  'audit.resource': 'Nini',
  'audit.resourceId': 'Kitambulisho chake',
  'audit.actor': 'Nani',
  'audit.action': 'Kitendo',
  'audit.request': 'Ombi',
  'audit.changes': 'Mabadiliko',
  'audit.field': 'Sehemu',
  'audit.before': 'Kabla',
  'audit.after': 'Baada',
};
