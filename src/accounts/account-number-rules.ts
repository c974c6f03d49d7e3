import { classifySpreadsheetChange } from '../core/values/spreadsheet-change.ts';

const PREFIX = 'ACC';
export const MAX_ACCOUNT_NUMBER_LENGTH = PREFIX.length + 17;
const FIRST_NUMBER = 1_000_000;

// This limit applies before the Unicode normalization (NFKC), which can turn one character into eighteen.
const MAX_REFERENCE_LENGTH = 256;

// Characters that people type around and between the digits: white space, Unicode punctuation, invisible format characters from
// copied text, symbols of the keyboard, and the minus sign.
const DROPPED = /[\s\p{P}\p{Cf}$+<=>^`|~\u2212]/gu;

// The first digit is not zero: leading zeros do not change the check digit, so one account would have many numbers.
const NUMBER = /^(?:ACC)?([1-9][0-9]{6,15})([0-9])$/;

// The totally anti-symmetric quasigroup of order 10 in H. Michael Damm, "Total anti-symmetrische
// Quasigruppen", doctoral thesis, Marburg 2004. The row is the interim digit, the column is the next digit.
const DAMM: readonly (readonly number[])[] = [
  [0, 3, 1, 7, 5, 9, 8, 6, 4, 2],
  [7, 0, 9, 2, 1, 5, 4, 8, 6, 3],
  [4, 2, 0, 6, 8, 7, 1, 3, 5, 9],
  [1, 7, 5, 0, 9, 8, 3, 4, 2, 6],
  [6, 1, 2, 3, 0, 4, 5, 9, 7, 8],
  [3, 6, 7, 4, 2, 0, 9, 5, 8, 1],
  [5, 8, 6, 9, 7, 2, 0, 1, 3, 4],
  [8, 9, 4, 5, 3, 6, 2, 0, 1, 7],
  [9, 4, 3, 8, 6, 1, 7, 2, 0, 5],
  [2, 5, 8, 1, 4, 3, 6, 7, 9, 0],
];

/**
 * The number that a customer types into the phone: `ACC`, then 1,000,000 plus the id of the account, then a Damm check digit.
 * The check digit detects any one wrong digit, and any swap of two neighbouring digits.
 *
 * @throws RangeError for an id that is not a positive whole number, or that is too large for an exact sum.
 */
export function formatAccountNumber(id: number): string {
  const number = FIRST_NUMBER + id;
  if (!Number.isSafeInteger(id) || id < 1 || !Number.isSafeInteger(number)) {
    throw new RangeError(`${id} is not the id of an account.`);
  }
  const digits = String(number);
  return `${PREFIX}${digits}${dammCheckDigit(digits)}`;
}

/**
 * Reads an account number as people type it: in upper or lower case, with or without the prefix. Spaces and punctuation are
 * allowed anywhere, and also full-width and similar forms of characters. All digits are required. Other characters are refused.
 *
 * @returns the id, without checking that the account exists; undefined if the reference is not an account number or its check
 *   digit is wrong.
 */
export function readAccountNumber(reference: string): number | undefined {
  const folded = foldReference(reference);
  // With its decimals as digits, an account number such as 10000012.0 still has a valid check digit.
  return folded === undefined || classifySpreadsheetChange(reference) ? undefined : readFoldedNumber(folded);
}

/**
 * The largest account id that an import can use. Its account number has nine digits before the check digit. After an import of
 * this id, the numbers of new accounts have ten digits before the check digit. A search finds no longer numbers
 * (`SEARCHED_LENGTHS`).
 */
export const LARGEST_IMPORTED_ID = 999_999_999 - FIRST_NUMBER;

/** A typed reference in upper case, without the `DROPPED` characters. Undefined if the reference is too long. */
export function foldReference(reference: string): string | undefined {
  if (reference.length > MAX_REFERENCE_LENGTH) return undefined;
  return reference.normalize('NFKC').replace(DROPPED, '').toUpperCase();
}

/** @param text - the result of `foldReference`. @returns the same as `readAccountNumber`. */
export function readFoldedNumber(text: string): number | undefined {
  const match = NUMBER.exec(text);
  if (match === null) return undefined;
  const [, digits = '', check = ''] = match;
  if (dammCheckDigit(digits) !== Number(check)) return undefined;
  const number = Number(digits);
  if (!Number.isSafeInteger(number) || number <= FIRST_NUMBER) return undefined;
  return number - FIRST_NUMBER;
}

// A letter that looks like a digit may follow if it is part of the number: the number is then not certain.
const WRITTEN_WITH_PREFIX = /ACC[^\p{L}\p{N}]*([1-9][0-9]{7,16})(?![0-9OIL])/gu;
/** Digits that could be another number, such as a phone. Single spaces and hyphens within a number are allowed. */
const OTHER_NUMBER = /[0-9](?:[ -]?[0-9]){5,}/;

/**
 * Reads the account number in a longer text, such as `payment for ACC10000012`. The text must have exactly one number that is
 * written with `ACC`; it can occur several times. A payer could mean a number without `ACC` in another way: one of ten phones and
 * ids has a correct check digit.
 *
 * @returns the id, without checking that the account exists; undefined if the number is not certain, because its check digit is
 *   wrong, or the text has another number of at least six digits.
 */
export function readNumberInText(text: string): number | undefined {
  const folded = foldText(text);
  const [[, digits] = []] = folded.matchAll(WRITTEN_WITH_PREFIX);
  if (digits === undefined) return undefined;
  const others = folded.replace(new RegExp(`(?<![0-9])${digits}(?![0-9])`, 'g'), 'X');
  return OTHER_NUMBER.test(withDigits(others)) ? undefined : readFoldedNumber(digits);
}

/**
 * Finds all account numbers in a text, also without `ACC`, with the letter O for 0, or with I or L for 1.
 * @returns the account ids of these numbers, ascending. Not every id belongs to an account.
 */
export function numbersInText(text: string): number[] {
  const folded = foldText(text);
  const runs = [folded, withDigits(folded)].flatMap((one) => [
    ...(one.match(/[0-9]+/g) ?? []),
    ...(one.match(/[0-9](?:[ -]?[0-9])*/g) ?? []),
  ]);
  const ids = runs.flatMap((run) => readFoldedNumber(run.replace(/[ -]/g, '')) ?? []);
  return [...new Set(ids)].sort((a, b) => a - b);
}

function foldText(text: string): string {
  if (text.length > MAX_REFERENCE_LENGTH) return '';
  return text
    .normalize('NFKC')
    .replace(/\p{Cf}/gu, '')
    .toUpperCase();
}

/** Replaces letters that look like digits, in words that have a digit. */
function withDigits(folded: string): string {
  return folded.replace(/[\p{L}\p{N}]*[0-9][\p{L}\p{N}]*/gu, (word) =>
    word.replaceAll('O', '0').replace(/[IL]/g, '1'),
  );
}

/** A range of ids, both included. */
export type IdRange = [from: number, to: number];

/** The account numbers of the ids below 100,000 begin with 10, so a search for two digits could match nearly all accounts. */
const MIN_BEGINNING = 3;
/** The lengths of the account numbers that a search finds, counted without the prefix and the check digit. */
const SEARCHED_LENGTHS = [7, 8, 9, 10];
// A search ignores only white space, dots and hyphens. If it ignored `+`, it would read `+255` as an account number.
const BEGINNING = new RegExp(`^(?:${PREFIX})?([1-9][0-9]*)$`);

/**
 * The ids of the accounts whose numbers begin with the text. Prefix, spaces, dots and hyphens are ignored. A check digit in
 * the text is not recognized: for a complete number, use `readAccountNumber`.
 *
 * @returns an empty array if the text has fewer than three digits, or if it has other characters.
 */
export function accountsBeginningWith(text: string): IdRange[] {
  const typed = text
    .normalize('NFKC')
    .replace(/[\s.-]/g, '')
    .toUpperCase();
  const digits = BEGINNING.exec(typed)?.[1] ?? '';
  if (digits.length < MIN_BEGINNING) return [];
  return SEARCHED_LENGTHS.filter((length) => length >= digits.length).flatMap((length): IdRange[] => {
    const factor = 10 ** (length - digits.length);
    const from = Number(digits) * factor - FIRST_NUMBER;
    const to = from + factor - 1;
    return to < 1 ? [] : [[Math.max(from, 1), to]];
  });
}

/**
 * The Damm check digit, 0..9, of a text of ASCII digits. Leading zeros do not change the check digit. For a number that already
 * ends with its check digit, the result is 0.
 */
export function dammCheckDigit(digits: string): number {
  let interim = 0;
  for (const digit of digits) interim = DAMM[interim]?.[Number(digit)] ?? 0;
  return interim;
}
