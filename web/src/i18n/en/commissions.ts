export const commissions = {
  'commissions.calculate': 'Calculate commission',
  'commissions.calculate.lead':
    'Uses the sales of the employee in the month, and replaces an earlier calculation. A paid commission cannot be changed.',
  'commissions.calculate.submit': 'Calculate',
  'commissions.calculated': 'Commission calculated',
  'commissions.period.hint': 'Year and month, such as 2026-11.',
  'commissions.line': '{rate} of {base}',
  'commissions.line.shared': '{rate} of {base}, share of the employee: {share}',
  'commissions.paidAt': 'Paid',
  'commissions.approve': 'Approve',
  'commissions.pay': 'Mark as paid',
  'commissionStatus.calculated': 'Calculated',
  'commissionStatus.approved': 'Approved',
  'commissionStatus.paid': 'Paid',
  'field.period': 'Month',
} as const;
