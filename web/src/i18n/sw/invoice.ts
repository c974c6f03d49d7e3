import type { invoice as en } from '../en/invoice.ts';

export const invoice: Record<keyof typeof en, string> = {
  'invoice.title': 'Ankara',
  'invoice.pdf': 'Ankara (PDF)',
  'invoice.items': 'Vipengee',
  'invoice.quantity': 'Idadi',
  'invoice.unitPrice': 'Bei ya moja',
  'invoice.issuedOn': 'Imetolewa tarehe',
  'invoice.dueDate': 'Kulipwa kufikia',
  'invoice.voidedAt': 'Imebatilishwa',
  'invoices.void': 'Batilisha ankara',
  'invoices.void.lead':
    '{number} itabaki kwenye orodha ya ankara, pamoja na sababu. Hatua hii haiwezi kutenguliwa.',
  'invoices.voided': 'Ankara imebatilishwa',
};
