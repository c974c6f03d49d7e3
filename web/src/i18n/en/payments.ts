export const payments = {
  'payments.hasDuplicateReference': 'Possibly recorded twice',
  'payments.source': 'Source',
} as const;
