export const payments = {
  'payments.source': 'Source',
  'field.amount': 'Amount',
  'field.paymentMethod': 'Payment method',
  'field.reference': 'Reference',
} as const;
