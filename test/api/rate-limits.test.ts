import { randomUUID } from 'node:crypto';
import { describe, expect, inject, it } from 'vitest';
import {
  newCustomer,
  notify,
  PASSWORD,
  startInstanceForTest,
  useInstance,
  useService,
} from '../support/harness.ts';
import { type Answer, type Caller, createCaller } from '../support/http.ts';
import { eventually } from '../support/waiting.ts';

/** The limits of the specification; the harness turns them off elsewhere. */
const DEFAULTS = {
  RATE_LIMIT_API_KEY: '1000',
  RATE_LIMIT_AUTH: '5',
  RATE_LIMIT_BROWSER: '300',
  RATE_LIMIT_BULK: '10',
  RATE_LIMIT_GENERAL: '100',
  RATE_LIMIT_PAGES: '300',
  RATE_LIMIT_WEBHOOK: '6000',
};

const service = useService();

/** Starts an instance with limits and new counters. The service of the harness has no limits. */
const limited = (environment: Record<string, string> = {}) =>
  startInstanceForTest(service, { ...DEFAULTS, TRUST_PROXY: '127.0.0.1', ...environment });

const from = (address: string) => ({ headers: { 'x-forwarded-for': address } });
const login = (call: Caller, address = '203.0.113.1', email = `${randomUUID()}@example.com`) =>
  call('POST', '/auth/login', { email, password: PASSWORD }, from(address));

async function times(count: number, ask: () => Promise<Answer>): Promise<number[]> {
  const statuses: number[] = [];
  for (let i = 0; i < count; i++) statuses.push((await ask()).status);
  return statuses;
}

/** The statuses of calls at the same time, because a slow machine may need longer than a minute for one after another. */
async function atOnce(count: number, ask: () => Promise<Answer>): Promise<number[]> {
  return (await Promise.all(Array.from({ length: count }, ask))).map(({ status }) => status);
}

function expectRefused(answer: Answer): void {
  expect(answer.status, answer.text).toBe(429);
  expect(answer.body).toMatchObject({ success: false, error: { code: 'RATE_LIMITED' } });
  const wait = Number(answer.headers.get('retry-after'));
  expect(wait).toBeGreaterThan(0);
  expect(wait).toBeLessThanOrEqual(60);
}

/** Uses up each limit of an instance on which none is set. */
async function expectDefaults(environment: Record<string, string> = {}): Promise<void> {
  const unset = { RATE_LIMIT_AUTH: '', RATE_LIMIT_BULK: '', RATE_LIMIT_GENERAL: '', RATE_LIMIT_WEBHOOK: '' };
  const { call, redis } = await limited({ ...unset, ...environment });
  if (redis) await eventually(() => redis.isUsable()).toBe(true);
  const token = await service.signInAs('manager');
  const me = (await service.call('GET', '/auth/me', undefined, { token })).body.data.id;
  const address = `203.0.113.${me}`;
  // Users of several test databases have equal ids, so the counters of earlier runs are cleared first.
  await redis?.client.del(
    ...[`auth:login ${address}`, `bulk:user ${me}`, `general:user ${me}`].map((key) => `ams:limit:${key}`),
  );
  const reconcile = () => call('POST', '/payments/reconcile', { paymentIds: [1] }, { token });
  const read = () => call('GET', '/products', undefined, { token });
  for (const [limit, ask, status] of [
    [5, () => login(call, address), 401],
    [10, reconcile, 200],
    [100, read, 200],
  ] as const) {
    expect(await atOnce(limit, ask)).toEqual(Array(limit).fill(status));
    expectRefused(await ask());
  }
}

describe('without Redis', () => {
  /** For tests that use up the limits of different callers. */
  const shared = useInstance(service, { ...DEFAULTS, TRUST_PROXY: '127.0.0.1' });
  const lowered = useInstance(service, {
    ...DEFAULTS,
    TRUST_PROXY: '127.0.0.1',
    RATE_LIMIT_GENERAL: '3',
    RATE_LIMIT_PAGES: '2',
  });

  it('five credential calls, ten bulk operations and a hundred others a minute are the defaults', () =>
    expectDefaults());

  it('each credential endpoint allows an address five calls a minute', async () => {
    const { call } = shared;
    expect(await times(5, () => login(call))).toEqual([401, 401, 401, 401, 401]);
    expectRefused(await login(call));
    expect((await login(call, '203.0.113.2')).status).toBe(401);
    // Registration has a separate budget. A wrong body counts, too.
    expect(await times(5, () => call('POST', '/auth/register', {}, from('203.0.113.1')))).toEqual([
      400, 400, 400, 400, 400,
    ]);
    expectRefused(await call('POST', '/auth/register', {}, from('203.0.113.1')));
  });

  it('other calls allow a user a hundred a minute from any address, with the remaining number', async () => {
    const { call } = shared;
    const token = service.adminToken;
    const first = await call('GET', '/customers', undefined, { token });
    expect(first.headers.get('ratelimit-policy')).toBe('"general";q=100;w=60');
    expect(first.headers.get('ratelimit')).toBe('"general";r=99;t=60');
    const statuses = await atOnce(99, () => call('GET', '/payments', undefined, { token }));
    expect(new Set(statuses)).toEqual(new Set([200]));
    const refused = await call('GET', '/products', undefined, { token, ...from('203.0.113.9') });
    expectRefused(refused);
    expect(refused.headers.get('ratelimit')).toMatch(/^"general";r=0;t=\d+$/);
    const other = await service.signInAs('viewer');
    expect((await call('GET', '/products', undefined, { token: other })).status).toBe(200);
  });

  it('calls without a token count for their address, so that guessing tokens is limited', async () => {
    const { call } = lowered;
    const guess = () =>
      call('GET', '/customers', undefined, { token: 'a.guessed.token', ...from('203.0.113.3') });
    expect(await times(3, guess)).toEqual([401, 401, 401]);
    expectRefused(await guess());
  });

  it('calls with an unreadable URL count for their address, even with a token', async () => {
    const { call, origin } = lowered;
    const token = service.adminToken;
    const ask = (path: string) => call('GET', path, undefined, { token, ...from('203.0.113.4') });
    expect((await ask('/customers/%zz')).status).toBe(400);
    expect((await ask('/%ff')).headers.get('ratelimit')).toMatch(/^"general";r=1;t=\d+$/);
    const long = await fetch(`${origin}/api/customers/${'9'.repeat(201)}`, from('203.0.113.4'));
    expect(long.status).toBe(414);
    expectRefused(await ask('/customers/%zz'));
    expectRefused(await call('GET', '/customers', undefined, { token: null, ...from('203.0.113.4') }));
    expect((await ask('/customers')).status).toBe(200);
  });

  it('IPv6 addresses are counted by their /64', async () => {
    const { call } = shared;
    const neighbours = ['2001:db8:1:2::1', '2001:db8:1:2::2', '2001:db8:1:2:3:4:5:6'];
    const statuses = [];
    for (let i = 0; i < 5; i += 1) statuses.push((await login(call, neighbours[i % 3])).status);
    expect(statuses).toEqual([401, 401, 401, 401, 401]);
    expectRefused(await login(call, '2001:db8:1:2:ffff::'));
    expect((await login(call, '2001:db8:1:3::1')).status).toBe(401);
  });

  it('bulk operations allow ten a minute, and count in no other class', async () => {
    const { call } = await limited({ RATE_LIMIT_GENERAL: '2' });
    const bulk = () =>
      call('POST', '/payments/reconcile', { paymentIds: [1] }, { token: service.adminToken });
    expect(new Set(await times(10, bulk))).toEqual(new Set([200]));
    const refused = await bulk();
    expectRefused(refused);
    expect(refused.headers.get('ratelimit-policy')).toBe('"bulk";q=10;w=60');
    expect(await times(3, () => call('GET', '/customers', undefined, { token: service.adminToken }))).toEqual(
      [200, 200, 429],
    );
  });

  it('gives the webhook a separate, much higher limit', async () => {
    const { call } = lowered;
    expect(await atOnce(20, () => notify({ call }))).toEqual(Array(20).fill(200));
    expect((await notify({ call })).headers.get('ratelimit-policy')).toBe('"webhook";q=6000;w=60');
  });

  it('the start page and the documentation have a separate limit for each address', async () => {
    const { origin, call } = await limited({ RATE_LIMIT_PAGES: '6' });
    const read = (path: string, address = '203.0.113.4') =>
      createCaller(origin)('GET', path, undefined, from(address));
    for (const path of ['/', '/api-docs', '/api-docs/openapi.json', '/api-docs/swagger-ui.js']) {
      expect((await read(path)).status, path).toBe(200);
    }
    const revalidated = await fetch(`${origin}/api-docs`, {
      headers: { 'if-none-match': '*', 'x-forwarded-for': '203.0.113.4' },
    });
    expect(revalidated.status).toBe(304);
    expect(revalidated.headers.get('ratelimit-policy')).toBe('"pages";q=6;w=60');
    expect((await read('/')).headers.get('ratelimit')).toMatch(/^"pages";r=0;t=\d+$/);
    expectRefused(await read('/api-docs/openapi.json'));
    expectRefused(await read('/'));
    expect((await read('/api-docs', '203.0.113.5')).status).toBe(200);
    expect((await call('GET', '/customers', undefined, { token: service.adminToken })).status).toBe(200);
  });

  it('a browser session has a separate limit for refreshes, and calls without one count for their address', async () => {
    const { call } = lowered;
    const refresh = (cookie: string, address = '203.0.113.6') =>
      call('POST', '/auth/session/refresh', undefined, {
        token: null,
        headers: { ...from(address).headers, cookie: `ams_session=${cookie}` },
      });
    const cookieOf = (answer: Answer) =>
      /^ams_session=([\w-]+)/.exec(answer.headers.getSetCookie()[0] ?? '')?.[1];
    const signIn = async () => {
      const body = { email: 'admin@example.com', password: PASSWORD };
      const cookie = cookieOf(await service.call('POST', '/auth/session', body, { token: null }));
      return cookie ?? expect.fail('There is no cookie.');
    };
    const refreshTimes = async (count: number, first: string) => {
      let cookie = first;
      for (let i = 0; i < count; i += 1) {
        const answer = await refresh(cookie);
        expect(answer.status, answer.text).toBe(200);
        cookie = cookieOf(answer) ?? expect.fail('There is no cookie.');
      }
      return cookie;
    };
    // More people behind one address than the limit of the address.
    const last = await refreshTimes(3, await signIn());
    await refreshTimes(3, await signIn());
    const refused = await refresh(last);
    expectRefused(refused);
    expect(refused.headers.get('ratelimit-policy')).toBe('"general";q=3;w=60');
    expect(refused.headers.getSetCookie()).toEqual([]);
    // The refused call has not used up the cookie.
    expect(
      (
        await service.call('POST', '/auth/session/refresh', undefined, {
          token: null,
          headers: { cookie: `ams_session=${last}` },
        })
      ).body.data.user,
    ).not.toBeNull();

    expect(await times(2, () => refresh('a-guess', '203.0.113.7'))).toEqual([200, 200]);
    expectRefused(await refresh('a-guess', '203.0.113.7'));
    expectRefused(await refresh(await signIn(), '203.0.113.7'));
    expect((await refresh('a-guess', '203.0.113.8')).status).toBe(200);

    const openPage = () => call('GET', '/settings', undefined, { token: null, ...from('203.0.113.9') });
    expect(await times(3, openPage)).toEqual([200, 200, 429]);
    expect((await refresh(await signIn(), '203.0.113.9')).status).toBe(200);
  });

  it('a user with a session cookie may read three hundred times a minute, and write a hundred times', async () => {
    const { call } = await limited({ RATE_LIMIT_BROWSER: '' });
    const email = `browser-${randomUUID()}@example.com`;
    const user = { email, password: PASSWORD, role: 'manager', firstName: 'A', lastName: 'B' };
    expect((await service.call('POST', '/users', user)).status).toBe(201);
    const session = await service.call(
      'POST',
      '/auth/session',
      { email, password: PASSWORD },
      { token: null },
    );
    const cookie = session.headers.getSetCookie()[0]?.split(';')[0] ?? '';
    const renewed = await service.call('POST', '/auth/session/refresh', undefined, {
      token: null,
      headers: { cookie },
    });
    const tokens = [session.body.data.accessToken, renewed.body.data.accessToken];
    const read = (at: number) => call('GET', '/products', undefined, { token: tokens[at % 2] });
    const first = await read(0);
    expect(first.headers.get('ratelimit-policy')).toBe('"browser";q=300;w=60');
    const reads = await Promise.all(Array.from({ length: 299 }, (_, at) => read(at)));
    expect(new Set(reads.map(({ status }) => status))).toEqual(new Set([200]));
    expectRefused(await read(1));
    const write = () => call('PUT', '/products/1', {}, { token: tokens[1] });
    expect((await write()).headers.get('ratelimit')).toMatch(/^"general";r=99;/);
    expect(new Set(await atOnce(99, write))).toEqual(new Set([400]));
    expectRefused(await write());
    // With a token that has no cookie, the same user has the general limit.
    const { accessToken } = (await service.call('POST', '/auth/login', { email, password: PASSWORD })).body
      .data;
    expectRefused(await call('GET', '/products', undefined, { token: accessToken }));
  });

  it('health is not counted', async () => {
    const { origin, call } = await limited({ RATE_LIMIT_GENERAL: '1', RATE_LIMIT_PAGES: '1' });
    for (const path of ['/health', '/livez', '/readyz']) {
      for (let i = 0; i < 3; i++) {
        const response = await fetch(`${origin}${path}`);
        expect(response.status, path).toBe(200);
        expect(response.headers.get('ratelimit')).toBeNull();
      }
    }
    expect((await call('GET', '/customers', undefined, { token: service.adminToken })).status).toBe(200);
  });

  it('trusts X-Forwarded-For only from a trusted proxy', async () => {
    const { call } = await limited({ TRUST_PROXY: '10.0.0.0/8', RATE_LIMIT_AUTH: '2' });
    expect(await times(2, () => login(call, `198.51.100.${Math.floor(Math.random() * 255)}`))).toEqual([
      401, 401,
    ]);
    expectRefused(await login(call, '198.51.100.77'));
  });

  it('counts an address once, with any port that a trusted proxy appends', async () => {
    const { call } = await limited({ TRUST_PROXY: '127.0.0.1', RATE_LIMIT_AUTH: '2' });
    expect((await login(call, '198.51.100.7:40001')).status).toBe(401);
    expect((await login(call, '198.51.100.7:40002')).status).toBe(401);
    expectRefused(await login(call, '198.51.100.7:40003'));
    expectRefused(await login(call, '198.51.100.7'));
    expectRefused(await login(call, '198.51.100.7:40004, 127.0.0.1:8080'));
    expect((await login(call, '[2001:db8::1]:40001')).status).toBe(401);
    expect((await login(call, '[2001:db8::2]:40002')).status).toBe(401);
    expectRefused(await login(call, '2001:db8::3'));
  });

  it('a limit of 0 means no limit', async () => {
    const { call } = await limited({ RATE_LIMIT_AUTH: '0' });
    const statuses = await times(8, () => login(call));
    expect(statuses).toEqual(statuses.map(() => 401));
    expect((await login(call)).headers.get('ratelimit')).toBeNull();
  });

  it('a refused request does nothing', async () => {
    const { call } = await limited({ RATE_LIMIT_GENERAL: '1' });
    const { id } = await newCustomer(service, { firstName: 'Before' });
    const change = () =>
      call('PUT', `/customers/${id}`, { firstName: 'After' }, { token: service.adminToken });
    await call('GET', '/customers', undefined, { token: service.adminToken });
    expectRefused(await change());
    expect((await service.call('GET', `/customers/${id}`)).body.data.firstName).toBe('Before');
  });
});

const redisUrl = inject('redisUrl');

describe.skipIf(redisUrl === '')('with Redis', () => {
  const ready = async ({ redis }: { redis: { isUsable(): boolean } | undefined }) =>
    eventually(() => redis?.isUsable()).toBe(true);

  it('the defaults are the same', () => expectDefaults({ REDIS_URL: redisUrl }));

  it('two instances share every limit exactly', async () => {
    const one = await limited({ REDIS_URL: redisUrl });
    const other = await limited({ REDIS_URL: redisUrl });
    await Promise.all([ready(one), ready(other)]);
    const email = `shared-${randomUUID()}@example.com`;
    const registered = await service.call('POST', '/auth/register', {
      email,
      password: PASSWORD,
      firstName: 'A',
      lastName: 'B',
    });
    // Users of several test databases have equal ids, so the counters of earlier runs are cleared first.
    const userId = registered.body.data.user.id;
    const address = `198.51.100.${userId}`;
    await one.redis?.client.del(`ams:limit:general:user ${userId}`, `ams:limit:auth:login ${address}`);
    const token = registered.body.data.accessToken;
    const answers = await Promise.all(
      Array.from({ length: 120 }, (_, i) =>
        (i % 2 === 0 ? one : other).call('GET', '/customers', undefined, { token }),
      ),
    );
    const allowed = answers.filter(({ status }) => status === 200);
    expect(allowed).toHaveLength(100);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(20);
    const left = allowed.map(({ headers }) => Number(/r=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1]));
    expect(left.sort((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, i) => i));

    const logins = await Promise.all(
      Array.from({ length: 8 }, (_, i) => login((i % 2 === 0 ? one : other).call, address)),
    );
    expect(logins.filter(({ status }) => status === 401)).toHaveLength(5);
  });

  it('ten failures at one e-mail lock it on every instance', async () => {
    const one = await limited({ REDIS_URL: redisUrl, RATE_LIMIT_AUTH: '0' });
    const other = await limited({ REDIS_URL: redisUrl, RATE_LIMIT_AUTH: '0' });
    await Promise.all([ready(one), ready(other)]);
    const email = `${randomUUID()}@example.com`;
    for (let i = 0; i < 10; i++) {
      expect((await login((i % 2 === 0 ? one : other).call, '203.0.113.1', email)).status).toBe(401);
    }
    for (const { call } of [one, other]) expect((await login(call, '203.0.113.1', email)).status).toBe(429);
  });

  it('health reports Redis as up', async () => {
    const one = await limited({ REDIS_URL: redisUrl });
    await ready(one);
    const health: unknown = await (await fetch(`${one.origin}/health`)).json();
    expect(health).toMatchObject({ status: 'ok', redis: 'up' });
  });
});
