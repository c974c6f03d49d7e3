import { isTimeZone } from '../core/values/dates.ts';
import { callingCode } from '../core/values/phone.ts';

// Checks of the value of one setting, which the schema cannot express.

/** @returns the problem, without the name of the setting and without the value, which may be a secret. Undefined if there is none. */
export type Check = (value: string, isProduction: boolean) => string | undefined;

/** The minimum number of different characters of a secret. Repeated characters make a secret long but not strong. */
const MIN_SECRET_CHARACTERS = 3;

function startsWith(...protocols: string[]): Check {
  return (value) =>
    URL.canParse(value) && protocols.includes(new URL(value).protocol)
      ? undefined
      : `must start with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`;
}

export const postgres = startsWith('postgres:', 'postgresql:');
export const redis = startsWith('redis:', 'rediss:');

/** Without this check, ioredis would select the database NaN, and only Redis would refuse it. */
export const redisDatabase: Check = (value) =>
  URL.canParse(value) && !/^(\/\d*)?$/.test(new URL(value).pathname)
    ? 'must end with a database number such as /0, or have no path'
    : undefined;

export const webAddress: Check = (value, isProduction) => {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  const schemes = isProduction ? ['https:'] : ['https:', 'http:'];
  if (url && schemes.includes(url.protocol) && !/[?#\s]/.test(value) && !url.username && !url.password)
    return undefined;
  const kind = isProduction ? 'https:// address in production' : 'https:// or http:// address';
  return `must be an ${kind}, without user name, password, ?, # and spaces`;
};

export const timeZone: Check = (value) =>
  isTimeZone(value) ? undefined : 'must be UTC or an IANA time zone such as Africa/Nairobi';

export const phoneRegion: Check = (value) =>
  callingCode(value) === undefined
    ? 'must be an ISO 3166 code of a country with phone numbers, such as KE'
    : undefined;

export const currency: Check = (value) =>
  isCurrency(value) ? undefined : 'must be an ISO 4217 code such as KES';

export function isCurrency(code: string): boolean {
  return Intl.supportedValuesOf('currency').includes(code);
}

/** HTTP headers transmit only printable ASCII characters unchanged, and lose spaces around the value. */
export const headerText: Check = (value) =>
  /^[!-~]([ -~]*[!-~])?$/.test(value)
    ? undefined
    : 'must consist of printable ASCII characters, without spaces around them';

export const atLeast32Bytes: Check = (value) =>
  Buffer.byteLength(value) < 32 ? 'must have at least 32 bytes' : undefined;

export const longInProduction: Check = (value, isProduction) =>
  isProduction && value.length < 16 ? 'must have at least 16 characters in production' : undefined;

export const variedInProduction: Check = (value, isProduction) =>
  isProduction && new Set(value).size < MIN_SECRET_CHARACTERS
    ? `must have at least ${MIN_SECRET_CHARACTERS} different characters in production, because a simpler secret can be guessed; create one with openssl rand -hex 32`
    : undefined;
