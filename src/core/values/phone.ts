import { createHash } from 'node:crypto';
import {
  type CountryCode,
  getCountryCallingCode,
  getExampleNumber,
  isSupportedCountry,
  parsePhoneNumberFromString,
} from 'libphonenumber-js';
import examples from 'libphonenumber-js/mobile/examples';
import { withoutInvisible } from './case-folding.ts';
import { withoutQuotes } from './quoted-text.ts';
import { classifySpreadsheetChange } from './spreadsheet-change.ts';

const E164 = /^\+[1-9]\d{7,14}$/;

/**
 * Reads a phone number as a person writes it. A number of the country `region`, with or without its country code, must be valid
 * or have the length of a mobile number, because the provider may use new prefixes. A 0 between the country code and the number
 * is left out. Accepts `+` and 8 to 15 digits of any other country without further checks, so that a customer's foreign number
 * is never refused. Ignores quotes around the number (`withoutQuotes`) and invisible characters.
 * @returns E.164 (`+254712345678`), or undefined when it cannot be a phone number.
 */
export function readPhone(text: string, region: string): string | undefined {
  const typed = withoutQuotes(withoutInvisible(text)).normalize('NFKC');
  if (classifySpreadsheetChange(typed)) return undefined;
  const compact = typed.replace(/[\s.\p{Pd}\u2212]/gu, '');
  if (!isCountry(region)) return isE164(compact) ? compact : undefined;
  const home = `+${getCountryCallingCode(region)}`;
  if (hasMobileLength(compact, home, region)) return compact;
  if (isE164(compact) && !compact.startsWith(home)) return compact;
  // Only the rules of the country say which digits in brackets count: in +44 (0)20, the 0 is not part of the number.
  if (!/^\+?[\d()/]{6,20}$/.test(compact)) return undefined;
  const number = parsePhoneNumberFromString(compact, region);
  if (number?.number.startsWith(home)) {
    if (number.isValid() || hasMobileLength(number.number, home, region)) return number.number;
  } else if (number?.isPossible()) return number.number;
  // Many people write 00 before a country code, also in countries with another international prefix.
  const international = compact.startsWith('00') ? readPhone(`+${compact.slice(2)}`, region) : undefined;
  return international !== undefined && parsePhoneNumberFromString(international)?.isValid()
    ? international
    : undefined;
}

/** @param home - the country code of `region`, with the plus. */
function hasMobileLength(e164: string, home: string, region: CountryCode): boolean {
  const length = home.length + mobileLength(region);
  return e164.length === length && e164.startsWith(home) && /^[1-9]\d+$/.test(e164.slice(home.length));
}

const mobileLengths = new Map<CountryCode, number>();

/** The number of digits of a mobile number, without the country code. */
function mobileLength(region: CountryCode): number {
  let length = mobileLengths.get(region);
  if (length === undefined) {
    length = getExampleNumber(region, examples)?.nationalNumber.length ?? 0;
    mobileLengths.set(region, length);
  }
  return length;
}

/** Whether the text has the form of a stored number. It can be a number that `readPhone` refuses. */
export function isE164(text: string): boolean {
  return E164.test(text);
}

function isCountry(region: string): region is CountryCode {
  return isSupportedCountry(region);
}

/**
 * Reads a phone number for a field that already has a value. A client that changes other fields may send the stored number
 * again, which can be one that an earlier version accepted. It then stays as it is.
 * @returns undefined when the number is neither a phone number nor the stored one.
 */
export function readChangedPhone(text: string, stored: string | null, region: string): string | undefined {
  return text.trim() === stored ? stored : readPhone(text, region);
}

/**
 * The number of a stored phone without the 0 between the country code and the number, which earlier versions stored.
 * @returns undefined if the phone has no such 0, or would not be a phone number of the country without it.
 */
export function withoutTrunkZero(stored: string, region: string): string | undefined {
  const phone = stored.replace(new RegExp(`^(\\+${callingCode(region)})0+`), '$1');
  return phone !== stored && readPhone(stored, region) === phone ? phone : undefined;
}

/**
 * Converts a phone number that passed the format `phone` to E.164.
 * @throws RangeError for any other text.
 */
export function requirePhone(text: string, region: string): string {
  const phone = readPhone(text, region);
  if (!phone) throw new RangeError('The text is not a phone number.');
  return phone;
}

/** SHA-256 of the digits without plus. Some providers send no other data about a payer. */
export function phoneSha256(e164: string): Buffer {
  return createHash('sha256').update(e164.replace('+', '')).digest();
}

/** The digits of the number as dialled within its country: 0712345678. */
export function nationalDigits(e164: string): string {
  return parsePhoneNumberFromString(e164)?.formatNational().replace(/\D/g, '') ?? '';
}

/** The country calling code of a region: 254. */
export function callingCode(region: string): string | undefined {
  return isCountry(region) ? getCountryCallingCode(region) : undefined;
}

/** Turns `0712-345 (678)` into `0712345678`, and `+254 (0)712` into `+254712`. Returns text that is not a part of a phone unchanged. */
export function withoutPhonePunctuation(text: string): string {
  const digits = withoutInvisible(text)
    .normalize('NFKC')
    .replace(/^(\s*\+[\d\s]+)\(0\)/, '$1')
    .replace(/[\s()./\p{Pd}\u2212]/gu, '');
  return /^\+?\d+$/.test(digits) ? digits : text;
}
