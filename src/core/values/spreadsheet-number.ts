import { withoutQuotes } from './quoted-text.ts';

const WITH_DECIMALS = /^\+?\d+[.,]0{1,2}$/;
/** The exponent must have a sign, or the number decimals, because a text such as 12E45 can be an id or a reference. */
const SHORTENED = /^\d+(?:[.,]\d+E[+-]?|E[+-])\d+$/i;

/**
 * Whether a text of digits, such as an id, a phone or a reference, was changed by a spreadsheet or a program that took it for a
 * number: `12345678.0` got decimals, and `7.1E8` was shortened, so that its last digits are lost. Such a text is never an id.
 */
export function spreadsheetNumber(text: string): 'decimals' | 'shortened' | undefined {
  const plain = withoutQuotes(text.normalize('NFKC'));
  if (WITH_DECIMALS.test(plain)) return 'decimals';
  return SHORTENED.test(plain) ? 'shortened' : undefined;
}
