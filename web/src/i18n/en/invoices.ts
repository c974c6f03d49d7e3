export const invoices = {
  'invoices.issued': 'Issued',
  'invoices.due': 'Due',
  'field.number': 'Number',
} as const;
