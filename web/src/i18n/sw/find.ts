import type { find as en } from '../en/find.ts';

export const find: Record<keyof typeof en, string> = {
  'find.title': 'Tafuta',
  'find.placeholder': 'Jina, simu, akaunti, kumbukumbu au ankara',
  'find.hint': 'Bonyeza / popote ili kutafuta.',
  'find.results.one': 'Tokeo {count}',
  'find.results.other': 'Matokeo {count}',
  'find.none': 'Hakuna kilichopatikana. Jaribu sehemu ya jina, namba ya simu, au namba ya akaunti.',
  'find.short': 'Andika angalau herufi mbili.',
};
