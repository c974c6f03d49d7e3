export const paymentMethods = {
  'paymentMethods.new': 'New payment method',
  'paymentMethods.code.hint':
    'Lower-case letters, digits and _, such as bank_transfer. It cannot be changed later.',
  'paymentMethods.active': 'Can be chosen for payments',
  'field.code': 'Code',
} as const;
