import { afterEach, describe, expect, it } from 'vitest';
import { inParallel } from '../acceptance/client.ts';
import { report } from '../acceptance/process.ts';
import { newApiKey, PASSWORD, startInstance, useService } from '../support/harness.ts';
import { redisIsThere, useThreeInstances } from './instances.ts';
import { refusalOf, type Sent, send } from './wire.ts';

/** test/api/rate-limits.test.ts tests each class of limits and its headers, with one instance and with two. */
const LIMITS = {
  RATE_LIMIT_API_KEY: '150',
  RATE_LIMIT_AUTH: '5',
  RATE_LIMIT_BROWSER: '300',
  RATE_LIMIT_BULK: '10',
  RATE_LIMIT_GENERAL: '100',
  RATE_LIMIT_PAGES: '300',
  RATE_LIMIT_WEBHOOK: '6000',
};
const service = useService();
const three = useThreeInstances(service, LIMITS);
const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function limited(environment: Record<string, string> = {}) {
  const instance = await startInstance(service, { ...LIMITS, ...environment });
  closers.push(instance.close);
  return instance;
}

/** A wrong guess at a password. */
const GUESS = {
  method: 'POST',
  path: '/api/auth/login',
  body: JSON.stringify({ email: 'nobody@example.com', password: 'x' }),
} satisfies Sent;

describe.skipIf(!redisIsThere)('over three instances (skipped where redis-server is not installed)', () => {
  it('allows exactly five, ten, a hundred and 150 calls a minute, also when they arrive at once', async () => {
    const token = await service.signInAs('manager');
    const { key } = await newApiKey(service, ['catalogue:read']);
    const figures: string[] = [];
    for (const [limit, wanted, sent] of [
      [5, 401, GUESS],
      [10, 200, { method: 'POST', path: '/api/payments/reconcile', token, body: '{"paymentIds":[1]}' }],
      [100, 200, { path: '/api/products', token }],
      [150, 200, { path: '/api/products', token: key }],
    ] as const satisfies [number, number, Sent][]) {
      // Ten at a time, because instances stop using a Redis that is slow on a busy machine, and then count alone.
      const replies = await inParallel(10, Array.from({ length: limit + 30 }), (_, n) =>
        send(three[n % 3]?.origin ?? '', sent),
      );
      const count = (status: number) => replies.filter((reply) => reply.status === status).length;
      expect({ passed: count(wanted), refused: count(429) }).toEqual({ passed: limit, refused: 30 });
      figures.push(`${count(wanted)} of ${limit} at ${sent.path}`);
    }
    report(`limits over three instances: ${figures.join(', ')} passed`);
  });
});

describe('a limit that is used up', () => {
  /** Addresses that mean the same, or that some servers treat as the same. */
  const spellings = [
    '/api/auth/login',
    '/api/v1/auth/login',
    '/api/auth/login/',
    '/api//auth/login',
    '//api/auth/login',
    '/api/auth//login',
    '/API/auth/login',
    '/api/AUTH/Login',
    '/api/auth/%6cogin',
    '/%61pi/auth/login',
    '/api%2fauth%2flogin',
    '/api/auth/login%2f',
    '/api/auth/login%00',
    '/api/./auth/login',
    '/api/x/../auth/login',
    '/api/auth/login;x=1',
    '/api/auth/login?x=1',
    '/api/auth/login#x',
    '/api/v1/v1/auth/login',
    '/api/v2/auth/login',
    'http://127.0.0.1/api/auth/login',
    '/api\\auth\\login',
  ];

  it('is not bypassed by another spelling of the URL', async () => {
    const { origin } = await limited();
    for (let n = 0; n < 5; n++) {
      expect((await send(origin, GUESS)).status).toBe(401);
    }
    const passed: string[] = [];
    for (const path of spellings) {
      const { status } = await send(origin, { ...GUESS, path });
      expect([404, 429], path).toContain(status);
      if (status === 429) passed.push(path);
    }
    // Spellings that lead to the route are counted with it.
    expect(passed).toEqual(expect.arrayContaining(['/api/v1/auth/login', '/api/auth/%6cogin']));
  });

  it('is not bypassed by headers that state another address', async () => {
    const { origin } = await limited();
    const forged = (n: number) => ({
      'x-forwarded-for': `198.51.100.${n}, 127.0.0.1`,
      forwarded: `for=198.51.100.${n};proto=https`,
      'x-real-ip': `198.51.100.${n}`,
      'x-client-ip': `198.51.100.${n}`,
      'true-client-ip': `198.51.100.${n}`,
      'cf-connecting-ip': `198.51.100.${n}`,
      'x-cluster-client-ip': `198.51.100.${n}`,
      via: `1.1 198.51.100.${n}`,
    });
    const statuses: number[] = [];
    for (let n = 0; n < 8; n++) {
      statuses.push((await send(origin, { ...GUESS, headers: forged(n) })).status);
    }
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429, 429, 429]);
  });

  it('is not bypassed behind a proxy by headers of the caller', async () => {
    const { origin } = await limited({ TRUST_PROXY: '127.0.0.1' });
    const statuses: number[] = [];
    for (let n = 0; n < 7; n++) {
      const headers = { 'x-forwarded-for': `198.51.100.${n}, 203.0.113.9` }; // the proxy adds the last
      statuses.push((await send(origin, { ...GUESS, headers })).status);
    }
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429, 429]);
  });

  it('is not bypassed by HEAD, another method, another token of the user, or another version', async () => {
    const { origin } = await limited({ RATE_LIMIT_GENERAL: '3' });
    const token = await service.signInAs('viewer');
    const { email } = (await service.call('GET', '/auth/me', undefined, { token })).body.data;
    for (let n = 0; n < 3; n++) {
      expect((await send(origin, { path: '/api/products', token })).status).toBe(200);
    }
    const again = await service.call('POST', '/auth/login', { email, password: PASSWORD }, { token: null });
    for (const sent of [
      { method: 'HEAD', path: '/api/products', token },
      { method: 'HEAD', path: '/api/v1/products/1', token },
      { path: '/api/v1/products', token },
      { path: '/api/customers', token },
      { method: 'PUT', path: '/api/auth/../products', token, headers: { 'x-http-method-override': 'GET' } },
      { path: '/api/products', token: again.body.data.accessToken },
    ] satisfies Sent[]) {
      const { status } = await send(origin, sent);
      expect([404, 429], `${sent.path}`).toContain(status);
    }
    // HEAD alone counts, too.
    const other = await service.signInAs('viewer');
    const statuses: number[] = [];
    for (let n = 0; n < 4; n++)
      statuses.push((await send(origin, { method: 'HEAD', path: '/api/products', token: other })).status);
    expect(statuses).toEqual([200, 200, 200, 429]);
  });

  it('counts unknown URLs, unknown methods and broken bodies', async () => {
    const { origin } = await limited({ RATE_LIMIT_GENERAL: '4' });
    const statuses: number[] = [];
    for (const sent of [
      { path: '/api/nothing' },
      { method: 'DELETE', path: '/api/products' },
      { method: 'POST', path: '/api/customers', body: '{' },
      { path: '/api/products', token: 'no.token.here' },
      { path: '/api/products' },
    ] satisfies Sent[]) {
      statuses.push((await send(origin, sent)).status);
    }
    expect(statuses).toEqual([404, 404, 401, 401, 429]);
  });

  it('refuses in the envelope with Retry-After', async () => {
    const { origin } = await limited({ RATE_LIMIT_AUTH: '1' });
    await send(origin, GUESS);
    const reply = await send(origin, GUESS);
    expect(refusalOf(reply).code).toBe('RATE_LIMITED');
    expect(Number(reply.headers['retry-after'])).toBeGreaterThan(0);
  });
});
