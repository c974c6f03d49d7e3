import type { paymentMethods as en } from '../en/payment-methods.ts';

export const paymentMethods: Record<keyof typeof en, string> = {
  'paymentMethods.new': 'Njia mpya ya malipo',
  'paymentMethods.code.hint':
    'Herufi ndogo moja, kisha herufi ndogo, tarakimu na _, kama bank_transfer. Haiwezi kubadilishwa baadaye.',
  'paymentMethods.active': 'Inaweza kuchaguliwa kwa malipo',
  'paymentMethods.cash': 'Taslimu: wafanyakazi hupokea pesa mkononi',
  'paymentMethods.isCash': 'Taslimu',
  'field.code': 'Msimbo',
};
