import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, it, vi } from 'vitest';

const UNCOUNTED = { check: async () => {}, failed: async () => {} };

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
  it('takes two threads at most, however many ask', async () => {
    const { hashPassword, passwordMatches } = await import('./passwords.ts');
    await passwordMatches(null, 'x', UNCOUNTED); // makes the hash of nobody, once
    await Promise.all(
      Array.from({ length: 40 }, (_, n) =>
        n % 2 ? hashPassword(`password ${n}`) : passwordMatches(n % 4 ? 'hash of x' : null, 'x', UNCOUNTED),
      ),
    );
    expect(running.most).toBe(2);
  });

  it.each(['hash of x', null])(
    'costs the same for the first who signs in, whoever it is: %s',
    async (stored) => {
      const { passwordMatches } = await import('./passwords.ts');
      expect(await passwordMatches(stored, 'x', UNCOUNTED)).toBe(stored !== null);
      expect(running).toMatchObject({ hashes: 1, verifications: 1 });
    },
  );
});
