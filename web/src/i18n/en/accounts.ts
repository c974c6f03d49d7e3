export const accounts = {
  'accounts.late': 'Past due',
  'accounts.late.no': 'Not past due',
  'accounts.late.days': '{range} days',
  'accounts.nextDue': 'Next due',
  'accounts.balance': 'Balance',
  'accounts.days.one': '{count} day',
  'accounts.days.other': '{count} days',
} as const;
