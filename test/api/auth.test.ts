import { decodeJwt, SignJWT } from 'jose';
import { sql } from 'kysely';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { buildApp } from '../../src/app.ts';
import { passwordMatches } from '../../src/staff/users/passwords.ts';
import {
  dataOf,
  forgetCredentials,
  PASSWORD,
  signUp,
  startInstanceForTest,
  type TestService,
  useService,
  wrongFields,
} from '../support/harness.ts';
import type { Answer } from '../support/http.ts';

const service = useService();

let newcomers = 0;
const freshEmail = () => {
  newcomers += 1;
  return `registered${newcomers}@example.com`;
};
const post = (path: string, body: unknown, call = service.call) => call('POST', path, body, { token: null });
const login = (email: string, password = PASSWORD, call = service.call) =>
  post('/auth/login', { email, password }, call);

function registration(fields: Record<string, unknown> = {}) {
  return { email: freshEmail(), password: PASSWORD, firstName: 'New', lastName: 'Comer', ...fields };
}

async function register(fields: Record<string, unknown> = {}) {
  return dataOf(post('/auth/register', registration(fields)), 201);
}
const newUser = (email?: string) => signUp(service, email === undefined ? {} : { email });

const statusOf = async (token: string, call: TestService['call'] = service.call) =>
  (await call('GET', '/auth/me', undefined, { token })).status;

function expectRefusal(answer: Answer, status: number, code: string): void {
  expect(answer.body, answer.text).toMatchObject({ success: false, error: { code } });
  expect(answer.status).toBe(status);
}

/** Production needs both. */
const SECRETS = {
  JWT_SECRET: 'a secret of this test, longer than 32 bytes',
  WEBHOOK_SECRET: 'open sesame, open',
};

/** A service for the registration of first users. */
const empty = useService();
async function removeUsers(): Promise<void> {
  await sql`delete from sessions`.execute(empty.context.db);
  await sql`delete from users`.execute(empty.context.db);
}

describe('registration', () => {
  it('signs the new user in, and returns every field except the password', async () => {
    const body = registration({ email: 'Amina.W@Example.com', firstName: 'Amina', lastName: 'ወልደ' });
    const answer = await post('/auth/register', body);
    expect(answer.status).toBe(201);
    expect(answer.body.data).toEqual({
      accessToken: expect.any(String),
      refreshToken: expect.any(String),
      tokenType: 'Bearer',
      expiresIn: 3600,
      user: {
        id: expect.any(Number),
        email: 'Amina.W@Example.com',
        firstName: 'Amina',
        lastName: 'ወልደ',
        role: 'manager',
        active: true,
        employeeId: null,
        createdAt: expect.any(String),
        updatedAt: expect.any(String),
      },
    });
    expect(answer.text).not.toContain(PASSWORD);
    const me = await service.call('GET', '/auth/me', undefined, { token: answer.body.data.accessToken });
    expect(me.body.data).toMatchObject(answer.body.data.user);
  });

  it('makes the first user an admin and later users managers', async () => {
    const me = await service.call('GET', '/auth/me');
    expect(me.body.data).toMatchObject({ email: 'admin@example.com', role: 'admin' });
    expect((await register()).user.role).toBe('manager');
  });

  it('makes the first user who registers an admin, although users without a password exist', async () => {
    await sql`update users set role = 'finance', password_hash = null`.execute(empty.context.db);
    const roles: string[] = [];
    for (let at = 0; at < 2; at += 1)
      roles.push((await post('/auth/register', registration(), empty.call)).body.data.user.role);
    expect(roles).toEqual(['admin', 'manager']);
  });

  it('makes one admin when five first users register concurrently', async () => {
    await removeUsers();
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => post('/auth/register', registration(), empty.call)),
    );
    const roles = answers.map(({ body }) => body.data.user.role).sort();
    expect(roles).toEqual(['admin', 'manager', 'manager', 'manager', 'manager']);
  });

  it('names missing and wrong fields, and refuses a role', async () => {
    expect(wrongFields(await post('/auth/register', {}))).toEqual([
      'email',
      'firstName',
      'lastName',
      'password',
    ]);
    const wrong = registration({ email: 'none', password: 'short', firstName: ' ', role: 'admin' });
    expect(wrongFields(await post('/auth/register', wrong))).toEqual([
      'email',
      'firstName',
      'password',
      'role',
    ]);
  });

  it.each([7, 129])('refuses a password of %d characters', async (length) => {
    const password = 'p'.repeat(length);
    expect(wrongFields(await post('/auth/register', registration({ password })))).toEqual(['password']);
  });

  it.each(['p'.repeat(8), 'ö'.repeat(128), '  spaces count ', 'emoji 👍👍', 'password'])(
    'accepts the password "%s" unchanged',
    async (password) => {
      const { user } = await register({ password });
      expect((await login(user.email, password)).status).toBe(200);
      expect((await login(user.email, password.trim().slice(1))).status).toBe(401);
    },
  );

  it.each<[string, Record<string, string>, number, string | undefined]>([
    ['outside production', {}, 201, 'manager'],
    ['outside production with a role', { REGISTRATION_ROLE: 'viewer' }, 201, 'viewer'],
    ['outside production when closed', { REGISTRATION: 'closed' }, 403, undefined],
    ['in production', { NODE_ENV: 'production' }, 403, undefined],
    [
      'in production when opened',
      { NODE_ENV: 'production', REGISTRATION: 'open', REGISTRATION_ROLE: 'agent' },
      201,
      'agent',
    ],
  ])('%s with %j answers %d', async (_where, environment, status, role) => {
    const { call } = await startInstanceForTest(service, { ...SECRETS, ...environment });
    const answer = await call('POST', '/auth/register', registration());
    expect(answer.status, answer.text).toBe(status);
    expect(answer.body.data?.user.role).toBe(role);
    if (status === 403) expectRefusal(answer, 403, 'FORBIDDEN');
  });

  describe('in production', () => {
    const PRODUCTION = {
      ...SECRETS,
      NODE_ENV: 'production',
      REGISTRATION: 'open',
      REGISTRATION_ROLE: 'viewer',
    };

    it('does not make the first user an admin', async () => {
      await removeUsers();
      const production = await startInstanceForTest(empty, PRODUCTION);
      const first = await production.call('POST', '/auth/register', registration());
      expect(first.body.data.user.role).toBe('viewer');
    });

    it('refuses a common password, and one from the user’s names, on every route that sets one', async () => {
      const { call } = await startInstanceForTest(service, PRODUCTION);
      const [email, firstName, lastName] = ['amina.otieno@solar.example', 'Amina', 'Otieno'];
      const person = { email, firstName, lastName };
      const guessable = [
        'Password1',
        'password1   ',
        ' pass\u200bword1',
        'ｐａｓｓｗｏｒｄ１',
        ' '.repeat(8),
        email,
        'AMINA.OTIENO@solar.example ',
        'OtienoAmina',
        'Amina Otieno 1990!',
      ];
      for (const password of guessable) {
        const registered = await call('POST', '/auth/register', { ...person, password });
        expect(wrongFields(registered), password).toEqual(['password']);
      }
      const good = await call('POST', '/auth/register', { ...person, password: 'Amina counts 7 goats' });
      expect(good.status, good.text).toBe(201);
      const { accessToken: token, user } = good.body.data;
      const [currentPassword, newPassword] = ['Amina counts 7 goats', 'otieno.amina!'];
      const own = await call('PUT', '/auth/password', { currentPassword, newPassword }, { token });
      expect(wrongFields(own)).toEqual(['newPassword']);
      // This instance has another secret, so the admin signs in here.
      const admin = await call('POST', '/auth/login', { email: 'admin@example.com', password: PASSWORD });
      const asAdmin = { token: admin.body.data.accessToken };
      const changed = await call('PUT', `/users/${user.id}`, { password: newPassword }, asAdmin);
      expect(wrongFields(changed)).toEqual(['password']);
      const renamed = { firstName: 'Njeri', password: 'Njeri Otieno' };
      expect(wrongFields(await call('PUT', `/users/${user.id}`, renamed, asAdmin))).toEqual(['password']);
      const made = { ...person, email: 'x@solar.example', role: 'viewer', password: 'x@solar.example' };
      expect(wrongFields(await call('POST', '/users', made, asAdmin))).toEqual(['password']);
      const common = { ...made, password: 'Password1' };
      expect(wrongFields(await call('POST', '/users', common, asAdmin))).toEqual(['password']);
      const ofAdmin = await call('PUT', '/users/1', { password: '12345678' }, asAdmin);
      expect(wrongFields(ofAdmin)).toEqual(['password']);
    });
  });
});

describe('login', () => {
  it('returns working tokens for the e-mail in any letter case', async () => {
    const { user } = await newUser('Mixed.Case@example.com');
    const answer = await login('mIXED.cASE@EXAMPLE.com');
    expect(answer.status).toBe(200);
    expect(answer.body.data).toMatchObject({ tokenType: 'Bearer', expiresIn: 3600, user });
    expect(await statusOf(answer.body.data.accessToken)).toBe(200);
  });

  it('answers an unknown e-mail, a wrong password and a disabled user alike', async () => {
    const { user } = await newUser();
    const { user: disabled } = await newUser();
    await service.context.db
      .updateTable('users')
      .set({ active: false })
      .where('id', '=', disabled.id)
      .execute();
    const failures = [
      await login('nobody@example.com'),
      await login(user.email, 'a wrong password'),
      await login(user.email, 'x'),
      await login(user.email, ''),
      await login('not an e-mail', 'x'),
      await login(disabled.email),
    ];
    for (const failure of failures) {
      expectRefusal(failure, 401, 'AUTH_FAILED');
      expect(failure.text).toBe(failures[0]?.text);
    }
  });

  it('calculates a hash for an unknown e-mail, too, so it needs a place in the queue of hashes', async () => {
    const { user } = await newUser();
    const sent = [user.email, freshEmail()];
    const withFullQueue = await whileHashesWait(() =>
      Promise.all(sent.map((email) => login(email, 'wrong'))),
    );
    expect(withFullQueue.map(({ status }) => status)).toEqual([503, 503]);
    const later = await Promise.all(sent.map((email) => login(email, 'wrong')));
    expect(later.map(({ status }) => status)).toEqual([401, 401]);
  });

  it('checks only that both fields are texts of bounded length', async () => {
    expect(wrongFields(await post('/auth/login', {}))).toEqual(['email', 'password']);
    expect(wrongFields(await post('/auth/login', { email: 5, password: null }))).toEqual([
      'email',
      'password',
    ]);
    expect(wrongFields(await login('x'.repeat(255), 'y'.repeat(1001)))).toEqual(['email', 'password']);
  });

  it.each([true, false])('is locked after ten failures (the e-mail exists: %s)', async (exists) => {
    const email = exists ? (await newUser()).user.email : freshEmail();
    const guesses = await Promise.all(Array.from({ length: 10 }, () => login(email, 'a wrong guess')));
    for (const guess of guesses) expectRefusal(guess, 401, 'AUTH_FAILED');
    const locked = await login(email.toUpperCase());
    expectRefusal(locked, 429, 'RATE_LIMITED');
    expect(Number(locked.headers.get('retry-after'))).toBeGreaterThan(800);
    expect(Number(locked.headers.get('retry-after'))).toBeLessThanOrEqual(900);
  });

  it('verifies ten or eleven of eighteen concurrent wrong passwords', async () => {
    const { user, accessToken: token } = await newUser();
    const guess = { currentPassword: 'a wrong guess', newPassword: 'an even longer password' };
    for (const send of [
      () => login(user.email, 'a wrong guess'),
      () => service.call('PUT', '/auth/password', guess, { token }),
    ]) {
      const statuses = (await Promise.all(Array.from({ length: 18 }, send))).map(({ status }) => status);
      const looked = statuses.filter((status) => status === 401).length;
      expect(looked).toBeGreaterThanOrEqual(10);
      expect(looked).toBeLessThanOrEqual(11);
      expect(statuses.filter((status) => status === 429)).toHaveLength(18 - looked);
    }
  });

  it('accepts any number of concurrent right passwords', async () => {
    const { user } = await newUser();
    const signIns = await Promise.all(Array.from({ length: 18 }, () => login(user.email)));
    expect(signIns.map(({ status }) => status)).toEqual(Array(18).fill(200));
  });

  it('does not end live sessions when it is locked', async () => {
    const { user, accessToken, refreshToken } = await newUser();
    for (let i = 0; i < 10; i++) await login(user.email, 'a wrong guess');
    expectRefusal(await login(user.email), 429, 'RATE_LIMITED');
    expect(await statusOf(accessToken)).toBe(200);
    expect((await post('/auth/refresh', { refreshToken })).status).toBe(200);
  });

  it('resets the count of failures when it succeeds', async () => {
    const { user } = await newUser();
    for (let round = 0; round < 2; round++) {
      for (let i = 0; i < 9; i++) await login(user.email, 'a wrong guess');
      expect((await login(user.email)).status).toBe(200);
    }
  });
});

describe('an access token', () => {
  const key = () => new TextEncoder().encode(service.context.secret);
  interface Forgery {
    header?: Record<string, unknown>;
    claims?: Record<string, unknown>;
    secret?: Uint8Array;
  }
  /** A forged token of the admin with the given changes. */
  async function forge({ header = {}, claims = {}, secret = key() }: Forgery): Promise<string> {
    const real = decodeJwt(service.adminToken);
    const merged = Object.fromEntries(
      Object.entries({ ...real, ...claims }).filter(([, value]) => value !== undefined),
    );
    return new SignJWT(merged).setProtectedHeader({ alg: 'HS256', typ: 'at+jwt', ...header }).sign(secret);
  }

  it('is accepted when the test forges it correctly, so that the refusals below have one cause each', async () => {
    expect(await statusOf(await forge({}))).toBe(200);
  });

  it.each<[string, Forgery]>([
    ['a key of another', { secret: new TextEncoder().encode('another secret, also 32 bytes long') }],
    ['another algorithm of the family', { header: { alg: 'HS512' } }],
    ['another audience', { claims: { aud: 'another-api' } }],
    ['no audience', { claims: { aud: undefined } }],
    ['another issuer', { claims: { iss: 'someone-else' } }],
    ['another type in its header', { header: { typ: 'JWT' } }],
    ['no type in its header', { header: { typ: undefined } }],
    ['another type in its claims', { claims: { typ: 'refresh' } }],
    ['an expiry that has passed', { claims: { exp: Math.floor(Date.now() / 1000) - 1 } }],
    ['no expiry', { claims: { exp: undefined } }],
    ['a beginning that has not come', { claims: { nbf: Math.floor(Date.now() / 1000) + 3600 } }],
    ['no session', { claims: { sid: undefined } }],
    ['a session that is none', { claims: { sid: '00000000-0000-4000-8000-000000000000' } }],
    ['a session that is no id', { claims: { sid: "' or 1=1" } }],
    ['the session of another user', { claims: { sub: '999999' } }],
    ['no user', { claims: { sub: 'admin' } }],
  ])('with %s is refused', async (_what, forgery) => {
    const answer = await service.call('GET', '/auth/me', undefined, { token: await forge(forgery) });
    expectRefusal(answer, 401, 'UNAUTHORIZED');
  });

  it('is refused without a signature', async () => {
    const [, claims = ''] = service.adminToken.split('.');
    const header = Buffer.from('{"alg":"none","typ":"at+jwt"}').toString('base64url');
    for (const token of [
      `${header}.${claims}.`,
      `${header}.${claims}`,
      service.adminToken.replace(/\.[^.]*$/, '.'),
    ]) {
      expect(await statusOf(token), token).toBe(401);
    }
  });

  it('is refused after a change', async () => {
    const [header = '', claims = '', signature = ''] = service.adminToken.split('.');
    const other = Buffer.from(JSON.stringify({ ...decodeJwt(service.adminToken), sub: '2' })).toString(
      'base64url',
    );
    for (const token of [
      `${header}.${other}.${signature}`,
      `${header}.${claims}.${signature.slice(0, -2)}AA`,
    ]) {
      expect(await statusOf(token)).toBe(401);
    }
  });

  it('is refused when it is too long, empty or of another scheme', async () => {
    const authorizations = ['', 'Bearer', 'Bearer ', `Basic ${service.adminToken}`, service.adminToken];
    for (const authorization of [
      ...authorizations,
      `Bearer ${'x'.repeat(4000)}`,
      `Bearer ${service.adminToken} x`,
    ]) {
      const answer = await service.call('GET', '/auth/me', undefined, {
        token: null,
        headers: { authorization },
      });
      expectRefusal(answer, 401, 'UNAUTHORIZED');
    }
  });

  it('is accepted with the scheme in any letter case', async () => {
    const headers = { authorization: `bearer ${service.adminToken}` };
    expect((await service.call('GET', '/auth/me', undefined, { token: null, headers })).status).toBe(200);
  });

  it('does not contain the rights of its user', async () => {
    expect(Object.keys(decodeJwt(service.adminToken)).sort()).toEqual([
      'aud',
      'exp',
      'iat',
      'iss',
      'sid',
      'sub',
      'typ',
    ]);
    const { accessToken } = await newUser();
    const raised = await new SignJWT({ ...decodeJwt(accessToken), role: 'admin', roles: ['admin'] })
      .setProtectedHeader({ alg: 'HS256', typ: 'at+jwt' })
      .sign(key());
    const me = await service.call('GET', '/auth/me', undefined, { token: raised });
    expect(me.body.data.role).toBe('manager');
  });

  it('expires after the configured time', async () => {
    const { call } = await startInstanceForTest(service, { ACCESS_TOKEN_TTL: '60' });
    const { accessToken, expiresIn } = (await login('admin@example.com', PASSWORD, call)).body.data;
    const { exp = 0, iat = 0 } = decodeJwt(accessToken);
    expect({ lifetime: exp - iat, expiresIn }).toEqual({ lifetime: 60, expiresIn: 60 });
  });
});

describe('a refresh token', () => {
  const refresh = (refreshToken: string) => post('/auth/refresh', { refreshToken });

  it('is exchanged for new tokens of the same session', async () => {
    const first = await newUser();
    const answer = await refresh(first.refreshToken);
    expect(answer.status).toBe(200);
    expect(answer.body.data).toMatchObject({ tokenType: 'Bearer', user: first.user });
    expect(answer.body.data.refreshToken).not.toBe(first.refreshToken);
    expect(decodeJwt(answer.body.data.accessToken).sid).toBe(decodeJwt(first.accessToken).sid);
    expect(await statusOf(answer.body.data.accessToken)).toBe(200);
  });

  it('ends its session when it is used a second time', async () => {
    const first = await newUser();
    const second = (await refresh(first.refreshToken)).body.data;
    const third = (await refresh(second.refreshToken)).body.data;
    expectRefusal(await refresh(first.refreshToken), 401, 'UNAUTHORIZED');
    expectRefusal(await refresh(third.refreshToken), 401, 'UNAUTHORIZED');
    forgetCredentials(service);
    for (const { accessToken } of [first, second, third]) expect(await statusOf(accessToken)).toBe(401);
    expect((await login(first.user.email)).status).toBe(200);
  });

  it('works at most once in five concurrent uses, and ends its session', async () => {
    const { refreshToken } = await newUser();
    const answers = await Promise.all(Array.from({ length: 5 }, () => refresh(refreshToken)));
    const won = answers.filter(({ status }) => status === 200);
    expect(won).toHaveLength(1);
    expectRefusal(await refresh(won[0]?.body.data.refreshToken), 401, 'UNAUTHORIZED');
  });

  it('stays valid when another session ends', async () => {
    const one = await newUser();
    const other = (await login(one.user.email)).body.data;
    await refresh(one.refreshToken);
    await refresh(one.refreshToken);
    expect((await refresh(other.refreshToken)).status).toBe(200);
  });

  it('is refused when it has expired, is unknown or is an access token', async () => {
    const { refreshToken, accessToken, user } = await newUser();
    await sql`update refresh_tokens t set expires_at = now() - interval '1 second'
      from sessions s where s.id = t.session_id and s.user_id = ${user.id}`.execute(service.context.db);
    for (const token of [refreshToken, 'x'.repeat(43)])
      expectRefusal(await refresh(token), 401, 'UNAUTHORIZED');
    expect(wrongFields(await refresh(accessToken))).toEqual(['refreshToken']);
    expect(wrongFields(await refresh(''))).toEqual(['refreshToken']);
  });

  it('is stored only as a digest', async () => {
    const { refreshToken } = await newUser();
    const { rows } = await sql<{ found: number }>`
      select count(*) as found from refresh_tokens
      where encode(token_hash, 'escape') like ${`%${refreshToken}%`}`.execute(service.context.db);
    expect(rows[0]?.found).toBe(0);
  });
});

describe('the end of a session', () => {
  it('is audited once after a logout', async () => {
    const { accessToken, user } = await newUser();
    await service.call('POST', '/auth/logout', undefined, { token: accessToken });
    await service.call('POST', '/auth/logout', undefined, { token: accessToken });
    expect(await sessionEnds(user.id)).toEqual([
      { actor: user.email, userId: user.id, reason: 'signed out' },
    ]);
  });

  it('is audited and logged once after the re-use of a refresh token', async () => {
    const lines: string[] = [];
    const log = pino({ level: 'warn' }, { write: (line: string) => lines.push(line) });
    const app = buildApp({ ...service.parts, log });
    const { refreshToken, user } = await newUser();
    const refreshed = await Promise.all(
      [1, 2, 3].map(() =>
        app.inject({ method: 'POST', url: '/api/auth/refresh', payload: { refreshToken } }),
      ),
    );
    await app.close();
    expect(refreshed.map(({ statusCode }) => statusCode).sort()).toEqual([200, 401, 401]);
    const reason = 'a refresh token was used twice';
    expect(await sessionEnds(user.id)).toEqual([{ actor: 'system', userId: null, reason }]);
    const warnings = lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg.includes(reason));
    expect(warnings).toMatchObject([{ level: 40, userId: user.id, sessionId: expect.any(String) }]);
    expect(lines.join('')).not.toContain(refreshToken);
  });

  it('follows a logout, for the access token immediately and for the refresh token', async () => {
    const { accessToken, refreshToken } = await newUser();
    expect(await statusOf(accessToken)).toBe(200);
    const answer = await service.call('POST', '/auth/logout', undefined, { token: accessToken });
    expect(answer.status).toBe(200);
    expect(await statusOf(accessToken)).toBe(401);
    expectRefusal(await post('/auth/refresh', { refreshToken }), 401, 'UNAUTHORIZED');
  });

  it('follows a logout on other instances within five seconds, and spares the user’s other sessions', async () => {
    const { call } = await startInstanceForTest(service);
    const { accessToken, user } = await newUser();
    const other = (await login(user.email)).body.data;
    expect(await statusOf(accessToken, call)).toBe(200);
    await service.call('POST', '/auth/logout', undefined, { token: accessToken });
    forgetCredentials(service);
    expect(await statusOf(accessToken, call)).toBe(401);
    expect(await statusOf(other.accessToken, call)).toBe(200);
  });

  it('follows a change of the password, except for the session that changed it', async () => {
    const { accessToken, user } = await newUser();
    const other = (await login(user.email)).body.data;
    expect(await statusOf(other.accessToken)).toBe(200);
    const body = { currentPassword: PASSWORD, newPassword: 'an even longer password' };
    expect((await service.call('PUT', '/auth/password', body, { token: accessToken })).status).toBe(200);
    forgetCredentials(service);
    expect(await statusOf(other.accessToken)).toBe(401);
    expectRefusal(await post('/auth/refresh', { refreshToken: other.refreshToken }), 401, 'UNAUTHORIZED');
    expect(await statusOf(accessToken)).toBe(200);
    expectRefusal(await login(user.email), 401, 'AUTH_FAILED');
    expect((await login(user.email, 'an even longer password')).status).toBe(200);
  });

  it('does not follow a refused change of the password', async () => {
    const { accessToken, user } = await newUser();
    const change = (currentPassword: string, newPassword: string) =>
      service.call('PUT', '/auth/password', { currentPassword, newPassword }, { token: accessToken });
    expectRefusal(await change('a wrong password', 'an even longer password'), 401, 'AUTH_FAILED');
    expect(wrongFields(await change(PASSWORD, 'short'))).toEqual(['newPassword']);
    expect((await login(user.email)).status).toBe(200);
    expect(await statusOf(accessToken)).toBe(200);
  });

  it('follows when the user is disabled', async () => {
    const { accessToken, refreshToken, user } = await newUser();
    expect(await statusOf(accessToken)).toBe(200);
    await service.context.db.updateTable('users').set({ active: false }).where('id', '=', user.id).execute();
    forgetCredentials(service);
    expect(await statusOf(accessToken)).toBe(401);
    expectRefusal(await post('/auth/refresh', { refreshToken }), 401, 'UNAUTHORIZED');
  });
});

describe('rights', () => {
  const customer = { firstName: 'A', lastName: 'B', phone: '+254711999999' };

  it.each([
    ['admin', 201],
    ['manager', 201],
    ['agent', 201],
    ['finance', 403],
    ['viewer', 403],
  ])('let a user who is %s register a customer: %d', async (role, status) => {
    const token = await service.signInAs(role);
    const answer = await service.call('POST', '/customers', customer, { token });
    expect(answer.status).toBe(status);
    if (status === 403) {
      expectRefusal(answer, 403, 'FORBIDDEN');
      expect(answer.body.error.details).toEqual({
        permission: 'customers:create',
        roles: ['admin', 'manager', 'agent'],
      });
    }
  });

  it('follow a change of the role within five seconds, with the same token', async () => {
    const { accessToken: token, user } = await newUser();
    expect((await service.call('POST', '/customers', customer, { token })).status).toBe(201);
    await service.context.db.updateTable('users').set({ role: 'viewer' }).where('id', '=', user.id).execute();
    forgetCredentials(service);
    expect((await service.call('POST', '/customers', customer, { token })).status).toBe(403);
  });

  it('are checked after the token and before the body', async () => {
    const viewer = await service.signInAs('viewer');
    expectRefusal(await service.call('POST', '/customers', '{broken', { token: viewer }), 403, 'FORBIDDEN');
    expectRefusal(await service.call('POST', '/customers', '{broken', { token: null }), 401, 'UNAUTHORIZED');
    expectRefusal(await service.call('POST', '/customers', '{broken'), 400, 'VALIDATION_ERROR');
  });
});

/** Does the work while so many hashes wait that each further one is refused. */
async function whileHashesWait<T>(work: () => Promise<T>): Promise<T> {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const waiting = Promise.allSettled(
    Array.from({ length: 102 }, () =>
      passwordMatches(null, 'x', {
        check: () => opened.then(() => Promise.reject(new Error('no hash'))),
        countWrongGuess: async () => {},
      }),
    ),
  );
  try {
    return await work();
  } finally {
    open();
    await waiting;
  }
}

/** The audit entries for the ended sessions of a user. */
async function sessionEnds(userId: number) {
  const { body } = await service.call(
    'GET',
    `/audit?filter[action]=session.end&filter[resource]=user&filter[resourceId]=${userId}`,
  );
  return body.data.map((entry: { actor: string; userId: number | null; after: { reason: string } }) => ({
    actor: entry.actor,
    userId: entry.userId,
    reason: entry.after.reason,
  }));
}
