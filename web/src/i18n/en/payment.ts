import { approvalActions, matchMethods, paymentSources } from './codes.ts';
import { moneyWork } from './money-work.ts';
import { providerAnswer } from './provider-answer.ts';

export const payment = {
  ...paymentSources,
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
  'payment.reversedBy': 'Reversed by',
  'payment.approvedBy': 'Approved by',
  'payment.recordedBy': 'Recorded by',
  'payment.corrects': 'Corrects',
  'payment.correctedBy': 'Corrected by',
  'receipt.title': 'Receipt {number}',
  'receipt.roll': 'Print (80 mm)',
  'receipt.a4': 'Print (A4)',
  'receipt.share': 'Share as text',
  ...moneyWork,
  ...matchMethods,
} as const;
