import { withoutQuotes } from './quoted-text.ts';

const WITH_DECIMALS = /^\+?\d+[.,]0{1,2}$/;
/** The exponent must have a sign, or the number decimals, because a text such as 12E45 can be an id or a reference. */
const SHORTENED = /^\d+(?:[.,]\d+E[+-]?|E[+-])\d+$/i;

/**
 * How a spreadsheet, or a program that took the text for a number, has changed a text of digits, such as an id, a phone or a
 * reference: `12345678.0` got decimals, and `7.1E8` was shortened, so that its last digits are lost. Such a text is never an id.
 * @returns undefined for any other text.
 */
export function classifySpreadsheetChange(text: string): 'decimals' | 'shortened' | undefined {
  const plain = withoutQuotes(text.normalize('NFKC'));
  if (WITH_DECIMALS.test(plain)) return 'decimals';
  return SHORTENED.test(plain) ? 'shortened' : undefined;
}
