import { createHash } from 'node:crypto';
import {
  type CountryCode,
  getCountryCallingCode,
  isSupportedCountry,
  parsePhoneNumberFromString,
} from 'libphonenumber-js';

/**
 * Reads a phone number as a person writes it. `+` and 8..15 digits stands as it is; any other form is
 * read as one of the region and must have a possible length there.
 * @returns E.164 (`+254712345678`), or undefined when it cannot be a phone number.
 */
export function readPhone(text: string, region: string): string | undefined {
  const compact = text.normalize('NFKC').replace(/[\s.-]/g, '');
  if (/^\+[1-9]\d{7,14}$/.test(compact)) return compact;
  // Brackets mark a trunk zero or an area code, which only the region's rules can place.
  if (!/^\+?[\d()/]{6,20}$/.test(compact) || !isSupportedCountry(region)) return undefined;
  const number = parsePhoneNumberFromString(compact, region as CountryCode);
  return number?.isPossible() ? number.number : undefined;
}

/**
 * A phone number that the format `phone` let through, in E.164.
 * @throws RangeError for one that it would not have.
 */
export function requirePhone(text: string, region: string): string {
  const phone = readPhone(text, region);
  if (!phone) throw new RangeError('no phone number');
  return phone;
}

/** SHA-256 of the digits without plus: all that some providers tell of a payer. */
export function phoneSha256(e164: string): Buffer {
  return createHash('sha256').update(e164.replace('+', '')).digest();
}

/** The number as its owner would dial it at home, digits only: 0712345678. */
export function nationalDigits(e164: string): string {
  return parsePhoneNumberFromString(e164)?.formatNational().replace(/\D/g, '') ?? '';
}

/** What the numbers of a region begin with abroad: 254. */
export function callingCode(region: string): string | undefined {
  return isSupportedCountry(region) ? getCountryCallingCode(region as CountryCode) : undefined;
}
