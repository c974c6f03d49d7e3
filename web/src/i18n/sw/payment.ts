import type { payment as en } from '../en/payment.ts';
import { approvalActions, matchMethods, paymentSources } from './codes.ts';
import { moneyWork } from './money-work.ts';
import { providerAnswer } from './provider-answer.ts';

export const payment: Record<keyof typeof en, string> = {
  ...paymentSources,
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
  'payment.reversedBy': 'Aliyebatilisha',
  'payment.approvedBy': 'Aliyeidhinisha',
  'payment.recordedBy': 'Aliyeingiza',
  'payment.corrects': 'Yanasahihisha',
  'payment.correctedBy': 'Yamesahihishwa na',
  'receipt.title': 'Risiti {number}',
  'receipt.roll': 'Chapisha (80 mm)',
  'receipt.a4': 'Chapisha (A4)',
  'receipt.share': 'Shiriki kama maandishi',
  ...moneyWork,
  ...matchMethods,
};
