/** The instalments of pay plans. The message files of the pages that show plans include this group. */
export const plans = {
  'plan.of': '{count} × {amount}',
  'plan.count': '{count} instalments',
  'plan.rest': '{count} × {amount}, the last {last}',
  'plan.rhythm': '{instalments}, {rhythm}',
  'plan.without': '{rhythm}, none in {months}',
  'plan.harvest': 'each year on {days}',
  'plan.share': '{day} ({share})',
  'every.daily.one': 'daily',
  'every.daily.other': 'every {count} days',
  'every.weekly.one': 'weekly',
  'every.weekly.other': 'every {count} weeks',
  'every.monthly.one': 'monthly',
  'every.monthly.other': 'every {count} months',
} as const;

/** The figures of an account that also the effect of a change shows. */
export const planEffect = {
  'account.credit': 'Credit',
  'account.paidUntil': 'Paid until',
} as const;

/** The fields that pay plans and changes of plans have. */
export const planFields = {
  'planField.rhythm': 'Less often, or not in all months',
  'planField.every.daily': 'Days from one instalment to the next',
  'planField.every.weekly': 'Weeks from one instalment to the next',
  'planField.every.monthly': 'Months from one instalment to the next',
  'planField.harvest.add': 'Add a harvest day',
  'planField.harvest.remove': 'Remove harvest day {number}',
  'planField.harvest.item': 'Harvest day {number}',
  'planField.harvest.month': 'Month',
  'planField.harvest.day': 'Day',
  'planField.harvest.share': 'Share (%)',
  'planField.harvest.sum': 'Shares together: {sum}',
  'planField.harvest.wrongSum': 'The shares must be {whole} together, but are {sum}.',
  'planField.harvest.cycles': 'Number of years',
  'planField.harvest.lead': 'Days before the first instalment',
  'planField.harvest.lead.hint': 'A harvest day sooner after the start of an account is left out.',
  'field.frequency': 'Frequency',
  'field.monthsWithoutDues': 'Months without instalments',
  'field.harvest.entries': 'Harvest days',
} as const;
