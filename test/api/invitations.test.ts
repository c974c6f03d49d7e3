import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dataOf, PASSWORD, startTestService, type TestService, wrongFields } from '../support/harness.ts';
import type { Answer } from '../support/http.ts';
import { createBrowser, providerSettings, startForgedProvider } from '../support/identity-providers.ts';

let service: TestService;
let forged: Awaited<ReturnType<typeof startForgedProvider>>;
const closers: (() => Promise<void>)[] = [];

beforeAll(async () => {
  forged = await startForgedProvider();
  const started = await startTestService({
    ...providerSettings('FORGED', forged.issuer),
    REGISTRATION: 'closed',
  });
  service = started.service;
  closers.push(started.close, forged.close);
});
afterAll(async () => {
  for (const close of closers) await close();
});

let people = 0;
const freshEmail = () => {
  people += 1;
  return `person${people}@example.org`;
};
const names = { firstName: 'Njeri', lastName: 'Kamau' };

async function invite(fields: Record<string, unknown> = {}) {
  const body = { email: freshEmail(), role: 'agent', ...fields };
  return dataOf(service.call('POST', '/users/invitations', body), 201);
}

function inviteToLink(userId: number) {
  return dataOf(service.call('POST', `/users/${userId}/invitations`, {}), 201);
}

function register(fields: Record<string, unknown>): Promise<Answer> {
  const body = { password: PASSWORD, ...names, ...fields };
  return service.call('POST', '/auth/register', body, { token: null });
}

async function newUser(role = 'viewer') {
  const body = { email: freshEmail(), password: PASSWORD, ...names, role };
  return (await service.call('POST', '/users', body)).body.data;
}

const invitationNow = async (id: number) => (await service.call('GET', `/users/invitations/${id}`)).body.data;

/** Runs a sign-in up to its callback, which the returned function sends. */
async function begin(invitation: string | undefined, claims: Record<string, unknown>) {
  const browser = createBrowser();
  const query = invitation === undefined ? '' : `?invitation=${invitation}`;
  const started = await browser.send(`${service.origin}/api/auth/forged${query}`);
  expect(started.status).toBe(302);
  const { searchParams } = new URL(started.headers.get('location') ?? '');
  const parameters = new URLSearchParams({ state: searchParams.get('state') ?? '', code: 'c' });
  return async (): Promise<Answer> => {
    forged.state.forgery = { claims };
    forged.state.nonce = searchParams.get('nonce') ?? '';
    const response = await browser.send(`${service.origin}/api/auth/forged/callback?${parameters}`);
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, body: JSON.parse(text) };
  };
}
const comeThrough = async (invitation: string | undefined, claims: Record<string, unknown>) =>
  (await begin(invitation, claims))();

describe('an invitation to sign up', () => {
  it('shows its token once, stores only a hash, and expires in a week', async () => {
    const { token, ...invitation } = await invite({ email: 'Amina@Example.org' });
    expect(token).toMatch(/^[\w-]{43}$/);
    expect(invitation).toMatchObject({
      purpose: 'sign_up',
      email: 'Amina@Example.org',
      role: 'agent',
      employeeId: null,
      userId: null,
      status: 'pending',
      acceptedAt: null,
      revokedAt: null,
    });
    expect(Date.parse(invitation.expiresAt) - Date.parse(invitation.createdAt)).toBe(7 * 86_400_000);
    expect(await invitationNow(invitation.id)).toEqual(invitation);
    const list = await service.call('GET', '/users/invitations?filter[email]=amina@example.org');
    expect(list.body.data).toEqual([invitation]);

    const { rows } = await sql<{ row: string }>`
      select i::text as row from invitations i union all select a::text from audit_entries a
      union all select k::text from idempotency_keys k`.execute(service.context.db);
    expect(rows.length).toBeGreaterThan(1);
    expect(rows.filter(({ row }) => row.includes(token))).toEqual([]);
  });

  it('admits one registration with a password, with the invited role', async () => {
    const employee = await service.call('POST', '/employees', { name: 'Seller' });
    const employeeId = employee.body.data.id;
    const { id, token, email } = await invite({ employeeId });
    const answer = await register({ email: email.toUpperCase(), invitation: token });
    expect(answer.status, answer.text).toBe(201);
    const { user } = answer.body.data;
    expect(user).toMatchObject({ email: email.toUpperCase(), role: 'agent', employeeId });
    expect(await invitationNow(id)).toMatchObject({
      status: 'accepted',
      userId: user.id,
      acceptedAt: expect.any(String),
    });
    expect(wrongFields(await register({ email, invitation: token }))).toEqual(['invitation']);
  });

  it('creates one user for ten concurrent registrations', async () => {
    const { token, email } = await invite();
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => register({ email, invitation: token })),
    );
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).toEqual([201, ...Array(9).fill(400)]);
  });

  it('admits only the invited e-mail, and only with a valid token', async () => {
    const { token, email } = await invite();
    expect(wrongFields(await register({ email: freshEmail(), invitation: token }))).toEqual(['email']);
    expect(wrongFields(await register({ email, invitation: 'made up' }))).toEqual(['invitation']);
    expect((await register({ email })).body.error.code).toBe('FORBIDDEN');
    expect((await register({ email, invitation: token })).status).toBe(201);
  });

  it('admits a sign-in through an identity provider, with the invited e-mail', async () => {
    const { id, token, email } = await invite({ role: 'finance' });
    const claims = { sub: `of ${email}`, email: 'private@mail.example', name: 'Njeri Wa Kamau' };
    const answer = await comeThrough(token, claims);
    expect(answer.body.data?.user, answer.text).toMatchObject({
      email,
      role: 'finance',
      firstName: 'Njeri',
      lastName: 'Wa Kamau',
    });
    expect(await invitationNow(id)).toMatchObject({ status: 'accepted', userId: answer.body.data.user.id });
    const again = await comeThrough(undefined, claims);
    expect(again.body.data.user.id).toBe(answer.body.data.user.id);
  });

  it('is accepted by one of two sign-ins that started with it', async () => {
    const { token } = await invite();
    const finish = [
      await begin(token, { sub: 'first of two' }),
      await begin(token, { sub: 'second of two' }),
    ];
    const statuses = [await finish[0]?.(), await finish[1]?.()].map((answer) => answer?.status);
    expect(statuses).toEqual([200, 400]);
  });

  it('creates no second user for an identity, and stays open', async () => {
    const first = await invite();
    const claims = { sub: 'has a user' };
    expect((await comeThrough(first.token, claims)).status).toBe(200);
    const second = await invite();
    const answer = await comeThrough(second.token, claims);
    expect(answer.body.error).toMatchObject({ code: 'DUPLICATE_ENTRY', details: { resource: 'identity' } });
    expect((await invitationNow(second.id)).status).toBe('pending');
  });

  it('is replaced by the next invitation to the same e-mail', async () => {
    const first = await invite();
    const second = await invite({ email: first.email.toUpperCase(), role: 'viewer' });
    expect((await invitationNow(first.id)).status).toBe('revoked');
    expect(wrongFields(await register({ email: first.email, invitation: first.token }))).toEqual([
      'invitation',
    ]);
    const answer = await register({ email: first.email, invitation: second.token });
    expect(answer.body.data.user.role).toBe('viewer');
  });

  it('stays open once after ten concurrent invitations to one e-mail', async () => {
    const email = freshEmail();
    await Promise.all(Array.from({ length: 10 }, () => invite({ email })));
    const open = await service.call(
      'GET',
      `/users/invitations?filter[email]=${email}&filter[status]=pending`,
    );
    expect(open.body.pagination.total).toBe(1);
  });

  it('can be revoked until it is accepted', async () => {
    const { id, token, email } = await invite();
    const revoked = await service.call('POST', `/users/invitations/${id}/revoke`);
    expect(revoked.body.data).toMatchObject({ status: 'revoked', revokedAt: expect.any(String) });
    expect((await service.call('POST', `/users/invitations/${id}/revoke`)).body.data).toEqual(
      revoked.body.data,
    );
    expect(wrongFields(await register({ email, invitation: token }))).toEqual(['invitation']);
    const browser = await fetch(`${service.origin}/api/auth/forged?invitation=${token}`, {
      redirect: 'manual',
    });
    expect(browser.status).toBe(400);

    const accepted = await invite();
    await register({ email: accepted.email, invitation: accepted.token });
    const late = await service.call('POST', `/users/invitations/${accepted.id}/revoke`);
    expect(late.body.error.details).toEqual({ from: 'accepted', to: 'revoked', allowed: [] });
  });

  it('expires after its number of days, by real time', async () => {
    const { id, token, email } = await invite({ expiresInDays: 1 });
    service.clock.set(new Date(Date.now() + 10 * 86_400_000)); // The business clock has no effect.
    expect((await invitationNow(id)).status).toBe('pending');
    service.clock.set(null);
    await sql`update invitations set expires_at = ${new Date()} where id = ${id}`.execute(service.context.db);
    expect((await invitationNow(id)).status).toBe('expired');
    expect(wrongFields(await register({ email, invitation: token }))).toEqual(['invitation']);
    await invite({ email }); // An expired invitation does not block a new one.
  });

  it('is refused for an e-mail that a user has, and for an unknown employee', async () => {
    const taken = { email: 'ADMIN@example.com', role: 'agent' };
    expect((await service.call('POST', '/users/invitations', taken)).body.error).toMatchObject({
      code: 'DUPLICATE_ENTRY',
      details: { resource: 'user', field: 'email' },
    });
    const unknown = { email: freshEmail(), role: 'agent', employeeId: 999_999 };
    const answer = await service.call('POST', '/users/invitations', unknown);
    expect(answer.body.error).toMatchObject({ code: 'NOT_FOUND', details: { field: 'employeeId' } });
  });

  it.each([
    [{ email: 'no address' }, 'email'],
    [{ role: 'boss' }, 'role'],
    [{ expiresInDays: 0 }, 'expiresInDays'],
    [{ expiresInDays: 31 }, 'expiresInDays'],
  ])('is refused with %j', async (fields, path) => {
    const body = { email: 'a@example.org', role: 'agent', ...fields };
    expect(wrongFields(await service.call('POST', '/users/invitations', body))).toEqual([path]);
  });
});

describe('an invitation to link an identity', () => {
  it('links an identity, with which the user can sign in from then on', async () => {
    const user = await newUser('finance');
    const { id, token, ...invitation } = await inviteToLink(user.id);
    expect(invitation).toMatchObject({
      purpose: 'link_identity',
      email: user.email,
      userId: user.id,
      role: null,
    });
    const claims = { sub: 'to be linked', email: 'another@mail.example', email_verified: false };
    expect((await comeThrough(undefined, claims)).status).toBe(401);

    const linked = await comeThrough(token, claims);
    expect(linked.body.data?.user, linked.text).toMatchObject({
      id: user.id,
      role: 'finance',
    });
    expect((await invitationNow(id)).status).toBe('accepted');
    expect((await comeThrough(undefined, claims)).body.data.user.id).toBe(user.id);
    const byPassword = await service.call('POST', '/auth/login', { email: user.email, password: PASSWORD });
    expect(byPassword.status).toBe(200);
  });

  it('does not link an identity of another user', async () => {
    const [owner, other] = [await newUser(), await newUser()];
    const claims = { sub: 'owned' };
    await comeThrough((await inviteToLink(owner.id)).token, claims);
    const { id, token } = await inviteToLink(other.id);
    expect((await comeThrough(token, claims)).body.error.code).toBe('DUPLICATE_ENTRY');
    expect((await invitationNow(id)).status).toBe('pending');
    expect((await comeThrough(undefined, claims)).body.data.user.id).toBe(owner.id);
  });

  it('does not admit a registration', async () => {
    const user = await newUser();
    const { token } = await inviteToLink(user.id);
    expect(wrongFields(await register({ email: user.email, invitation: token }))).toEqual(['invitation']);
  });

  it('requires an existing, active user, also when it is accepted', async () => {
    expect((await service.call('POST', '/users/999999/invitations', {})).status).toBe(404);
    const user = await newUser();
    const { token } = await inviteToLink(user.id);
    await service.call('PUT', `/users/${user.id}`, { active: false });
    expect(wrongFields(await service.call('POST', `/users/${user.id}/invitations`, {}))).toEqual(['id']);
    const answer = await comeThrough(token, { sub: 'of the disabled' });
    expect(answer.body.error).toMatchObject({
      code: 'AUTH_FAILED',
      message: expect.stringContaining('disabled'),
    });
    await service.call('PUT', `/users/${user.id}`, { active: true });
    expect((await comeThrough(undefined, { sub: 'of the disabled' })).status).toBe(403);
  });
});

it('audits who invited whom and how each invitation ended', async () => {
  const revoked = await invite();
  const accepted = await invite({ email: revoked.email });
  const { user } = (await comeThrough(accepted.token, { sub: 'audited' })).body.data;
  const entries = async (resource: string, id: number) => {
    const path = `/audit?filter[resource]=${resource}&filter[resourceId]=${id}&sort=id:asc`;
    const { body } = await service.call('GET', path);
    return body.data.map(({ actor, action, after }: Record<string, unknown>) => ({ actor, action, after }));
  };
  const created = (email: string) => ({
    actor: 'admin@example.com',
    action: 'invitation.create',
    after: expect.objectContaining({ purpose: 'sign_up', email, role: 'agent' }),
  });
  expect(await entries('invitation', revoked.id)).toEqual([
    created(revoked.email),
    { actor: 'admin@example.com', action: 'invitation.revoke', after: { status: 'revoked' } },
  ]);
  expect(await entries('invitation', accepted.id)).toEqual([
    created(revoked.email),
    { actor: 'system', action: 'invitation.accept', after: { status: 'accepted', userId: user.id } },
  ]);
  expect((await entries('user', user.id)).map(({ action }: { action: string }) => action)).toEqual([
    'user.create',
    'user.link_identity',
  ]);
});
