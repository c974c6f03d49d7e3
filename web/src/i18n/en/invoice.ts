import { moneyWork } from './money-work.ts';

export const invoice = {
  ...moneyWork,
  'invoice.title': 'Invoice',
  'invoice.pdf': 'Invoice (PDF)',
  'invoice.issuedOn': 'Issued on',
  'invoice.voidedAt': 'Voided',
  'invoices.void': 'Void invoice',
  'invoices.void.lead': '{number} stays in the list of invoices, with the reason. This cannot be undone.',
  'invoices.voided': 'Invoice voided',
} as const;
