import { describe, expect, it } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { newAccount, startInstance, useService, wrongFields } from '../harness.ts';

const service = useService();
const set = (now: unknown) => service.call('PUT', '/test/clock', { now });

describe('PUT /test/clock', () => {
  it('decides what today is, until it is given back', async () => {
    const answer = await set('2027-05-04T20:59:00Z');
    expect(answer.status).toBe(200);
    expect(Math.abs(Date.parse(answer.body.data.now) - Date.parse('2027-05-04T20:59:00Z'))).toBeLessThan(
      5_000,
    );
    expect((await newAccount(service)).activationDate).toBe('2027-05-04');
    await set('2027-05-05T00:00:00+03:00');
    expect((await newAccount(service)).activationDate).toBe('2027-05-05');
    const real = await set(null);
    expect(Math.abs(Date.parse(real.body.data.now) - Date.now())).toBeLessThan(5_000);
  });

  it('leaves signing in to real time', async () => {
    await set('2090-01-01T00:00:00Z');
    expect((await service.call('GET', '/auth/me')).status).toBe(200);
    await set(null);
  });

  it.each([
    '5',
    'tomorrow',
    '2027-02-30T00:00:00Z',
    '2027-05-04',
    '+275760-09-13T00:00:00.000Z',
    '',
    0,
    undefined,
  ])('refuses %j, which is no moment', async (now) => {
    expect(wrongFields(await set(now))).toEqual(['now']);
  });

  it('is not there unless TEST_CLOCK is on', async () => {
    const without = await startInstance(service);
    const withIt = await startInstance(service, { TEST_CLOCK: 'on' });
    try {
      const body = { now: null };
      expect((await without.call('PUT', '/test/clock', body)).body.error.code).toBe('NOT_FOUND');
      expect((await withIt.call('PUT', '/test/clock', body)).status).toBe(200);
    } finally {
      await without.close();
      await withIt.close();
    }
  });

  it('is refused by production', () => {
    const production = {
      NODE_ENV: 'production',
      JWT_SECRET: 'x'.repeat(32),
      WEBHOOK_SECRET: 'open sesame, open',
    };
    expect(() => readConfig({ ...production, TEST_CLOCK: 'on' })).toThrow('TEST_CLOCK');
  });
});
