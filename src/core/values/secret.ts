import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

/** Compares digests, so that neither the length nor the first difference shows in the time taken. */
export function sameSecret(given: string, secret: string): boolean {
  return timingSafeEqual(hashToken(given), hashToken(secret));
}

/** An opaque token of 256 random bits; only its hash is stored. */
export function newToken(): { token: string; hash: Buffer } {
  const token = randomBytes(32).toString('base64url');
  return { token, hash: hashToken(token) };
}

/** The SHA-256 of a token. It needs no salt, because nobody can guess 256 random bits. */
export function hashToken(token: string): Buffer {
  return sha256(token);
}

export function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
