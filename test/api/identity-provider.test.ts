import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { deleteExpiredSignInStates } from '../../src/staff/auth/store.ts';
import {
  PASSWORD,
  startInstance,
  startInstanceForTest,
  startServiceForTest,
  startTestService,
  type TestService,
  wrongFields,
} from '../support/harness.ts';
import {
  type Browser,
  createBrowser,
  type Forgery,
  type Person,
  passProvider,
  providerSettings,
  startForgedProvider,
  startRealProvider,
} from '../support/identity-providers.ts';

const people: Record<string, Person> = {
  amina: { email: 'amina@example.org', email_verified: true, given_name: 'Amina', family_name: 'Otieno' },
  otto: { email: 'otto@example.org', email_verified: true, name: 'Otto von Berg' },
  local: { email: 'ADMIN@example.com', email_verified: true, name: 'Not Admin' },
  unverified: { email: 'unverified@example.org', email_verified: false, name: 'Un Verified' },
  mailless: { name: 'No Mail' },
  twins: { email: 'twins@example.org', email_verified: true, name: 'Twin' },
  audited: { email: 'audited@example.org', email_verified: true, name: 'Audited Person' },
};

let service: TestService;
let real: Awaited<ReturnType<typeof startRealProvider>>;
let forged: Awaited<ReturnType<typeof startForgedProvider>>;
let gone: typeof forged;
const closers: (() => Promise<void>)[] = [];

beforeAll(async () => {
  real = await startRealProvider(people);
  forged = await startForgedProvider();
  gone = await startForgedProvider();
  gone.state.isUnreachable = true;
  const started = await startTestService({
    ...providerSettings('REAL', real.issuer),
    ...providerSettings('FORGED', forged.issuer),
    ...providerSettings('GONE', gone.issuer),
  });
  service = started.service;
  await real.open(`${service.origin}/api/auth/real/callback`);
  closers.push(started.close, real.close, forged.close, gone.close);
});
afterAll(async () => {
  for (const close of closers) await close();
});

async function start(browser: Browser, provider = 'real', origin = service.origin): Promise<string> {
  const response = await browser.send(`${origin}/api/auth/${provider}`);
  expect(response.status, await response.text()).toBe(302);
  return response.headers.get('location') ?? '';
}

async function answerOf(response: Response) {
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: JSON.parse(text) };
}

/** A complete sign-in with a separate browser. */
async function signIn(person: string, browser = createBrowser()) {
  const callback = await passProvider(browser, await start(browser), person);
  return answerOf(await browser.send(callback));
}

function expectRefused(
  answer: Awaited<ReturnType<typeof answerOf>>,
  status = 401,
  code = 'AUTH_FAILED',
  message = /\S/,
) {
  expect(answer.body, answer.text).toMatchObject({ success: false, error: { code } });
  expect(answer.status).toBe(status);
  expect(answer.body.error.message).toMatch(message);
}

const NOT_STARTED = /was not started in this browser/;
const NOT_VERIFIED = /could not be verified/;

describe('GET /auth/:provider', () => {
  it('redirects the browser to the provider with PKCE, a state and a nonce', async () => {
    const location = new URL(await start(createBrowser()));
    expect(location.origin).toBe(real.issuer);
    expect(Object.fromEntries(location.searchParams)).toEqual({
      client_id: 'ams',
      response_type: 'code',
      redirect_uri: `${service.origin}/api/auth/real/callback`,
      scope: 'openid email profile',
      state: expect.stringMatching(/^.{43}$/),
      nonce: expect.stringMatching(/^.{43}$/),
      code_challenge: expect.stringMatching(/^.{43}$/),
      code_challenge_method: 'S256',
    });
  });

  it('binds the sign-in to the browser by a cookie that scripts cannot read, and stores only hashes', async () => {
    const response = await fetch(`${service.origin}/api/auth/real`, { redirect: 'manual' });
    const [cookie = ''] = response.headers.getSetCookie();
    expect(cookie).toMatch(/^ams_sign_in=[\w-]{43}; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax$/);
    expect(response.headers.get('cache-control')).toBe('no-store');
    const state = new URL(response.headers.get('location') ?? '').searchParams.get('state') ?? '';
    const { rows } = await sql<{ row: string }>`select s::text as row from oauth_states s`.execute(
      service.context.db,
    );
    const secret = cookie.slice('ams_sign_in='.length, 'ams_sign_in='.length + 43);
    expect(rows.some(({ row }) => row.includes(state) || row.includes(secret))).toBe(false);
  });

  it('accepts the name in any letter case, also below /api/v1', async () => {
    for (const path of ['/api/auth/REAL', '/api/v1/auth/real']) {
      const response = await fetch(`${service.origin}${path}`, { redirect: 'manual' });
      expect(response.status).toBe(302);
      const location = new URL(response.headers.get('location') ?? '');
      expect(location.searchParams.get('redirect_uri')).toBe(`${service.origin}/api/auth/real/callback`);
    }
  });

  it('names the missing settings of an unknown provider', async () => {
    const answer = await service.call('GET', '/auth/google', undefined, { token: null });
    expect(answer.status).toBe(404);
    expect(answer.body.error).toMatchObject({
      code: 'NOT_FOUND',
      message: expect.stringContaining(
        'OAUTH_GOOGLE_ISSUER, OAUTH_GOOGLE_CLIENT_ID, OAUTH_GOOGLE_CLIENT_SECRET',
      ),
      details: {
        missing: ['OAUTH_GOOGLE_ISSUER', 'OAUTH_GOOGLE_CLIENT_ID', 'OAUTH_GOOGLE_CLIENT_SECRET'],
      },
    });
    const callback = await service.call('GET', '/auth/google/callback?state=x&code=y', undefined, {
      token: null,
    });
    expect(callback.body.error).toMatchObject({ code: 'NOT_FOUND' });
  });

  it.each(['login', 'register', 'refresh', 'logout', 'password', 'me/callback', 'a%2Fb', '%3Cscript%3E'])(
    'does not treat %s as a provider',
    async (name) => {
      const answer = await service.call('GET', `/auth/${name}`, undefined, { token: null });
      expect(answer.status).toBe(404);
      expect(answer.body.error.code).toBe('NOT_FOUND');
      expect(answer.body.error.details.missing).toBeUndefined();
      expect(answer.body.error.message).not.toContain('<');
    },
  );

  it('does not shadow GET /auth/me', async () => {
    const answer = await service.call('GET', '/auth/me');
    expect(answer.body.data.email).toBe('admin@example.com');
  });

  it.each(['returnTo', 'redirect_uri', 'next', 'state'])(
    'refuses the parameter %s, so that nobody can be redirected elsewhere',
    async (name) => {
      const target = encodeURIComponent('https://evil.example');
      const answer = await service.call('GET', `/auth/real?${name}=${target}`, undefined, { token: null });
      expect(answer.status).toBe(400);
      expect(answer.headers.get('location')).toBeNull();
    },
  );

  it('does not start a sign-in for a HEAD', async () => {
    const response = await fetch(`${service.origin}/api/auth/real`, { method: 'HEAD', redirect: 'manual' });
    expect(response.status).toBe(404);
  });

  it('answers 503 while the provider is unreachable, and works afterwards', async () => {
    const answer = await service.call('GET', '/auth/gone', undefined, { token: null });
    expect(answer.status).toBe(503);
    expect(answer.headers.get('retry-after')).toBe('2');
    expect(answer.body.error.code).toBe('INTERNAL_ERROR');
    expect(answer.text).not.toMatch(/ECONN|socket|127\.0\.0\.1/);

    gone.state.isUnreachable = false;
    service.stopwatch.advance(2_000);
    await start(createBrowser(), 'gone');
  });
});

describe('GET /auth/:provider/callback', () => {
  it('creates a user for a new identity, and signs the same user in again', async () => {
    const browser = createBrowser();
    const answer = await signIn('amina', browser);
    expect(answer.status, answer.text).toBe(200);
    expect(answer.body).toMatchObject({
      success: true,
      data: {
        tokenType: 'Bearer',
        expiresIn: 3600,
        user: { email: 'amina@example.org', firstName: 'Amina', lastName: 'Otieno', role: 'manager' },
      },
    });
    expect(browser.cookies.has('ams_sign_in')).toBe(false);
    const { accessToken, refreshToken, user } = answer.body.data;
    const me = await service.call('GET', '/auth/me', undefined, { token: accessToken });
    expect(me.body.data).toMatchObject(user);
    const refreshed = await service.call('POST', '/auth/refresh', { refreshToken }, { token: null });
    expect(refreshed.status).toBe(200);

    const again = await signIn('amina');
    expect(again.body.data.user.id).toBe(user.id);
  });

  it('identifies a user by issuer and subject, whatever the e-mail', async () => {
    const before = await signIn('otto');
    expect(before.body.data.user).toMatchObject({ firstName: 'Otto', lastName: 'von Berg' });
    people.otto = { email: 'admin@example.com', email_verified: true };
    const after = await signIn('otto');
    expect(after.body.data.user).toEqual(before.body.data.user);
  });

  it('creates one user for two concurrent sign-ins of a new identity', async () => {
    const answers = await Promise.all([signIn('twins'), signIn('twins'), signIn('twins')]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(new Set(answers.map(({ body }) => body.data.user.id)).size).toBe(1);
  });

  it('refuses an e-mail that a local user has, and links nothing', async () => {
    for (let attempt = 0; attempt < 2; attempt++) {
      const answer = await signIn('local');
      expectRefused(answer, 409, 'DUPLICATE_ENTRY');
      expect(answer.body.error.details).toMatchObject({ field: 'email' });
    }
  });

  it.each(['unverified', 'mailless'])('refuses a person who is %s', async (person) => {
    expectRefused(await signIn(person), 401, 'AUTH_FAILED', /no verified e-mail/);
  });

  it('refuses a user who is disabled', async () => {
    const { body } = await signIn('amina');
    const { id } = body.data.user;
    expect((await service.call('PUT', `/users/${id}`, { active: false })).status).toBe(200);
    expectRefused(await signIn('amina'), 401, 'AUTH_FAILED', /disabled/);
    await service.call('PUT', `/users/${id}`, { active: true });
    expect((await signIn('amina')).status).toBe(200);
  });

  it('creates a user without a password, who can sign in with one after an admin sets it', async () => {
    const { body } = await signIn('amina');
    const email = 'amina@example.org';
    const without = await service.call('POST', '/auth/login', { email, password: '' }, { token: null });
    expect(without.body.error.code, without.text).toBe('AUTH_FAILED');
    await service.call('PUT', `/users/${body.data.user.id}`, { password: 'given by the admin' });
    const given = { email, password: 'given by the admin' };
    const withOne = await service.call('POST', '/auth/login', given, { token: null });
    expect(withOne.status).toBe(200);
  });

  it('reports a refusal by the provider without repeating its text', async () => {
    const answer = await signIn('cancel');
    expectRefused(answer, 401, 'AUTH_FAILED', /cancelled or refused/);
    expect(answer.body.error.details).toEqual({ provider: 'real', reason: 'access_denied' });
    expect(answer.text).not.toContain('script');
    expect(answer.headers.get('content-type')).toContain('application/json');
  });

  it('does not repeat a non-standard error code', async () => {
    const browser = createBrowser();
    const state = new URL(await start(browser)).searchParams.get('state');
    const error = encodeURIComponent('<img src=x onerror=alert(1)>');
    const url = `${service.origin}/api/auth/real/callback?state=${state}&error=${error}&iss=${real.issuer}`;
    const answer = await answerOf(await browser.send(url));
    expectRefused(answer);
    expect(answer.text).not.toContain('<img');
  });

  describe('refuses a callback', () => {
    let browser: Browser;
    let callback: URL;
    beforeEach(async () => {
      browser = createBrowser();
      callback = new URL(await passProvider(browser, await start(browser), 'amina'));
    });
    const send = async (from = browser) => answerOf(await from.send(callback.href));

    it('without a state', async () => {
      callback.searchParams.delete('state');
      expectRefused(await send(), 401, 'AUTH_FAILED', NOT_STARTED);
    });

    it('with a wrong state', async () => {
      callback.searchParams.set('state', 'A'.repeat(43));
      expectRefused(await send(), 401, 'AUTH_FAILED', NOT_STARTED);
    });

    it('with two states', async () => {
      callback.searchParams.append('state', 'A'.repeat(43));
      expect((await send()).status).toBe(400);
    });

    it('that is repeated', async () => {
      const cookie = new Map(browser.cookies);
      expect((await send()).status).toBe(200);
      for (const [name, value] of cookie) browser.cookies.set(name, value);
      expectRefused(await send(), 401, 'AUTH_FAILED', NOT_STARTED);
    });

    it('of two concurrent ones', async () => {
      const statuses = (await Promise.all([send(), send(), send()])).map(({ status }) => status);
      expect(statuses.sort()).toEqual([200, 401, 401]);
    });

    it('in another browser, and still accepts it in the browser that started the sign-in', async () => {
      expectRefused(await send(createBrowser()), 401, 'AUTH_FAILED', NOT_STARTED);
      const other = createBrowser();
      await start(other);
      expectRefused(await send(other), 401, 'AUTH_FAILED', NOT_STARTED);
      expect((await send()).status).toBe(200);
    });

    it('at the address of another provider (mix-up)', async () => {
      callback.pathname = '/api/auth/forged/callback';
      expectRefused(await send(), 401, 'AUTH_FAILED', NOT_STARTED);
    });

    it('that names another issuer (mix-up)', async () => {
      callback.searchParams.set('iss', forged.issuer);
      expectRefused(await send(), 401, 'AUTH_FAILED', NOT_VERIFIED);
    });

    it('without the issuer that the provider promises to send', async () => {
      callback.searchParams.delete('iss');
      expectRefused(await send(), 401, 'AUTH_FAILED', NOT_VERIFIED);
    });

    it.each(['a wrong code', ''])('with the code "%s"', async (code) => {
      callback.searchParams.set('code', code);
      expectRefused(await send());
    });

    it('with the code of another sign-in', async () => {
      const thief = createBrowser();
      const own = new URL(await passProvider(thief, await start(thief), 'amina'));
      own.searchParams.set('code', callback.searchParams.get('code') ?? '');
      expectRefused(await answerOf(await thief.send(own.href)), 401, 'AUTH_FAILED', NOT_VERIFIED);
    });

    it('with another PKCE verifier', async () => {
      await service.context.db
        .updateTable('oauth_states')
        .set({ code_verifier: 'x'.repeat(43) })
        .execute();
      expectRefused(await send(), 401, 'AUTH_FAILED', NOT_VERIFIED);
    });

    it('without a PKCE verifier', async () => {
      await service.context.db.updateTable('oauth_states').set({ code_verifier: '' }).execute();
      expectRefused(await send(), 401, 'AUTH_FAILED', NOT_VERIFIED);
    });

    it('with another nonce', async () => {
      await service.context.db
        .updateTable('oauth_states')
        .set({ nonce: 'y'.repeat(43) })
        .execute();
      expectRefused(await send(), 401, 'AUTH_FAILED', NOT_VERIFIED);
    });

    it('after ten minutes', async () => {
      await service.context.db.updateTable('oauth_states').set({ expires_at: new Date() }).execute();
      expectRefused(await send(), 401, 'AUTH_FAILED', NOT_STARTED);
      await deleteExpiredSignInStates(service.context.db, new Date(), new AbortController().signal);
      const left = await service.context.db.selectFrom('oauth_states').selectAll().execute();
      expect(left).toEqual([]);
    });
  });

  describe('from a forging provider', () => {
    async function forge(forgery: Forgery, query: Record<string, string> = {}) {
      const browser = createBrowser();
      const { searchParams } = new URL(await start(browser, 'forged'));
      forged.state.forgery = forgery;
      forged.state.nonce = searchParams.get('nonce') ?? '';
      const parameters = new URLSearchParams({ state: searchParams.get('state') ?? '', code: 'c', ...query });
      return answerOf(await browser.send(`${service.origin}/api/auth/forged/callback?${parameters}`));
    }
    const soon = () => Math.floor(Date.now() / 1000);

    it('signs in with a correct answer, so that the refusals below have one cause each', async () => {
      const answer = await forge({}, { session_state: 'a parameter of the provider' });
      expect(answer.status, answer.text).toBe(200);
      expect(answer.body.data.user).toMatchObject({ firstName: 'Forged', lastName: 'Person' });
      expect(forged.state.lastTokenRequest.get('code_verifier')).toMatch(/^.{43}$/);
    });

    it.each<[string, () => Forgery]>([
      ['another audience', () => ({ claims: { aud: 'another client' } })],
      ['another authorized party', () => ({ claims: { aud: ['ams', 'b'], azp: 'b' } })],
      ['one audience and another authorized party', () => ({ claims: { azp: 'b' } })],
      ['several audiences and no authorized party', () => ({ claims: { aud: ['ams', 'b'] } })],
      ['an empty subject', () => ({ claims: { sub: '' } })],
      ['a blank subject', () => ({ claims: { sub: ' ' } })],
      ['a subject that UTF-8 cannot hold', () => ({ claims: { sub: '\ud800' } })],
      ['a subject beyond 255 characters', () => ({ claims: { sub: 'x'.repeat(256) } })],
      ['another nonce', () => ({ claims: { nonce: 'n' } })],
      ['no nonce', () => ({ without: ['nonce'] })],
      ['another issuer', () => ({ claims: { iss: real.issuer } })],
      ['no subject', () => ({ without: ['sub'] })],
      ['an expiry that is past', () => ({ claims: { exp: soon() - 120 } })],
      ['a beginning that is to come', () => ({ claims: { nbf: soon() + 600 } })],
      ['no signature (alg none)', () => ({ sign: 'none' })],
      ["the client's secret as key (HS256)", () => ({ sign: 'client secret' })],
      ['the signature of another key', () => ({ sign: 'another key' })],
    ])('refuses an ID token with %s', async (_title, forgery) => {
      expectRefused(await forge(forgery()), 401, 'AUTH_FAILED', NOT_VERIFIED);
    });

    it.each(['per\u200bson@example.org', '<b>person</b>@example.org', 'person@exam<ple.org'])(
      'refuses the e-mail %j, as registration does',
      async (email) => {
        const answer = await forge({ claims: { sub: `of ${email}`, email, email_verified: true } });
        expectRefused(answer, 401, 'AUTH_FAILED', /no verified e-mail/);
        const registration = { email, password: 'a long enough password', firstName: 'A', lastName: 'B' };
        const registered = await service.call('POST', '/auth/register', registration, { token: null });
        expect(wrongFields(registered)).toEqual(['email']);
      },
    );

    it('refuses an answer without an ID token', async () => {
      const answer = await forge({ body: { access_token: 'a', token_type: 'Bearer' } });
      expectRefused(answer, 401, 'AUTH_FAILED', NOT_VERIFIED);
    });

    it.each<[string, Forgery]>([
      ['breaks the connection', { broken: true }],
      ['fails', { status: 500, body: 'down' }],
      ['does not accept our secret', { status: 401, body: { error: 'invalid_client' } }],
    ])('answers 503 when it %s', async (_title, forgery) => {
      const answer = await forge(forgery);
      expectRefused(answer, 503, 'INTERNAL_ERROR');
      expect(answer.headers.get('retry-after')).toBe('2');
    });

    it('separates equal subjects of two issuers', async () => {
      const answer = await forge({ claims: { sub: 'amina', email: 'other-amina@example.org' } });
      expect(answer.body.data.user.email).toBe('other-amina@example.org');
    });
  });
});

describe('the rules of registration', () => {
  const settings = (environment: Record<string, string>) => ({
    ...providerSettings('FORGED', forged.issuer),
    ...environment,
  });
  /** An instance with the users of the tests above. */
  const startOther = (environment: Record<string, string>) =>
    startInstanceForTest(service, settings(environment));
  async function comeTo(own: Pick<TestService, 'origin'>, claims: Forgery['claims']) {
    const browser = createBrowser();
    const { searchParams } = new URL(await start(browser, 'forged', own.origin));
    forged.state.forgery = { ...(claims && { claims }) };
    forged.state.nonce = searchParams.get('nonce') ?? '';
    const query = new URLSearchParams({ state: searchParams.get('state') ?? '', code: 'c' });
    return answerOf(await browser.send(`${own.origin}/api/auth/forged/callback?${query}`));
  }

  it('refuse a new identity and accept a known one when registration is closed', async () => {
    const own = await startOther({ REGISTRATION: 'closed' });
    const email = 'new@example.com';
    expectRefused(await comeTo(own, { sub: 'new', email }), 403, 'FORBIDDEN', /Registration is closed/);
    const users = await service.call('GET', `/users?filter[email]=${email}`);
    expect(users.body.pagination.total).toBe(0);
    await service.context.db
      .insertInto('identities')
      .values({ issuer: forged.issuer, subject: 'known', user_id: 1 })
      .execute();
    const answer = await comeTo(own, { sub: 'known', email });
    expect(answer.body.data.user.email).toBe('admin@example.com');
  });

  it('make the first user an admin, and give later ones the configured role', async () => {
    const own = await startServiceForTest(settings({ REGISTRATION: 'closed', REGISTRATION_ROLE: 'viewer' }));
    await own.context.db.deleteFrom('sessions').execute();
    await own.context.db.deleteFrom('users').execute();
    const first = await comeTo(own, { sub: 'first' });
    expect(first.body.data.user).toMatchObject({ email: 'forged@example.com', role: 'admin' });

    const open = await startOther({ REGISTRATION: 'open', REGISTRATION_ROLE: 'viewer' });
    const later = await comeTo(open, { sub: 'later', email: 'later@example.com' });
    expect(later.body.data.user.role).toBe('viewer');
  });

  describe('with e-mail domains of the provider', () => {
    let own: Awaited<ReturnType<typeof startInstance>>;
    beforeAll(async () => {
      const domains = { OAUTH_FORGED_DOMAINS: 'solar.example, bücher.example', OAUTH_FORGED_ROLE: 'agent' };
      own = await startInstance(service, settings({ REGISTRATION: 'closed', ...domains }));
    });
    afterAll(() => own.close());
    const come = (email: string, more: Forgery['claims'] = { email_verified: true }) =>
      comeTo(own, { sub: `subject of ${email}`, email, ...more });

    it.each(['a@solar.example', 'b@SOLAR.Example', 'd@XN--bcher-KVA.example'])(
      'admit %s with the role of the settings, although registration is closed',
      async (email) => {
        const answer = await come(email);
        expect(answer.body.data?.user, answer.text).toMatchObject({ email, role: 'agent' });
        expect((await come(email)).body.data.user.id).toBe(answer.body.data.user.id);
      },
    );

    it.each([
      'a@evil.example',
      'a@mail.solar.example',
      'a@solar.example.evil.example',
      'a@notsolar.example',
      'solar.example@evil.example',
    ])('do not admit %s', async (email) => {
      expectRefused(await come(email), 403, 'FORBIDDEN', /Registration is closed/);
    });

    it.each([
      'w0@ｓolar.example', // a full-width s
      'ｗ0@solar.example',
      'w0@bücher.example', // Registration requires the ASCII form.
      'w0@sоlar.example', // the first o is Cyrillic
    ])('do not admit %s, which another spelling would duplicate', async (email) => {
      expectRefused(await come(email), 401, 'AUTH_FAILED', /no verified e-mail/);
      const body = {
        email,
        password: 'a long enough password',
        firstName: 'A',
        lastName: 'B',
        role: 'viewer',
      };
      expect(wrongFields(await service.call('POST', '/users', body))).toEqual(['email']);
    });

    it.each([
      ['says nothing of it', {}],
      ['says null', { email_verified: null }],
    ])('do not admit an e-mail of theirs when the provider %s', async (_title, more) => {
      expectRefused(await come('z@solar.example', more), 403, 'FORBIDDEN', /Registration is closed/);
    });

    it.each([false, 'yes', 1])(
      'do not admit an e-mail whose email_verified is %j',
      async (email_verified) => {
        expectRefused(
          await come('z@solar.example', { email_verified }),
          401,
          'AUTH_FAILED',
          /no verified e-mail/,
        );
      },
    );

    it('do not link a new identity to the user who has its e-mail', async () => {
      const names = { firstName: 'Taken', lastName: 'Already' };
      const user = {
        email: 'taken@solar.example',
        password: 'a long enough password',
        ...names,
        role: 'admin',
      };
      expect((await service.call('POST', '/users', user)).status).toBe(201);
      expectRefused(await come('taken@solar.example'), 409, 'DUPLICATE_ENTRY');
    });
  });

  it('leave an audit row that names the request', async () => {
    expect((await signIn('audited')).status).toBe(200);
    const { rows } = await sql<{ after: { email: string }; request_id: string | null }>`
      select after, request_id from audit_entries where action = 'user.create' order by id`.execute(
      service.context.db,
    );
    const row = rows.find(({ after }) => after.email === 'audited@example.org');
    expect(row?.request_id).toMatch(/\S/);
    const { rows: events } = await sql<{ data: object; actor: string }>`
      select data, actor from events where type = 'user.identity_linked'`.execute(service.context.db);
    expect(events).toContainEqual({ data: {}, actor: 'system' });
  });

  it('apply after the rate limit of credential endpoints', async () => {
    const own = await startOther({ RATE_LIMIT_AUTH: '5' });
    const statuses: number[] = [];
    for (let call = 0; call < 6; call++) {
      statuses.push((await own.call('GET', '/auth/forged', undefined, { token: null })).status);
    }
    expect(statuses).toEqual([302, 302, 302, 302, 302, 429]);
  });
});

describe('behind TLS', () => {
  it('binds the cookie to TLS and this host, and uses PUBLIC_URL as the return address', async () => {
    const own = await startInstanceForTest(service, {
      ...providerSettings('FORGED', forged.issuer),
      PUBLIC_URL: 'https://ams.example.com/',
    });
    const browser = createBrowser();
    const response = await browser.send(`${own.origin}/api/auth/forged`);
    const [cookie = ''] = response.headers.getSetCookie();
    expect(cookie).toMatch(
      /^__Host-ams_sign_in=[\w-]{43}; Max-Age=600; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
    );
    const { searchParams } = new URL(response.headers.get('location') ?? '');
    expect(searchParams.get('redirect_uri')).toBe('https://ams.example.com/api/auth/forged/callback');

    // The cookie name of plain HTTP, which a neighbouring host could set, has no effect.
    const secret = browser.cookies.get('__Host-ams_sign_in') ?? '';
    forged.state.forgery = {};
    forged.state.nonce = searchParams.get('nonce') ?? '';
    const callback = `${own.origin}/api/auth/forged/callback?code=c&state=${searchParams.get('state')}`;
    const plain = await fetch(callback, { headers: { cookie: `ams_sign_in=${secret}` } });
    expect(plain.status).toBe(401);
    expect((await browser.send(callback)).status).toBe(200);
    expect(forged.state.lastTokenRequest.get('redirect_uri')).toBe(
      'https://ams.example.com/api/auth/forged/callback',
    );
  });
});

describe('GET /auth/:provider?mode=browser', () => {
  const startInConsole = async (browser: Browser) => {
    const response = await browser.send(`${service.origin}/api/auth/real?mode=browser`);
    expect(response.status).toBe(302);
    return response.headers.get('location') ?? '';
  };

  it('ends with the session cookie and a redirect to the console, without tokens in the answer', async () => {
    const browser = createBrowser();
    const response = await browser.send(await passProvider(browser, await startInConsole(browser), 'amina'));
    expect(response.status).toBe(302);
    expect(response.headers.get('location')).toBe('/');
    expect(await response.text()).toBe('');
    const [signIn, session] = response.headers.getSetCookie();
    expect(signIn).toMatch(/^ams_sign_in=; Max-Age=0;/);
    expect(session).toMatch(
      /^ams_session=[\w-]{43}; Max-Age=2592000; Path=\/api\/auth\/session; HttpOnly; SameSite=Strict$/,
    );
    const address = `${service.origin}/api/auth/session/refresh`;
    const { body } = await answerOf(await browser.send(address, { method: 'POST' }));
    expect(body.data.user.email).toBe('amina@example.org');
  });

  async function signOut(browser: Browser, origin = service.origin) {
    const answer = await answerOf(await browser.send(`${origin}/api/auth/session`, { method: 'DELETE' }));
    expect(answer.status, answer.text).toBe(200);
    return answer.body.data.providerSignOut;
  }

  it('ends with a sign-out that offers the sign-out at the provider, without personal data', async () => {
    const browser = createBrowser();
    await browser.send(await passProvider(browser, await startInConsole(browser), 'amina'));
    const { provider, url } = await signOut(browser);
    expect(provider).toBe('real');
    const address = new URL(url);
    expect(address.origin).toBe(real.issuer);
    expect(Object.fromEntries(address.searchParams)).toEqual({
      client_id: 'ams',
      post_logout_redirect_uri: `${service.origin}/`,
    });

    const signInPage = async () => {
      const begun = await browser.send(await startInConsole(browser));
      return new URL(begun.headers.get('location') ?? '', real.issuer);
    };
    expect((await signInPage()).href).toContain(`${service.origin}/api/auth/real/callback?`);
    const question = await (await browser.send(url)).text();
    const form = /action="([^"]+)"[\s\S]*?name="xsrf" value="([^"]+)"/.exec(question);
    const confirmed = await browser.send(form?.[1] ?? question, {
      method: 'POST',
      body: new URLSearchParams({ xsrf: form?.[2] ?? '', logout: 'yes' }),
    });
    expect(confirmed.headers.get('location')).toBe(`${service.origin}/`);
    expect((await signInPage()).pathname).toMatch(/^\/interaction\//);
  });

  it('offers no sign-out at a provider that has none or another protocol, or whose session began with a password', async () => {
    const credentials = { email: 'admin@example.com', password: PASSWORD };
    const withPassword = createBrowser();
    await withPassword.send(`${service.origin}/api/auth/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(credentials),
    });
    expect(withPassword.cookies.has('ams_session')).toBe(true);
    expect(await signOut(withPassword)).toBeNull();

    for (const endpoint of [undefined, 'javascript:alert(1)', 'not an address', 7]) {
      const provider = await startForgedProvider();
      provider.state.description = { end_session_endpoint: endpoint };
      const instance = await startInstanceForTest(service, providerSettings('PLAIN', provider.issuer));
      expect(await signOut(await signInAtForged(provider, instance.origin), instance.origin)).toBeNull();
      await provider.close();
    }
  });

  it('ends with a sign-out although the provider is unreachable', async () => {
    const provider = await startForgedProvider();
    provider.state.description = { end_session_endpoint: `${provider.issuer}/logout` };
    const settings = providerSettings('PLAIN', provider.issuer);
    const instance = await startInstanceForTest(service, settings);
    const browser = await signInAtForged(provider, instance.origin);
    const other = await startInstanceForTest(service, settings); // It has not read the metadata.
    const cookie = browser.cookies.get('ams_session') ?? '';
    await provider.close();
    expect(await signOut(browser, other.origin)).toBeNull();
    browser.cookies.set('ams_session', cookie);
    const renewed = await browser.send(`${instance.origin}/api/auth/session/refresh`, { method: 'POST' });
    expect((await answerOf(renewed)).body.data.user).toBeNull();
  });

  it('ends with a sign-out although the provider does not answer in time', async () => {
    const provider = await startForgedProvider();
    provider.state.description = { end_session_endpoint: `${provider.issuer}/logout` };
    const settings = providerSettings('PLAIN', provider.issuer);
    const instance = await startInstanceForTest(service, settings);
    const browser = await signInAtForged(provider, instance.origin);
    const other = await startInstanceForTest(service, settings, { providerSignOutMs: 1 }); // It has not read the metadata.
    provider.state.instead = { '/.well-known/openid-configuration': () => {} }; // never answers
    expect(await signOut(browser, other.origin)).toBeNull();
    expect(browser.cookies.has('ams_session')).toBe(false);
    await provider.close();
  });

  async function signInAtForged(provider: Awaited<ReturnType<typeof startForgedProvider>>, origin: string) {
    const browser = createBrowser();
    const begun = await browser.send(`${origin}/api/auth/plain?mode=browser`);
    const { searchParams } = new URL(begun.headers.get('location') ?? '');
    provider.state.nonce = searchParams.get('nonce') ?? '';
    provider.state.forgery = {
      claims: {
        email: `person.${new URL(provider.issuer).port}@example.org`,
        email_verified: true,
        sub: 'plain',
      },
    };
    const query = new URLSearchParams({ state: searchParams.get('state') ?? '', code: 'c' });
    await browser.send(`${origin}/api/auth/plain/callback?${query}`);
    expect(browser.cookies.has('ams_session')).toBe(true);
    return browser;
  }

  it('redirects to the path of PUBLIC_URL, whatever the Host header and the query', async () => {
    const browser = createBrowser();
    const callback = new URL(await passProvider(browser, await startInConsole(browser), 'amina'));
    for (const name of ['returnTo', 'redirect', 'next'])
      callback.searchParams.set(name, 'https://evil.example/');
    const response = await browser.send(callback.href);
    expect(response.headers.get('location')).toMatch(/^\/($|\?signInError=[A-Z_]+$)/);
  });

  it('refuses another mode and an address to return to', async () => {
    for (const query of ['mode=other', 'mode=browser&returnTo=https://evil.example']) {
      const answer = await service.call('GET', `/auth/real?${query}`, undefined, { token: null });
      expect(wrongFields(answer)).toEqual([query.includes('returnTo') ? 'returnTo' : 'mode']);
    }
  });

  it('redirects to the console with the error code when the provider sends no usable person', async () => {
    const browser = createBrowser();
    const callback = await passProvider(browser, await startInConsole(browser), 'unverified');
    const response = await browser.send(callback);
    expect(response.status).toBe(302);
    expect(response.headers.get('location')).toBe('/?signInError=AUTH_FAILED');
    expect(response.headers.getSetCookie()).toEqual([]);
  });

  it('redirects to the console with the error code when the provider is unreachable or the answer is late', async () => {
    const lost = await startForgedProvider();
    await lost.close();
    const instance = await startInstanceForTest(service, providerSettings('LOST', lost.issuer));
    const unreachable = await fetch(`${instance.origin}/api/auth/lost?mode=browser`, { redirect: 'manual' });
    expect(unreachable.headers.get('location')).toBe('/?signInError=INTERNAL_ERROR');

    const browser = createBrowser();
    await startInConsole(browser);
    const late = await browser.send(
      `${service.origin}/api/auth/real/callback?state=${'x'.repeat(43)}&code=1`,
    );
    expect(late.headers.get('location')).toBe('/?signInError=AUTH_FAILED');
  });

  it('sets no session cookie if the browser changes the kind of its sign-in', async () => {
    const browser = createBrowser();
    const callback = await passProvider(browser, await start(browser), 'amina');
    browser.cookies.set('ams_sign_in', `console.${browser.cookies.get('ams_sign_in')}`);
    const response = await browser.send(callback);
    expect(response.headers.get('location')).toBe('/?signInError=AUTH_FAILED');
    expect(response.headers.getSetCookie()).toEqual([]);
  });
});
