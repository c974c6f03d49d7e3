import type { invoice as en } from '../en/invoice.ts';
import { moneyWork } from './money-work.ts';

export const invoice: Record<keyof typeof en, string> = {
  ...moneyWork,
  'invoice.title': 'Ankara',
  'invoice.pdf': 'Ankara (PDF)',
  'invoice.issuedOn': 'Imetolewa tarehe',
  'invoice.voidedAt': 'Imebatilishwa',
  'invoices.void': 'Batilisha ankara',
  'invoices.void.lead':
    '{number} itabaki kwenye orodha ya ankara, pamoja na sababu. Hatua hii haiwezi kutenguliwa.',
  'invoices.voided': 'Ankara imebatilishwa',
};
