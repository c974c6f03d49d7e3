import type { payments as en } from '../en/payments.ts';

export const payments: Record<keyof typeof en, string> = {
  'payments.hasDuplicateReference': 'Huenda yameingizwa mara mbili',
  'payments.source': 'Chanzo',
  'payments.by': 'Na',
  'payments.reversedBy': 'yamebatilishwa na {name}',
  'payments.approvedBy': 'imeidhinishwa na {name}',
};
