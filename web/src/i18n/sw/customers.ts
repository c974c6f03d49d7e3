import type { customers as en } from '../en/customers.ts';

export const customers: Record<keyof typeof en, string> = {
  'customers.search': 'Jina, simu, barua pepe au kitambulisho',
  'customers.review': 'Ukaguzi',
};
