import type { commissionRules as en } from '../en/commission-rules.ts';

export const commissionRules: Record<keyof typeof en, string> = {
  'commissionRules.new': 'Kanuni mpya',
  'commissionRules.new.lead':
    'Inachukua nafasi ya kanuni ya aina hiyo kwa kamisheni zitakazokokotolewa kuanzia sasa.',
  'commissionRules.others': 'Aina nyingine zote',
  'commissionRules.category.hint': 'Acha wazi kwa aina zote zisizo na kanuni yake.',
  'commissionRules.version': 'Toleo',
  'commissionRules.rate': 'Kiwango',
  'commissionRules.percent': 'Kiwango kwa asilimia',
};
