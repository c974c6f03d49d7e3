import type { payments as en } from '../en/payments.ts';

export const payments: Record<keyof typeof en, string> = {
  'payments.source': 'Chanzo',
  'field.amount': 'Kiasi',
  'field.paymentMethod': 'Njia ya malipo',
  'field.reference': 'Kumbukumbu',
};
