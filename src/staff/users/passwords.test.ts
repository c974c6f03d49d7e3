import { setImmediate as turn } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { createPasswordQueue, hashPassword, passwordMatches } from './passwords.ts';

const UNLIMITED = { check: async () => {}, countWrongGuess: async () => {} };

const running = { now: 0, most: 0, hashes: 0, verifications: 0 };
beforeEach(() => Object.assign(running, { now: 0, most: 0, hashes: 0, verifications: 0 }));

async function work<T>(result: T): Promise<T> {
  running.now += 1;
  running.most = Math.max(running.most, running.now);
  await turn();
  running.now -= 1;
  return result;
}
const counting = {
  hash: (password: string) => {
    running.hashes += 1;
    return work(`hash of ${password}`);
  },
  verify: (hash: string, password: string) => {
    running.verifications += 1;
    return work(hash === `hash of ${password}`);
  },
};

describe('password hashes', () => {
  it('match only their password, at the cost that OWASP recommends', async () => {
    const hash = await hashPassword('a password');
    expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    expect(await passwordMatches(hash, 'a password', UNLIMITED)).toBe(true);
    expect(await passwordMatches(hash, 'another password', UNLIMITED)).toBe(false);
    expect(await passwordMatches(null, 'a password', UNLIMITED)).toBe(false);
  });

  it('wait in a queue of at most a hundred; further requests get 503', async () => {
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const isDecoy = (password: string) => !password.startsWith('a ');
    const queue = createPasswordQueue({
      async hash(password) {
        if (!isDecoy(password)) await released;
        return counting.hash(password);
      },
      async verify(hash, password) {
        await released;
        return counting.verify(hash, password);
      },
    });
    const refused: unknown[] = [];
    const guesses = Array.from({ length: 120 }, async (_, i) => {
      try {
        await (i % 2 ? queue.hashPassword('a password') : queue.passwordMatches(null, 'a guess', UNLIMITED));
      } catch (error) {
        refused.push(error);
      }
    });
    while (refused.length < 18) await turn();
    release();
    await Promise.all(guesses);
    expect(refused).toHaveLength(18); // Two hashes were calculated, and a hundred waited.
    for (const reason of refused) {
      expect(reason).toMatchObject({ code: 'INTERNAL_ERROR', status: 503, retryAfterSeconds: 2 });
    }
    // The queue is empty again, and the decoy hash exists although the queue was full.
    const hash = await queue.hashPassword('a password');
    expect(await queue.passwordMatches(hash, 'a password', UNLIMITED)).toBe(true);
    expect(await queue.passwordMatches(null, 'a password', UNLIMITED)).toBe(false);
  });

  it('use at most two threads', async () => {
    const queue = createPasswordQueue(counting);
    await queue.passwordMatches(null, 'x', UNLIMITED); // Creates the decoy hash.
    await Promise.all(
      Array.from({ length: 40 }, (_, n) =>
        n % 2
          ? queue.hashPassword(`password ${n}`)
          : queue.passwordMatches(n % 4 ? 'hash of x' : null, 'x', UNLIMITED),
      ),
    );
    expect(running.most).toBe(2);
  });

  it.each(['hash of x', null])(
    'of the first sign-in are one calculated and one verified, if the stored hash is %s',
    async (stored) => {
      const queue = createPasswordQueue(counting);
      expect(await queue.passwordMatches(stored, 'x', UNLIMITED)).toBe(stored !== null);
      expect(running).toMatchObject({ hashes: 1, verifications: 1 });
    },
  );
});
