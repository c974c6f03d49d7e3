export const payPlans = {
  'payPlans.new': 'New pay plan',
  'payPlans.new.lead': 'The product, amounts, instalments and days of grace cannot be changed later.',
  'payPlans.fixed':
    'The product, amounts, instalments and days of grace cannot be changed. Create another plan instead.',
  'payPlans.anyProduct': 'Any product',
  'payPlans.autoSuspend': 'Suspend late accounts automatically',
  'payPlans.active': 'Can be chosen for new accounts',
  'field.frequency': 'Frequency',
  'field.graceDays': 'Days of grace',
  'field.instalmentAmount': 'Instalment',
  'field.instalmentCount': 'Number of instalments',
} as const;
