import { hash, verify } from '@node-rs/argon2';
import pLimit from 'p-limit';

/** OWASP's second recommended setting for Argon2id: 19 MiB, two passes, one lane. */
const COST = { memoryCost: 19 * 1024, timeCost: 2, parallelism: 1 };
/** Hashing runs on libuv's four threads; two of them stay free for everything else. */
const twoAtATime = pLimit(2);

export function hashPassword(password: string): Promise<string> {
  return twoAtATime(() => hash(password, COST));
}

/** A hash that no password has: an unknown user costs the same time as a wrong password. */
let nobodysHash: Promise<string> | undefined;

/** @param storedHash null for an unknown user, or for one who has no password: false, after the same time.
 * @param beforeHashing may still refuse, when the turn of this hash has come
 */
export async function passwordMatches(
  storedHash: string | null,
  password: string,
  beforeHashing: () => Promise<void> = async () => {},
): Promise<boolean> {
  nobodysHash ??= hashPassword(crypto.randomUUID());
  const target = storedHash ?? (await nobodysHash);
  const matches = await twoAtATime(async () => {
    await beforeHashing();
    return verify(target, password);
  });
  return matches && storedHash !== null;
}
