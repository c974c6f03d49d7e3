import { createHash } from 'node:crypto';
import {
  type CountryCode,
  getCountryCallingCode,
  isSupportedCountry,
  parsePhoneNumberFromString,
} from 'libphonenumber-js';
import { withoutQuotes } from './quoted-text.ts';

/**
 * Reads a phone number as a person writes it. Accepts `+` and 8..15 digits without further checks. Reads any other form by the
 * rules of the country of its country code, or of `region` if it has no country code. These rules must allow the length.
 * Ignores quotes around the number (`withoutQuotes`).
 * @returns E.164 (`+254712345678`), or undefined when it cannot be a phone number.
 */
export function readPhone(text: string, region: string): string | undefined {
  const compact = withoutQuotes(text)
    .normalize('NFKC')
    .replace(/[\s.-]/g, '');
  if (/^\+[1-9]\d{7,14}$/.test(compact)) return compact;
  // Only the rules of the country say which digits in brackets count: in +44 (0)20, the 0 is not part of the number.
  if (!/^\+?[\d()/]{6,20}$/.test(compact) || !isSupportedCountry(region)) return undefined;
  const number = parsePhoneNumberFromString(compact, region as CountryCode);
  return number?.isPossible() ? number.number : undefined;
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
  return isSupportedCountry(region) ? getCountryCallingCode(region as CountryCode) : undefined;
}
