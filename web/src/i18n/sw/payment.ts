import type { payment as en } from '../en/payment.ts';
import { approvalActions, matchMethods } from './codes.ts';
import { providerAnswer } from './provider-answer.ts';

export const payment: Record<keyof typeof en, string> = {
  ...providerAnswer,
  ...approvalActions,
  'payment.title': 'Malipo {id}',
  'payment.source': 'Chanzo',
  'payment.match': 'Akaunti ilipatikana kwa',
  'payment.reconciled': 'Yalisuluhishwa tarehe',
  'payment.reversedAt': 'Yalibatilishwa',
  'payment.recordedAt': 'Yaliingizwa',
  'payment.reverse': 'Batilisha malipo',
  'payment.reverse.title': 'Batilisha malipo ya {amount}',
  'payment.reverse.text':
    'Malipo yataendelea kuonekana. Ikiwa yana akaunti, salio la ziada linapunguzwa kwanza, na kinachobaki kinadaiwa tena.',
  'payment.reverse.done': 'Malipo yamebatilishwa',
  ...matchMethods,
};
