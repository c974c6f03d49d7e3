export const invoices = {
  'invoices.issued': 'Issued',
  'invoices.due': 'Due',
  'invoices.void': 'Void invoice',
  'invoices.void.lead': '{number} stays in the books with its reason. This cannot be undone.',
  'invoices.voided': 'Invoice voided',
} as const;
