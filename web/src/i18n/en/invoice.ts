export const invoice = {
  'invoice.title': 'Invoice',
  'invoice.pdf': 'Invoice (PDF)',
  'invoice.items': 'Items',
  'invoice.details': 'Details',
  'invoice.description': 'Description',
  'invoice.quantity': 'Quantity',
  'invoice.unitPrice': 'Unit price',
  'invoice.total': 'Total',
  'invoice.issuedOn': 'Issued on',
  'invoice.dueDate': 'Due on',
  'invoice.voidedAt': 'Voided',
} as const;
