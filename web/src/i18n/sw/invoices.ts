import type { invoices as en } from '../en/invoices.ts';

export const invoices: Record<keyof typeof en, string> = {
  'invoices.issued': 'Ilitolewa',
  'invoices.sum': 'Jumla bila zilizobatilishwa',
  'invoices.due': 'Mwisho wa kulipa',
  'field.number': 'Namba',
};
