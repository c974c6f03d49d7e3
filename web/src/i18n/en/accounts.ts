export const accounts = {
  'accounts.late': 'Past due',
  'accounts.late.no': 'Not past due',
  'accounts.late.days': '{range} days',
} as const;
