export const invoices = {
  'invoices.issued': 'Issued',
  'invoices.sum': 'Total without void',
  'invoices.due': 'Due',
  'field.number': 'Number',
} as const;
