import { dammCheckDigit, foldReference } from '../../accounts/account-number-rules.ts';

// The number of a receipt is the id of its payment with a check digit, so it needs no counter. The numbers have gaps: only invoices are
// numbered without gaps.

const PREFIX = 'R';
const NUMBER = /^R?([1-9][0-9]{0,14})([0-9])$/;

/** For example R427: payment 42, and the check digit of account numbers. It detects any one wrong digit, and swapped neighbours. */
export function formatReceiptNumber(paymentId: number): string {
  return `${PREFIX}${paymentId}${dammCheckDigit(String(paymentId))}`;
}

/**
 * Reads a receipt number as people type it: in upper or lower case, with or without R, with spaces and punctuation.
 * @returns the id of the payment, without checking that it exists. `malformed`: the text is no receipt number. `wrong_digit`: the check
 *   digit is wrong, so it was mistyped or made up.
 */
export function readReceiptNumber(text: string): number | 'malformed' | 'wrong_digit' {
  const [, id = '', check = ''] = NUMBER.exec(foldReference(text) ?? '') ?? [];
  if (id === '') return 'malformed';
  return dammCheckDigit(id) === Number(check) ? Number(id) : 'wrong_digit';
}

/** Whether the text is written as a receipt number, with R and a correct check digit. A search reads no other number as one. */
export function readWrittenReceiptNumber(text: string): number | undefined {
  if (!/^\s*r/i.test(text)) return undefined;
  const id = readReceiptNumber(text);
  return typeof id === 'number' ? id : undefined;
}
