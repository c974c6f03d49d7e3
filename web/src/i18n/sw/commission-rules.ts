import type { commissionRules as en } from '../en/commission-rules.ts';
import { commissionTabs } from './codes.ts';

export const commissionRules: Record<keyof typeof en, string> = {
  ...commissionTabs,
  'commissionRules.new': 'Kanuni mpya',
  'commissionRules.new.lead': 'Kanuni mpya inatumika kwa mauzo ya aina yake katika hesabu zote za baadaye.',
  'commissionRules.others': 'Aina nyingine zote',
  'commissionRules.category.hint': 'Acha wazi kwa aina zote zisizo na kanuni yake.',
  'commissionRules.version': 'Toleo',
  'commissionRules.rate': 'Kiwango',
  'commissionRules.percent': 'Kiwango kwa asilimia',
};
