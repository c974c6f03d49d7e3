export const payments = {
  'payments.source': 'Source',
} as const;
