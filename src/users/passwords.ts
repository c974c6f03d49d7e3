import { hash, verify } from '@node-rs/argon2';
import pLimit from 'p-limit';
import { unavailable } from '../core/http/errors.ts';

/** OWASP's second recommended setting for Argon2id: 19 MiB, two passes, one lane. */
const COST = { memoryCost: 19 * 1024, timeCost: 2, parallelism: 1 };
/** Hashing runs on libuv's four threads; two of them stay free for everything else. */
const twoAtATime = pLimit(2);
/** About a second of work: who would wait longer had better come again. */
const MOST_WAITING = 100;

/** @throws AppError 503 while too many hashes wait for their turn. */
export async function hashPassword(password: string): Promise<string> {
  return inTurn(() => hash(password, COST));
}

async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  if (twoAtATime.pendingCount >= MOST_WAITING) {
    throw unavailable(new Error(`${MOST_WAITING} password hashes wait already`));
  }
  return twoAtATime(work);
}

/** A hash that no password has: an unknown user costs the same time as a wrong password. */
let nobodysHash: Promise<string> | undefined;

/** Counts guesses: both are asked while it is the turn of the guess, so that those who wait hear of it in time. */
export interface Guessing {
  /** May refuse to look at the guess. */
  check(): Promise<void>;
  failed(): Promise<unknown>;
}

/**
 * @param storedHash null for an unknown user, or for one who has no password: false, after the same time.
 * @throws AppError 503 while too many hashes wait for their turn
 */
export async function passwordMatches(
  storedHash: string | null,
  password: string,
  guessing: Guessing,
): Promise<boolean> {
  nobodysHash ??= hash(crypto.randomUUID(), COST); // once, and in no queue that could refuse it
  // Awaited for all: were it for the unknown alone, the first of them would show by the time taken.
  const nobodys = await nobodysHash;
  const target = storedHash ?? nobodys;
  return inTurn(async () => {
    await guessing.check();
    const matches = (await verify(target, password)) && storedHash !== null;
    if (!matches) await guessing.failed();
    return matches;
  });
}
