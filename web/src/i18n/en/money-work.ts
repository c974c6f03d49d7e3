/** Texts about payments, invoices and the account number, for the pages of sales, accounts, payments and invoices. */
export const moneyWork = {
  'correction.open': 'Correct amount',
  'correction.column': 'Action',
  'correction.title': 'Correct the amount of {amount}',
  'correction.text':
    'This payment is reversed, and one of the right amount is recorded in its place, with the same date, method and reference.',
  'correction.amount': 'Right amount',
  'correction.submit': 'Correct amount',
  'correction.done': 'Amount corrected',
  'receipt.print': 'Print receipt',
  'share.account': 'Share account number',
  'share.share': 'Share',
  'share.copyYourself': 'Copy this text, and paste it in a message.',
  'share.copied': 'Copied. You can paste it in a message.',
  'field.items': 'Items',
  'invoice.quantity': 'Quantity',
  'invoice.unitPrice': 'Unit price',
  'invoice.dueDate': 'Due on',
} as const;
