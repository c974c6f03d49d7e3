import type { today as en } from '../en/today.ts';

export const today: Record<keyof typeof en, string> = {
  'today.title': 'Leo',
  'today.received': 'Iliyopokelewa leo',
  'today.week': 'Iliyopokelewa wiki hii',
  'today.expected': '{amount} ya awamu inadaiwa',
  'today.nothingExpected': 'Hakuna awamu inayodaiwa',
  'today.outstanding': 'Deni lililobaki',
  'today.arrears': 'Malimbikizo',
  'today.par30.one': 'Akaunti {count} imechelewa zaidi ya siku 30',
  'today.par30.other': 'Akaunti {count} zimechelewa zaidi ya siku 30',
  'today.byDay': 'Iliyopokelewa siku saba zilizopita',
  'today.late': 'Zilizochelewa kwa muda mrefu zaidi',
  'today.late.none': 'Hakuna akaunti iliyochelewa.',
  'today.late.since': 'Kuchelewa',
  'today.attention': 'Inahitaji kushughulikiwa',
  'today.unmatched': 'Malipo yasiyolinganishwa',
  'today.conflicts': 'Migongano na malipo yaliyoingizwa kwa mkono',
  'today.rejected': 'Taarifa zilizokataliwa',
  'today.webhooks': 'Anwani za webhook zinazoshindwa',
  'today.lastNotification': 'Taarifa ya mwisho ya mtoa huduma',
  'today.lastNotification.none': 'Hakuna bado',
};
