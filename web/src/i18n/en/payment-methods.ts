export const paymentMethods = {
  'paymentMethods.new': 'New payment method',
  'paymentMethods.code.hint':
    'A lower-case letter, then lower-case letters, digits and _, such as bank_transfer. It cannot be changed later.',
  'paymentMethods.active': 'Can be chosen for payments',
  'field.code': 'Code',
} as const;
