import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';

/** Compares hashes, so that the time of the comparison reveals nothing about the length or the text of the secret. */
export function sameSecret(given: string, secret: string): boolean {
  return timingSafeEqual(hashToken(given), hashToken(secret));
}

export interface Token {
  token: string;
  /** Only the hash is stored. */
  hash: Buffer;
}

/** An opaque token of 256 random bits. */
export function newToken(): Token {
  const token = randomBytes(32).toString('base64url');
  return { token, hash: hashToken(token) };
}

/** A random key in a callback URL. It shows to which call the callback belongs, even if the response to that call was lost. */
export function newCallbackKey(): string {
  return randomBytes(16).toString('hex');
}

/**
 * A token that only the holder of the secret can calculate from the text.
 * @param text - begins with the purpose of the token, so that a token for one purpose is never valid for another.
 */
export function deriveToken(secret: string, text: string): Token {
  const token = createHmac('sha256', secret).update(text).digest('base64url');
  return { token, hash: hashToken(token) };
}

/** The SHA-256 of a token. It needs no salt, because nobody can guess 256 random bits. */
export function hashToken(token: string): Buffer {
  return sha256(token);
}

export function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

const API_KEY_PREFIX = 'ams_key_';
/** The number of base-62 digits for 256 random bits and for a CRC-32: 62^43 is more than 2^256, and 62^6 is more than 2^32. */
const API_KEY_DIGITS = { secret: 43, checksum: 6 };
const BASE_62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** The regular expression for secret scanners. A match is a key only if its checksum is also correct. */
export const API_KEY_PATTERN = `${API_KEY_PREFIX}[0-9A-Za-z]{${API_KEY_DIGITS.secret + API_KEY_DIGITS.checksum}}`;
const WHOLE_API_KEY = new RegExp(`^${API_KEY_PATTERN}$`);

/** A new API key: a prefix, 256 random bits, and the CRC-32 of both, in base 62. Only its hash and its hint are stored. */
export function newApiKey(): { key: string; hash: Buffer; hint: string } {
  const secret = base62(BigInt(`0x${randomBytes(32).toString('hex')}`), API_KEY_DIGITS.secret);
  const unchecked = `${API_KEY_PREFIX}${secret}`;
  const key = `${unchecked}${checksumOf(unchecked)}`;
  return { key, hash: hashToken(key), hint: key.slice(-4) };
}

/** Whether a bearer token starts like an API key. Its other characters are not checked. */
export function isApiKey(token: string): boolean {
  return token.startsWith(API_KEY_PREFIX);
}

export const API_KEY_FORMAT = `${API_KEY_PREFIX} followed by ${API_KEY_DIGITS.secret + API_KEY_DIGITS.checksum} letters and digits`;

/** Whether the text has the form of an API key and a correct checksum, so that a mistyped key is refused without a query. */
export function isWellFormedApiKey(text: string): boolean {
  const { checksum } = API_KEY_DIGITS;
  return WHOLE_API_KEY.test(text) && checksumOf(text.slice(0, -checksum)) === text.slice(-checksum);
}

function checksumOf(text: string): string {
  return base62(BigInt(crc32(text)), API_KEY_DIGITS.checksum);
}

function base62(value: bigint, digits: number): string {
  let text = '';
  for (let rest = value; text.length < digits; rest /= 62n) text = BASE_62.charAt(Number(rest % 62n)) + text;
  return text;
}
