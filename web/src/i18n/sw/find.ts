import type { find as en } from '../en/find.ts';

export const find: Record<keyof typeof en, string> = {
  'find.hint': 'Bonyeza / popote ili kutafuta.',
};
