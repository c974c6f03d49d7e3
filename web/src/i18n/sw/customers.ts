import type { customers as en } from '../en/customers.ts';
import { phoneProblems } from './codes.ts';

export const customers: Record<keyof typeof en, string> = {
  ...phoneProblems,
  'customers.search': 'Jina, simu, barua pepe au kitambulisho',
  'customers.review': 'Ukaguzi',
};
