import { phoneProblems } from './codes.ts';

export const customers = {
  ...phoneProblems,
  'customers.search': 'Name, phone, e-mail or national id',
  'customers.review': 'Review',
} as const;
