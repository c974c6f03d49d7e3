import { commissionTabs } from './codes.ts';

export const commissionRules = {
  ...commissionTabs,
  'commissionRules.new': 'New rule',
  'commissionRules.new.lead': 'The new rule applies to the sales of its category in all later calculations.',
  'commissionRules.others': 'All other categories',
  'commissionRules.category.hint': 'Leave it empty for all categories without a rule of their own.',
  'commissionRules.version': 'Version',
  'commissionRules.rate': 'Rate',
  'commissionRules.percent': 'Rate in percent',
} as const;
