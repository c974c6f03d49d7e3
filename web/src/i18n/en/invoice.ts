export const invoice = {
  'invoice.title': 'Invoice',
  'invoice.pdf': 'Invoice (PDF)',
  'invoice.items': 'Items',
  'invoice.quantity': 'Quantity',
  'invoice.unitPrice': 'Unit price',
  'invoice.issuedOn': 'Issued on',
  'invoice.dueDate': 'Due on',
  'invoice.voidedAt': 'Voided',
  'invoices.void': 'Void invoice',
  'invoices.void.lead': '{number} stays in the list of invoices, with the reason. This cannot be undone.',
  'invoices.voided': 'Invoice voided',
} as const;
