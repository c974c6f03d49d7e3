import { paymentSources } from './codes.ts';

export const payments = {
  ...paymentSources,
  'payments.hasDuplicateReference': 'Possibly recorded twice',
  'payments.sum': 'Amount without reversed',
  'payments.source': 'Source',
  'payments.by': 'By',
  'payments.reversedBy': 'reversed by {name}',
  'payments.approvedBy': 'approved by {name}',
} as const;
