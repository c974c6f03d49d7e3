export const customers = {
  'customers.review': 'Review',
} as const;
