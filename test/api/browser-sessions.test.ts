import { sql } from 'kysely';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { RIGHTS } from '../../src/rights.ts';
import { forgetCredentials, PASSWORD, signUp, startInstanceForTest, useService } from '../support/harness.ts';
import type { Answer } from '../support/http.ts';

const service = useService();
const COOKIE =
  /^ams_session=([\w-]{43}); Max-Age=2592000; Path=\/api\/auth\/session; HttpOnly; SameSite=Strict$/;
const DELETED = 'ams_session=; Max-Age=0; Path=/api/auth/session; HttpOnly; SameSite=Strict';

afterEach(() => vi.useRealTimers());

const newEmail = async () => (await signUp(service)).user.email;

function ask(method: string, path: string, refreshToken?: string, headers: Record<string, string> = {}) {
  const cookie = refreshToken !== undefined && { cookie: `ams_session=${refreshToken}` };
  return service.call(method, path, undefined, { token: null, headers: { ...headers, ...cookie } });
}

const refresh = (refreshToken?: string, headers = {}) =>
  ask('POST', '/auth/session/refresh', refreshToken, headers);

function tokenOf(answer: Answer): string {
  expect(answer.status, answer.text).toBe(200);
  const [cookie = '', ...others] = answer.headers.getSetCookie();
  expect(others).toEqual([]);
  return COOKIE.exec(cookie)?.[1] ?? expect.fail(cookie);
}

function expectNobody(answer: Answer): void {
  expect(answer.status, answer.text).toBe(200);
  expect(answer.body).toEqual({ success: true, data: { user: null }, message: 'Nobody is signed in.' });
}

const start = (email: string, password = PASSWORD, headers = {}) =>
  service.call('POST', '/auth/session', { email, password }, { token: null, headers });

const statusOf = async (token: string) =>
  (await service.call('GET', '/auth/me', undefined, { token })).status;

/** Stops the time of sessions. From then on it passes only by `letPass`. */
function stopTime(): void {
  vi.useFakeTimers({ now: Date.now(), toFake: ['Date'] });
}

function letPass(seconds: number): void {
  vi.setSystemTime(Date.now() + seconds * 1000);
}

describe('POST /auth/session', () => {
  it('answers the user, permissions and access token, and puts the refresh token into a cookie only', async () => {
    const answer = await start('admin@example.com');
    const token = tokenOf(answer);
    expect(answer.body.data).toEqual({
      user: expect.objectContaining({ email: 'admin@example.com', role: 'admin' }),
      permissions: Object.keys(RIGHTS),
      accessToken: expect.any(String),
      expiresIn: 3600,
    });
    expect(answer.text).not.toContain(token);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(await statusOf(answer.body.data.accessToken)).toBe(200);
  });

  it('refuses a wrong password like POST /auth/login, and sets no cookie', async () => {
    const answer = await start('admin@example.com', 'wrong');
    expect(answer.status).toBe(401);
    expect(answer.body.error.code).toBe('AUTH_FAILED');
    expect(answer.headers.getSetCookie()).toEqual([]);
  });

  it('shares the budgets of POST /auth/login', async () => {
    const limited = await startInstanceForTest(service, { RATE_LIMIT_AUTH: '4' });
    const body = { email: 'nobody@example.com', password: 'wrong' };
    const paths = ['/auth/login', '/auth/session', '/auth/login', '/auth/session', '/auth/session'];
    const statuses = [];
    for (const path of paths) statuses.push((await limited.call('POST', path, body, { token: null })).status);
    expect(statuses).toEqual([401, 401, 401, 401, 429]);
  });

  it('counts wrong passwords together with POST /auth/login', async () => {
    const email = await newEmail();
    const body = { email, password: 'wrong' };
    for (let i = 0; i < 10; i++) {
      const path = i % 2 === 0 ? '/auth/session' : '/auth/login';
      expect((await service.call('POST', path, body, { token: null })).status).toBe(401);
    }
    expect((await start(email)).status).toBe(429);
  });

  it('sends the cookie only over TLS if the public address is https', async () => {
    const secure = await startInstanceForTest(service, { PUBLIC_URL: 'https://books.example/solar' });
    const body = { email: 'admin@example.com', password: PASSWORD };
    const answer = await secure.call('POST', '/auth/session', body, { token: null });
    expect(answer.headers.getSetCookie()).toEqual([
      expect.stringMatching(
        /^__Secure-ams_session=[\w-]{43}; Max-Age=2592000; Path=\/solar\/api\/auth\/session; HttpOnly; Secure; SameSite=Strict$/,
      ),
    ]);
  });

  it('gives the cookie the path of /api/v1 to a caller of it', async () => {
    const body = JSON.stringify({ email: 'admin@example.com', password: PASSWORD });
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${service.origin}/api/v1/auth/session`, { method: 'POST', body, headers });
    expect(response.headers.getSetCookie()[0]).toContain('; Path=/api/v1/auth/session;');
  });
});

describe('POST /auth/session/refresh', () => {
  it('answers a new access token and replaces the cookie', async () => {
    const started = await start('admin@example.com');
    const answer = await refresh(tokenOf(started));
    expect(answer.body.data).toEqual({ ...started.body.data, accessToken: expect.any(String) });
    expect(tokenOf(answer)).not.toBe(tokenOf(started));
    expect(await statusOf(answer.body.data.accessToken)).toBe(200);
    tokenOf(await refresh(tokenOf(answer)));
  });

  it('answers that nobody is signed in without a cookie, and sets none', async () => {
    const answer = await refresh();
    expectNobody(answer);
    expect(answer.headers.getSetCookie()).toEqual([]);
  });

  it.each(['', 'x', 'x'.repeat(43), '%00', '"'])(
    'answers that nobody is signed in with the cookie %s',
    async (token) => expectNobody(await refresh(token)),
  );

  it('gives no token of another user than the page names, and leaves the cookie as it is', async () => {
    const started = await start(await newEmail());
    const { id } = started.body.data.user;
    const answer = await ask('POST', `/auth/session/refresh?userId=${id - 1}`, tokenOf(started));
    expect(answer.status).toBe(409);
    expect(answer.body.error.details.fields).toEqual([
      { path: 'userId', message: expect.stringContaining('another user has signed in') },
    ]);
    expect(answer.text).not.toContain('accessToken');
    expect(answer.headers.getSetCookie()).toEqual([]);
    const own = await ask('POST', `/auth/session/refresh?userId=${id}`, tokenOf(started));
    expect(own.body.data.user.id).toBe(id);
  });

  it('deletes the cookie of a session that has ended', async () => {
    const started = await start(await newEmail());
    await service.call('POST', '/auth/logout', {}, { token: started.body.data.accessToken });
    const answer = await refresh(tokenOf(started));
    expectNobody(answer);
    expect(answer.headers.getSetCookie()).toEqual([DELETED]);
  });

  it('gives a repeat within ten seconds the same cookie, also five tabs at once', async () => {
    stopTime();
    const first = tokenOf(await start(await newEmail()));
    const answers = await Promise.all(Array.from({ length: 5 }, () => refresh(first)));
    const [second = '', ...others] = new Set(answers.map(tokenOf));
    expect(others).toEqual([]);
    for (const { body } of answers) expect(await statusOf(body.data.accessToken)).toBe(200);
    letPass(9.999);
    expect(tokenOf(await refresh(first))).toBe(second);
    tokenOf(await refresh(second));
  });

  it('ends the session when a cookie is used again after ten seconds', async () => {
    stopTime();
    const started = await start(await newEmail());
    const first = tokenOf(started);
    const second = tokenOf(await refresh(first));
    letPass(10);
    expectNobody(await refresh(first));
    expectNobody(await refresh(second));
    forgetCredentials(service);
    expect(await statusOf(started.body.data.accessToken)).toBe(401);
  });

  it('gives a late request of another tab the newest cookie, but not after ten seconds', async () => {
    stopTime();
    const first = tokenOf(await start(await newEmail()));
    const second = tokenOf(await refresh(first));
    const third = tokenOf(await refresh(second));
    expect(tokenOf(await refresh(first))).toBe(third);
    tokenOf(await refresh(third));
    letPass(10);
    expectNobody(await refresh(second));
  });

  it('gives a disabled user no repeat', async () => {
    const started = await start(await newEmail());
    const first = tokenOf(started);
    await refresh(first);
    const { id } = started.body.data.user;
    await service.call('PUT', `/users/${id}`, { active: false });
    expectNobody(await refresh(first));
  });

  it('is the only endpoint that repeats an exchange', async () => {
    const first = tokenOf(await start(await newEmail()));
    const second = tokenOf(await refresh(first));
    const asToken = await service.call('POST', '/auth/refresh', { refreshToken: first }, { token: null });
    expect(asToken.status).toBe(401);
    expectNobody(await refresh(second));
  });

  it('stores no cookie and no successor, only hashes', async () => {
    const first = tokenOf(await start(await newEmail()));
    const second = tokenOf(await refresh(first));
    const { rows } = await sql<{
      row: string;
    }>`select encode(token_hash, 'escape') as row from refresh_tokens`.execute(service.context.db);
    expect(rows.some(({ row }) => row.includes(first) || row.includes(second))).toBe(false);
  });
});

describe('DELETE /auth/session', () => {
  it('ends the session, deletes the cookie and is audited as the user', async () => {
    const started = await start(await newEmail());
    const { user, accessToken } = started.body.data;
    const answer = await ask('DELETE', '/auth/session', tokenOf(started));
    expect(answer.body).toEqual({ success: true, data: { providerSignOut: null }, message: 'Signed out.' });
    expect(answer.headers.getSetCookie()).toEqual([DELETED]);
    expect(await statusOf(accessToken)).toBe(401);
    expectNobody(await refresh(tokenOf(started)));
    const audit = await service.call('GET', `/audit?filter[resource]=user&filter[resourceId]=${user.id}`);
    expect(audit.body.data).toContainEqual(
      expect.objectContaining({
        action: 'session.end',
        actor: user.email,
        after: expect.objectContaining({ reason: 'signed out' }),
      }),
    );
  });

  it('does not end the session of another user than the page names', async () => {
    const started = await start(await newEmail());
    const { user, accessToken } = started.body.data;
    const answer = await ask('DELETE', `/auth/session?userId=${user.id - 1}`, tokenOf(started));
    expect(answer.status).toBe(409);
    expect(answer.headers.getSetCookie()).toEqual([]);
    expect(await statusOf(accessToken)).toBe(200);
    expect((await ask('DELETE', `/auth/session?userId=${user.id}`, tokenOf(started))).status).toBe(200);
    expect(await statusOf(accessToken)).toBe(401);
  });

  it.each([undefined, 'x'.repeat(43)])('answers 200 to a browser with the cookie %s', async (token) => {
    const answer = await ask('DELETE', '/auth/session', token);
    expect(answer.status).toBe(200);
    expect(answer.headers.getSetCookie()).toEqual([DELETED]);
  });
});

describe('a request from a page of another origin', () => {
  const FOREIGN: Record<string, string>[] = [
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'none' },
    { 'sec-fetch-site': 'nonsense' },
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: 'nonsense' },
    { 'sec-fetch-site': 'cross-site', origin: 'SELF' },
  ];
  const withSelf = (headers: Record<string, string>) =>
    Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, value.replace('SELF', service.origin)]),
    );

  it.each(FOREIGN)('with %o is refused and changes nothing', async (headers) => {
    const email = await newEmail();
    const token = tokenOf(await start(email));
    const answers = [
      await start(email, PASSWORD, withSelf(headers)),
      await refresh(token, withSelf(headers)),
      await ask('DELETE', '/auth/session', token, withSelf(headers)),
    ];
    for (const { status, body, headers: sent } of answers) {
      expect(status).toBe(403);
      expect(body.error.code).toBe('FORBIDDEN');
      expect(body.error.message).toContain('Only pages of this service');
      expect(sent.getSetCookie()).toEqual([]);
      expect(sent.get('access-control-allow-credentials')).toBeNull();
    }
    tokenOf(await refresh(token));
  });

  const OWN: Record<string, string>[] = [{ 'sec-fetch-site': 'same-origin' }, { origin: 'SELF' }, {}];

  it.each(OWN)('is not one with %o', async (headers) => {
    const token = tokenOf(await start('admin@example.com', PASSWORD, withSelf(headers)));
    tokenOf(await refresh(token, withSelf(headers)));
  });

  it('is never allowed to send cookies, even if CORS_ORIGINS lists it', async () => {
    const open = await startInstanceForTest(service, { CORS_ORIGINS: 'https://portal.example' });
    const headers = { origin: 'https://portal.example', 'access-control-request-method': 'POST' };
    const preflight = await fetch(`${open.origin}/api/auth/session`, { method: 'OPTIONS', headers });
    expect(preflight.headers.get('access-control-allow-origin')).toBe('https://portal.example');
    expect(preflight.headers.get('access-control-allow-credentials')).toBeNull();
    const answer = await open.call('POST', '/auth/session/refresh', undefined, { token: null, headers });
    expect(answer.status).toBe(403);
  });
});

describe('the permissions of the signed-in user', () => {
  it.each(['admin', 'manager', 'finance', 'agent', 'collector', 'viewer'])(
    'are those of the role %s',
    async (role) => {
      const token = await service.signInAs(role);
      const { body } = await service.call('GET', '/auth/me', undefined, { token });
      const expected = Object.entries<readonly string[]>(RIGHTS).filter(([, roles]) => roles.includes(role));
      expect(body.data.permissions).toEqual(expected.map(([permission]) => permission));
      expect(body.data.permissions.includes('users:administer')).toBe(role === 'admin');
    },
  );
});
