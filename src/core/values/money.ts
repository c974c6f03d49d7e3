/**
 * An amount in minor units of the configured currency (cents for KES, shillings for UGX). Only input and output use text or JSON
 * numbers. Calculations use bigint, never floating point.
 */
export type Minor = bigint;

/** The largest amount of one payment or one invoice, in major units of any currency. */
export const MAX_AMOUNT_TEXT = '999999999999.99';

/**
 * A decimal of at most 15 significant digits does not change when its text is converted to an IEEE 754 double and back (DBL_DIG in
 * C). So an amount within this limit is always exact as a JSON number.
 */
export const LARGEST_EXACT_MINOR = 999_999_999_999_999n;
const LARGEST_EXACT = Number(LARGEST_EXACT_MINOR);

const MAX_SAFE_MINOR = BigInt(Number.MAX_SAFE_INTEGER);

// The time of BigInt() grows with the square of the length. An amount needs at most 17 characters; some texts have additional
// zeros.
const MAX_TEXT_LENGTH = 40;

const DECIMAL_TEXT = /^(-?)([0-9]+)(?:\.([0-9]+))?$/;

// ISO 4217 has currencies of 0, 2, 3 and 4 decimals. With 7 decimals, JavaScript would print one minor unit as 1e-7.
const SCALES: readonly bigint[] = [1n, 10n, 100n, 1_000n, 10_000n, 100_000n, 1_000_000n];
const NUMBER_SCALES: readonly number[] = SCALES.map(Number);

/**
 * The number of decimals of a currency in ICU, the Unicode library of Node.js: 2 for KES, 0 for UGX, 3 for TND.
 * @param code ISO 4217 code in capitals.
 * @throws RangeError for a code that ICU does not know. Intl.NumberFormat would give any three letters two decimals.
 */
export function currencyDecimals(code: string): number {
  if (!Intl.supportedValuesOf('currency').includes(code)) {
    throw new RangeError(`Unknown currency "${code}": an ISO 4217 code in capitals is needed, such as KES.`);
  }
  const format = new Intl.NumberFormat('en', { style: 'currency', currency: code });
  const decimals = format.resolvedOptions().maximumFractionDigits;
  if (decimals === undefined)
    throw new RangeError(`The number of decimals of the currency "${code}" is unknown to ICU.`);
  return decimals;
}

/**
 * The largest amount in minor units: MAX_AMOUNT_TEXT, truncated to the currency's decimals. With four or more decimals, it is
 * LARGEST_EXACT_MINOR, because a JSON number of a larger amount is not always exact.
 * @throws RangeError for decimals that are not 0..6.
 */
export function maxAmountMinor(decimals: number): Minor {
  const [whole = '', fraction = ''] = MAX_AMOUNT_TEXT.split('.');
  const limit = (BigInt(whole + fraction) * scaleOf(decimals)) / 10n ** BigInt(fraction.length);
  return minMinor(limit, LARGEST_EXACT_MINOR);
}

/** The largest amount in major units, with the currency's decimals, for messages. */
export function maxAmountText(decimals: number): string {
  return minorToText(maxAmountMinor(decimals), decimals);
}

/**
 * Reads decimal text ("1234.5", "-3", "5.000") into minor units. The text must be an optional minus, ASCII digits, and optionally
 * a point with at least one digit after it. Digits beyond the currency's decimals must be zeros.
 * @returns undefined for any other text, and for text of more than 40 characters. The amount can be larger than maxAmountMinor.
 * @throws RangeError for decimals that are not 0..6.
 */
export function parseMinor(text: string, decimals: number): Minor | undefined {
  const scale = scaleOf(decimals);
  if (text.length > MAX_TEXT_LENGTH) return undefined;
  const match = DECIMAL_TEXT.exec(text);
  if (match === null) return undefined;
  const [, sign = '', whole = '', fraction = ''] = match;
  if (/[1-9]/.test(fraction.slice(decimals))) return undefined;
  const kept = fraction.slice(0, decimals).padEnd(decimals, '0');
  const magnitude = BigInt(whole) * scale + BigInt(kept); // BigInt('') is 0n.
  return sign === '-' ? -magnitude : magnitude;
}

/**
 * Converts a JSON number to minor units. Reads the shortest decimal text of the number, as `String` prints it. So 0.1 is ten
 * cents, and 0.1 + 0.2 (0.30000000000000004) is refused, because it has too many decimals.
 * @returns undefined for NaN, infinities, and numbers whose text has an exponent (1e21, 1e-7) or too many decimals. Also
 *   undefined for more than 2^53 - 1 minor units, because JSON.parse may have rounded the number that the client sent.
 * @throws RangeError for decimals that are not 0..6.
 */
export function minorFromNumber(n: number, decimals: number): Minor | undefined {
  // The texts of NaN, infinities and exponents are outside the decimal grammar, so parseMinor refuses them.
  const minor = parseMinor(String(n), decimals);
  if (minor === undefined || minor > MAX_SAFE_MINOR || minor < -MAX_SAFE_MINOR) return undefined;
  return minor;
}

/**
 * Prints minor units as decimal text with exactly the currency's decimals: 123450n is "1234.50".
 *
 * @throws RangeError for decimals that are not 0..6.
 */
export function minorToText(m: Minor, decimals: number): string {
  const scale = scaleOf(decimals);
  const sign = m < 0n ? '-' : '';
  const magnitude = m < 0n ? -m : m;
  if (decimals === 0) return `${sign}${magnitude}`;
  const fraction = (magnitude % scale).toString().padStart(decimals, '0');
  return `${sign}${magnitude / scale}.${fraction}`;
}

/**
 * Minor units as the JSON number whose shortest text is the amount: 123450n is 1234.5.
 * @throws RangeError if no JSON number is exactly the amount: above 2^53 - 1 minor units, and for some amounts of 16 digits (with
 *   two decimals, from about 70,000,000,000,000.00 on). Also if the decimals are not 0..6.
 */
export function minorToNumber(m: Minor | number, decimals: number): number {
  const n = exactNumber(m, decimals);
  if (n !== undefined) return n;
  throw new RangeError(
    `The amount ${minorToText(BigInt(m), decimals)} is too large to be an exact JSON number.`,
  );
}

/** Like `minorToNumber`, but returns undefined if no number is exact. */
export function exactNumber(m: Minor | number, decimals: number): number | undefined {
  const scale = NUMBER_SCALES[decimals];
  // The division gives the double that is nearest to the amount. With up to 15 digits, this double prints as the amount.
  if (scale !== undefined && m <= LARGEST_EXACT && m >= -LARGEST_EXACT) return Number(m) / scale;
  const minor = BigInt(m);
  const n = Number(minorToText(minor, decimals));
  return minorFromNumber(n, decimals) === minor ? n : undefined;
}

/** The amount in printed documents: with two decimals, 123456750n is 1,234,567.50. */
export function printedAmount(m: Minor, decimals: number): string {
  return grouped(minorToText(m, decimals));
}

/** Adds thousands separators to decimal text: 1234567.50 becomes 1,234,567.50. */
export function grouped(decimalText: string): string {
  const [whole = '', fraction] = decimalText.split('.');
  const thousands = whole.replace(/\B(?=(\d{3})+$)/g, ',');
  return fraction === undefined ? thousands : `${thousands}.${fraction}`;
}

/**
 * The quotient, rounded to a whole number. Halves are rounded away from zero (HALF_UP of Java's RoundingMode), so that an amount
 * and its negative have results that differ only in the sign.
 * @throws RangeError for a zero denominator.
 */
export function divideHalfUp(numerator: bigint, denominator: bigint): bigint {
  const quotient = numerator / denominator;
  const remainder = numerator % denominator;
  const twice = 2n * (remainder < 0n ? -remainder : remainder);
  if (twice < (denominator < 0n ? -denominator : denominator)) return quotient;
  return numerator < 0n === denominator < 0n ? quotient + 1n : quotient - 1n;
}

/** Math.max and Math.min accept no bigint. */
export function maxMinor(a: Minor, b: Minor): Minor {
  return a > b ? a : b;
}

export function minMinor(a: Minor, b: Minor): Minor {
  return a < b ? a : b;
}

function scaleOf(decimals: number): bigint {
  const scale = SCALES[decimals];
  if (scale === undefined) throw new RangeError(`Decimals must be a whole number 0..6, not ${decimals}.`);
  return scale;
}
