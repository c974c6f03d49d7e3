import { describe, expect, it } from 'vitest';
import { hashPassword, passwordMatches } from './passwords.ts';

const UNLIMITED = { check: async () => {}, countWrongGuess: async () => {} };

describe('password hashes', () => {
  it('wait in a queue of at most a hundred; further requests get 503', async () => {
    const guesses = Array.from({ length: 120 }, (_, i) =>
      i % 2 ? hashPassword('a password') : passwordMatches(null, 'a guess', UNLIMITED),
    );
    const results = await Promise.allSettled(guesses);
    const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
    expect(refused.length).toBeGreaterThanOrEqual(10);
    expect(refused.length).toBeLessThanOrEqual(20);
    for (const reason of refused) {
      expect(reason).toMatchObject({ code: 'INTERNAL_ERROR', status: 503, retryAfterSeconds: 2 });
    }
    // The queue is empty again, and the decoy hash exists although the queue was full.
    const hash = await hashPassword('a password');
    expect(await passwordMatches(hash, 'a password', UNLIMITED)).toBe(true);
    expect(await passwordMatches(null, 'a password', UNLIMITED)).toBe(false);
  });
});
