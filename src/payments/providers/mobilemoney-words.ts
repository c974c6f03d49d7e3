/**
 * The closed lists of words in the provider's statements and lists of payments. A word that is not listed never decides about
 * money: the row is kept for staff, with its text.
 */

/** Transaction statuses. */
const STATUSES = {
  completed: ['completed', 'complete'],
  /** No money has moved. */
  incomplete: [
    ...['failed', 'failure', 'unsuccessful', 'declined', 'rejected', 'cancelled', 'canceled', 'expired'],
    ...['timed out', 'attempted', 'initiated', 'authorized', 'authorised', 'pending', 'pending approval'],
    ...['pending authorization', 'pending authorisation', 'in progress', 'processing'],
  ],
} as const;

export type StatusMeaning = keyof typeof STATUSES | 'unknown';

export function meaningOfStatus(status: string): StatusMeaning {
  const word = plain(status);
  const isListed = (words: readonly string[]) => words.includes(word);
  if (isListed(STATUSES.completed)) return 'completed';
  return isListed(STATUSES.incomplete) ? 'incomplete' : 'unknown';
}

/** Transaction types of pulled rows. The documented types of payments are c2b-pay-bill-debit and c2b-buy-goods-debit. */
const PAYMENT_TYPE = /c2b|pay.?bill|buy.?goods|merchant/i;
const OTHER_TYPE = /revers|b2c|b2b/i;

export function meaningOfType(type: string): 'payment' | 'other' | 'unknown' {
  if (OTHER_TYPE.test(type)) return 'other';
  return PAYMENT_TYPE.test(type) ? 'payment' : 'unknown';
}

function plain(text: string): string {
  return text
    .toLowerCase()
    .replace(/[\s_-]+/g, ' ')
    .replace(/[.!]+$/, '')
    .trim();
}
