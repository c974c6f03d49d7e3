import { hash, verify } from '@node-rs/argon2';
import pLimit from 'p-limit';
import { unavailable } from '../../core/http/errors.ts';

/** OWASP's second recommended setting for Argon2id: 19 MiB, two passes, one lane. */
const COST = { memoryCost: 19 * 1024, timeCost: 2, parallelism: 1 };
/** Hashing runs on libuv's four threads. Two of them stay free for other work. */
const THREADS = 2;
/** This number of hashes takes about one second. */
const MAX_WAITING = 100;

/**
 * Limits wrong guesses. Both functions run when the guess leaves the queue. If they ran earlier, all guesses of a burst would
 * pass the check before the first is counted.
 */
export interface GuessLimit {
  /** @throws when the limit is reached. */
  check(): Promise<void>;
  countWrongGuess(): Promise<unknown>;
}

interface Algorithm {
  hash(password: string, cost: typeof COST): Promise<string>;
  verify(hash: string, password: string): Promise<boolean>;
}

export const { hashPassword, passwordMatches } = createPasswordQueue({ hash, verify });

/** A queue of hashes. The service has one, because the limits are those of a process. */
export function createPasswordQueue(algorithm: Algorithm) {
  const inTurn = pLimit(THREADS);
  /** A hash that no password matches. It is verified for an unknown user, so that the answer takes as long as for a wrong password. */
  let decoyHash: Promise<string> | undefined;

  async function queued<T>(work: () => Promise<T>): Promise<T> {
    if (inTurn.pendingCount >= MAX_WAITING) {
      throw unavailable(new Error(`${MAX_WAITING} password hashes are waiting`));
    }
    return inTurn(work);
  }

  /** @throws AppError 503 while too many hashes wait. */
  async function hashPassword(password: string): Promise<string> {
    return queued(() => algorithm.hash(password, COST));
  }

  /**
   * @param storedHash null for an unknown user or one without a password. The result is then false, after the same time as for a
   *   wrong password.
   * @throws AppError 503 while too many hashes wait, and the error of `limit.check`.
   */
  async function passwordMatches(
    storedHash: string | null,
    password: string,
    limit: GuessLimit,
  ): Promise<boolean> {
    decoyHash ??= algorithm.hash(crypto.randomUUID(), COST); // This hash skips the queue, because a full queue would refuse it.
    // The decoy is also awaited for known users. Otherwise the time of the first request would show whether the user exists.
    const decoy = await decoyHash;
    return queued(async () => {
      await limit.check();
      const matches = (await algorithm.verify(storedHash ?? decoy, password)) && storedHash !== null;
      if (!matches) await limit.countWrongGuess();
      return matches;
    });
  }

  return { hashPassword, passwordMatches };
}
