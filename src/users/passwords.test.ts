import { describe, expect, it } from 'vitest';
import { hashPassword, passwordMatches } from './passwords.ts';

const UNCOUNTED = { check: async () => {}, failed: async () => {} };

describe('password hashes', () => {
  it('wait for their turn up to a hundred; who comes later is asked to come again', async () => {
    const guesses = Array.from({ length: 120 }, (_, i) =>
      i % 2 ? hashPassword('a password') : passwordMatches(null, 'a guess', UNCOUNTED),
    );
    const results = await Promise.allSettled(guesses);
    const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
    expect(refused.length).toBeGreaterThanOrEqual(10);
    expect(refused.length).toBeLessThanOrEqual(20);
    for (const reason of refused) {
      expect(reason).toMatchObject({ code: 'INTERNAL_ERROR', status: 503, retryAfterSeconds: 2 });
    }
    // The queue is empty again, and the hash of nobody was made although it was full.
    const hash = await hashPassword('a password');
    expect(await passwordMatches(hash, 'a password', UNCOUNTED)).toBe(true);
    expect(await passwordMatches(null, 'a password', UNCOUNTED)).toBe(false);
  });
});
