import type { invoices as en } from '../en/invoices.ts';

export const invoices: Record<keyof typeof en, string> = {
  'invoices.issued': 'Ilitolewa',
  'invoices.due': 'Mwisho wa kulipa',
  'invoices.void': 'Batilisha ankara',
  'invoices.void.lead': '{number} itabaki vitabuni pamoja na sababu. Hatua hii haiwezi kutenguliwa.',
  'invoices.voided': 'Ankara imebatilishwa',
};
