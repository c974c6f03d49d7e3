export const commissions = {
  'commissions.calculate': 'Calculate commission',
  'commissions.calculate.lead': 'From the sales of the employee in that month.',
  'commissions.calculate.submit': 'Calculate',
  'commissions.calculated': 'Commission calculated',
  'commissions.period.hint': 'Year and month, such as 2026-11.',
  'commissions.line': '{rate} of {base}',
  'commissions.paidAt': 'Paid',
  'commissions.approve': 'Approve',
  'commissions.pay': 'Mark as paid',
} as const;
