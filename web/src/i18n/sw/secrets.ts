import type { secrets as en } from '../en/secrets.ts';

export const secrets: Record<keyof typeof en, string> = {
  'secret.once': 'Inakili sasa. Haitaonyeshwa tena.',
  'secret.done': 'Nimeihifadhi',
  'secret.overlap': 'Siri ya awali itafanya kazi kwa',
  'secret.overlap.hint': 'Muda wa kuhifadhi mpya kila mahali.',
  'secret.overlap.none': 'Haitafanya kazi tena',
  'secret.overlap.hour': 'Saa moja',
  'secret.overlap.day': 'Siku moja',
  'secret.overlap.week': 'Siku saba',
};
