import type { find as en } from '../en/find.ts';

export const find: Record<keyof typeof en, string> = {
  'find.hint': 'Bonyeza / popote ili kutafuta.',
  'find.some': 'Matokeo {shown} kati ya {total}. Andika zaidi ili kuona mengine.',
  'find.many': 'Matokeo {shown} kati ya zaidi ya {total}. Andika zaidi ili kuona mengine.',
  'find.results.one': 'Tokeo {count}',
  'find.results.other': 'Matokeo {count}',
  'searchType.customer': 'Mteja',
  'searchType.account': 'Akaunti',
  'searchType.payment': 'Malipo',
  'searchType.invoice': 'Ankara',
  'find.accounts.one': 'Akaunti {count} zaidi',
  'find.accounts.other': 'Akaunti {count} zaidi',
  'find.all.customers': 'Wateja wote wanaolingana',
  'find.all.accounts': 'Akaunti zote zinazolingana',
};
