import type { payment as en } from '../en/payment.ts';
import { matchMethods } from './codes.ts';
import { providerAnswer } from './provider-answer.ts';

export const payment: Record<keyof typeof en, string> = {
  ...providerAnswer,
  'payment.title': 'Malipo {id}',
  'payment.source': 'Chanzo',
  'payment.match': 'Akaunti ilipatikana kwa',
  'payment.reconciled': 'Yalisuluhishwa tarehe',
  'payment.reversedAt': 'Yalibatilishwa',
  'payment.recordedAt': 'Yaliingizwa',
  'payment.reverse': 'Batilisha malipo',
  'payment.reverse.title': 'Batilisha malipo ya {amount}',
  'payment.reverse.text': 'Deni la akaunti litaongezeka tena. Malipo yataendelea kuonekana.',
  'payment.reverse.done': 'Malipo yamebatilishwa',
  ...matchMethods,
};
