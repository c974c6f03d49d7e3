/** Texts about the correction and the receipt of a payment, for the pages of payments and accounts. */
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
  'receipt.copied': 'The receipt was copied. You can paste it in a message.',
} as const;
