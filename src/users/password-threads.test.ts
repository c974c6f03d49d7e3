import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, it, vi } from 'vitest';

const UNLIMITED = { check: async () => {}, countWrongGuess: async () => {} };

const running = { now: 0, most: 0, hashes: 0, verifications: 0 };

vi.mock('@node-rs/argon2', () => {
  async function work<T>(result: T): Promise<T> {
    running.now += 1;
    running.most = Math.max(running.most, running.now);
    await sleep(2);
    running.now -= 1;
    return result;
  }
  return {
    hash: (password: string) => {
      running.hashes += 1;
      return work(`hash of ${password}`);
    },
    verify: (hash: string, password: string) => {
      running.verifications += 1;
      return work(hash === `hash of ${password}`);
    },
  };
});

beforeEach(() => {
  vi.resetModules();
  Object.assign(running, { now: 0, most: 0, hashes: 0, verifications: 0 });
});

describe('hashing passwords', () => {
  it('uses at most two threads', async () => {
    const { hashPassword, passwordMatches } = await import('./passwords.ts');
    await passwordMatches(null, 'x', UNLIMITED); // Creates the decoy hash.
    await Promise.all(
      Array.from({ length: 40 }, (_, n) =>
        n % 2 ? hashPassword(`password ${n}`) : passwordMatches(n % 4 ? 'hash of x' : null, 'x', UNLIMITED),
      ),
    );
    expect(running.most).toBe(2);
  });

  it.each(['hash of x', null])(
    'the first sign-in calculates one hash and verifies one, if the stored hash is %s',
    async (stored) => {
      const { passwordMatches } = await import('./passwords.ts');
      expect(await passwordMatches(stored, 'x', UNLIMITED)).toBe(stored !== null);
      expect(running).toMatchObject({ hashes: 1, verifications: 1 });
    },
  );
});
