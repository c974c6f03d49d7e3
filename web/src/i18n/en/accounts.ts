export const accounts = {
  'accounts.search': 'Account number or customer',
  'accounts.late': 'Past due',
  'accounts.late.no': 'Not past due',
  'accounts.late.days': '{range} days',
  'accounts.restructured': 'Restructured',
  'accounts.restructured.deferral': 'deferred {date}',
  'accounts.restructured.revision': 'revised {date}',
} as const;
