import { approvalActions, matchMethods } from './codes.ts';
import { providerAnswer } from './provider-answer.ts';

export const payment = {
  ...providerAnswer,
  ...approvalActions,
  'payment.title': 'Payment {id}',
  'payment.source': 'Source',
  'payment.match': 'Account found by',
  'payment.reconciled': 'Reconciled on',
  'payment.reversedAt': 'Reversed',
  'payment.recordedAt': 'Recorded',
  'payment.reverse': 'Reverse payment',
  'payment.reverse.title': 'Reverse the payment of {amount}',
  'payment.reverse.text':
    'The payment stays visible. If it has an account, the credit is reduced first, and the rest is owed again.',
  'payment.reverse.done': 'Payment reversed',
  ...matchMethods,
} as const;
