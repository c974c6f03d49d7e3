import type { payments as en } from '../en/payments.ts';
import { paymentSources } from './codes.ts';

export const payments: Record<keyof typeof en, string> = {
  ...paymentSources,
  'payments.hasDuplicateReference': 'Huenda yameingizwa mara mbili',
  'payments.sum': 'Kiasi bila yaliyobatilishwa',
  'payments.source': 'Chanzo',
  'payments.by': 'Na',
  'payments.reversedBy': 'yamebatilishwa na {name}',
  'payments.approvedBy': 'imeidhinishwa na {name}',
};
