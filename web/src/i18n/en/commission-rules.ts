export const commissionRules = {
  'commissionRules.new': 'New rule',
  'commissionRules.new.lead':
    'It replaces the rule of the category for commissions that are calculated from now on.',
  'commissionRules.others': 'All other categories',
  'commissionRules.category.hint': 'Leave it empty for all categories without a rule of their own.',
  'commissionRules.version': 'Version',
  'commissionRules.rate': 'Rate',
  'commissionRules.percent': 'Rate in percent',
} as const;
