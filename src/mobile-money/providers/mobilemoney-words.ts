/**
 * The closed lists of words in the provider's statements and lists of payments. A word that is not listed never decides about
 * money: the row is kept for staff, with its text.
 */

/** Transaction statuses, in small letters. */
export const STATUSES = {
  completed: ['completed', 'complete'],
  /** No money has moved. */
  incomplete: [
    ...['failed', 'failure', 'unsuccessful', 'declined', 'rejected', 'cancelled', 'canceled', 'expired'],
    ...['timed out', 'attempted', 'initiated', 'authorized', 'authorised', 'pending', 'pending approval'],
    ...['pending authorization', 'pending authorisation', 'in progress', 'processing'],
  ],
} as const;

type StatusMeaning = keyof typeof STATUSES | 'unknown';

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

/** What the provider or the state takes for a transaction. The words for money that is taken back are none of them. */
const CHARGE =
  /\b(?:charges?|fees?|commissions?|tariffs?|lev(?:y|ies)|(?:excise )?dut(?:y|ies)|tax(?:es)?|vat)\b/i;

export function isChargeWord(text: string): boolean {
  return CHARGE.test(text);
}

const ACCOUNT =
  '(?:organi[sz]ation |business )?(?:(?:utility|settlement|mmf|working|merchant|charges paid|float|revenue)(?: account)?|m-pesa account)';
/** Types of transfers between accounts of one organisation. */
const TRANSFER_TYPES = [
  new RegExp(`\\b${ACCOUNT} to (?:the )?${ACCOUNT}\\b`, 'i'),
  new RegExp(`\\btransfer (?:of funds )?(?:from|between) ${ACCOUNT} (?:to|and) ${ACCOUNT}\\b`, 'i'),
  /\b(?:organi[sz]ation|revenue|merchant|business) settlement\b/i,
  /\bsettlement account\b/i,
];

export function isTransferType(type: string): boolean {
  return TRANSFER_TYPES.some((pattern) => pattern.test(type));
}

/** The units that a header can have beside the code of its currency, in small letters. */
const UNITS: Record<string, readonly string[]> = {
  KES: ['ksh', 'kshs'],
  TZS: ['tsh', 'tshs'],
  UGX: ['ush', 'ushs', 'ugsh', 'ugshs'],
};

export function isUnitOf(unit: string, currency: string): boolean {
  const plainUnit = unit.toLowerCase().replace(/[^a-z]/g, '');
  return plainUnit === currency.toLowerCase() || (UNITS[currency] ?? []).includes(plainUnit);
}

function plain(text: string): string {
  return text
    .toLowerCase()
    .replace(/[\s_-]+/g, ' ')
    .replace(/[.!]+$/, '')
    .trim();
}
