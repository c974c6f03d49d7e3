export const paymentMethods = {
  'paymentMethods.new': 'New payment method',
  'paymentMethods.code.hint':
    'A lower-case letter, then lower-case letters, digits and _, such as bank_transfer. It cannot be changed later.',
  'paymentMethods.active': 'Can be chosen for payments',
  'paymentMethods.cash': 'Cash: staff take the money in their hands',
  'paymentMethods.isCash': 'Cash',
  'field.code': 'Code',
} as const;
