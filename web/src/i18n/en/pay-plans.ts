import { planFields, plans } from './plans.ts';

export const payPlans = {
  ...plans,
  ...planFields,
  'payPlans.new': 'New pay plan',
  'payPlans.new.lead': 'The product, amounts, instalments and days of grace cannot be changed later.',
  'payPlans.fixed':
    'The product, amounts, instalments and days of grace cannot be changed. Create another plan instead.',
  'payPlans.anyProduct': 'Any product',
  'payPlans.autoSuspend': 'Suspend late accounts automatically',
  'payPlans.active': 'Can be chosen for new accounts',
  'payPlans.kind': 'Kind of plan',
  'payPlans.kind.equal': 'Equal instalments',
  'payPlans.kind.count': 'A price, in a number of instalments',
  'payPlans.kind.amount': 'A price, by the amount of an instalment',
  'payPlans.kind.harvest': 'A price, paid on harvest days',
  'payPlans.price.hint': 'Includes the deposit. The last instalment takes the rest.',
  'payPlans.count.hint': 'The amounts are rounded up, so there can be fewer instalments.',
  'payPlans.rounding.hint': 'Instalments are multiples of this amount. If empty: {amount}.',
  'payPlans.payoff': 'Discount for an early payoff (%)',
  'payPlans.payoff.hint':
    'Of the instalments that are not due yet, if a customer pays everything at once. If empty: none.',
  'payPlans.payoff.until': 'Last day of the offer',
  'payPlans.payoff.until.hint': 'If empty: the offer has no end.',
  'payPlans.payoff.minDues': 'Instalments that must be left',
  'payPlans.payoff.minDues.hint': 'If empty: the usual number.',
  'field.graceDays': 'Days of grace',
  'field.instalmentAmount': 'Instalment',
  'field.instalmentCount': 'Number of instalments',
  'field.price': 'Price',
  'field.roundingUnit': 'Round instalments to',
} as const;
