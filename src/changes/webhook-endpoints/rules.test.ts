import { describe, expect, it } from 'vitest';
import { secretsAt } from './rules.ts';

describe('messages are signed', () => {
  const secret = Buffer.from('new');
  const previousSecret = Buffer.from('old');
  const now = new Date('2026-11-02T08:15:30Z');

  it('also with the previous secret, until its overlap ends', () => {
    const secrets = (previousSecretExpiresAt: string) =>
      secretsAt({ secret, previousSecret, previousSecretExpiresAt }, now);
    expect(secrets('2026-11-02T08:15:31.000Z')).toEqual([secret, previousSecret]);
    expect(secrets('2026-11-02T08:15:30.000Z')).toEqual([secret]);
  });

  it('with one secret if there is no other', () => {
    expect(secretsAt({ secret, previousSecret: null, previousSecretExpiresAt: null }, now)).toEqual([secret]);
  });
});
