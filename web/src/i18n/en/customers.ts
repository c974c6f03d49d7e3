export const customers = {
  'customers.search': 'Name, phone, e-mail or national id',
  'customers.review': 'Review',
} as const;
