import type { secrets as en } from '../en/secrets.ts';

export const secrets: Record<keyof typeof en, string> = {
  'secret.once': 'Inakili sasa. Haitaonyeshwa tena.',
  'secret.done': 'Nimeihifadhi',
  'secret.overlap': 'Siri ya awali',
  'secret.overlap.hint': 'Chagua muda unaohitaji kuhifadhi mpya kila mahali.',
  'secret.overlap.none': 'inaacha kufanya kazi mara moja',
  'secret.overlap.hour': 'inafanya kazi kwa saa moja',
  'secret.overlap.day': 'inafanya kazi kwa siku moja',
  'secret.overlap.week': 'inafanya kazi kwa siku saba',
};
