import { createHash, timingSafeEqual } from 'node:crypto';

/** Compares digests, so that neither the length nor the first difference shows in the time taken. */
export function sameSecret(given: string, secret: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(secret));
}
