import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { sql } from 'kysely';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { today } from '../../src/core/context.ts';
import { API_KEY_PERMISSIONS } from '../../src/rights.ts';
import {
  forgetCredentials,
  newAccount,
  newApiKey,
  pay,
  startInstanceForTest,
  statementsOf,
  useInstance,
  useJobs,
  useService,
  wrongFields,
} from '../support/harness.ts';
import type { Caller } from '../support/http.ts';
import { eventually } from '../support/waiting.ts';

/** Which key may call which route: test/every-route.test.ts. Limits over instances: test/security/limits.security.ts. */
const service = useService();
useJobs(service);
beforeAll(() => service.stopwatch.stop());
/** Another instance, which trusts the client addresses that the tests send. */
const other = useInstance(service, { TRUST_PROXY: '127.0.0.1' });
afterEach(() => vi.useRealTimers());

/** Starts an instance like `other` with more settings. */
const instance = (environment: Record<string, string> = {}) =>
  startInstanceForTest(service, { TRUST_PROXY: '127.0.0.1', ...environment });

const from = (address: string) => ({ headers: { 'x-forwarded-for': address } });
const read = (call: Caller, key: string, options: object = {}) =>
  call('GET', '/products', undefined, { token: key, ...options });
const keyNow = async (id: number) => (await service.call('GET', `/api-keys/${id}`)).body.data;
const audited = async (filter: string) =>
  (await service.call('GET', `/audit?sort=id:asc&limit=100&${filter}`)).body.data;

/** Stops the time by which secrets and keys end. @returns that time. */
function stopTime(): number {
  vi.useFakeTimers({ now: Date.now(), toFake: ['Date'] });
  return Date.now();
}

async function expectRefused(call: Caller, key: string, message: RegExp): Promise<void> {
  const { status, body } = await read(call, key);
  expect(status).toBe(401);
  expect(body.error.message).toMatch(message);
}

describe('a new API key', () => {
  it('is shown once, ends with a checksum, and is stored only as its SHA-256', async () => {
    const { key, ...created } = await newApiKey(service, ['payments:read'], { name: 'Nightly sync' });
    expect(key).toMatch(/^ams_key_[0-9A-Za-z]{49}$/);
    const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
    const checksum = [...key.slice(-6)].reduce((sum, digit) => sum * 62 + digits.indexOf(digit), 0);
    expect(checksum).toBe(crc32(key.slice(0, -6)));
    expect(created).toEqual({
      id: expect.any(Number),
      name: 'Nightly sync',
      role: null,
      permissions: ['payments:read'],
      networks: null,
      status: 'active',
      hint: key.slice(-4),
      previousSecretEndsAt: null,
      expiresAt: null,
      revokedAt: null,
      lastUsedAt: null,
      lastUsedAddress: null,
      createdBy: 1,
      createdAt: expect.any(String),
      updatedAt: created.createdAt,
    });
    expect(await keyNow(created.id)).toEqual(created);
    const list = await service.call('GET', `/api-keys?filter[id]=${created.id}`);
    expect(list.body.data).toEqual([created]);

    const { rows } = await sql<{ secret: Buffer }>`
      select secret_hash as secret from api_key_secrets where api_key_id = ${created.id}`.execute(
      service.context.db,
    );
    expect(rows).toEqual([{ secret: createHash('sha256').update(key).digest() }]);
  });

  it('is in no table of the database, also after changes, rotations and requests', async () => {
    const { key, id } = await newApiKey(service, 'admin');
    const customer = { firstName: 'A', lastName: 'B', phone: '+254722000001' };
    const headers = { 'idempotency-key': 'of a key' };
    const made = await service.call('POST', '/customers', customer, { token: key, headers });
    expect(made.status, made.text).toBe(201);
    await service.call('PUT', `/api-keys/${id}`, { name: 'Renamed' });
    const rotated = await service.call('POST', `/api-keys/${id}/rotate`, { overlapSeconds: 60 });
    const { rows: tables } = await sql<{ name: string }>`
      select table_name as name from information_schema.tables
      where table_schema = 'public' and table_type = 'BASE TABLE'`.execute(service.context.db);
    expect(tables.length).toBeGreaterThan(20);
    for (const { name } of tables) {
      for (const secret of [key, rotated.body.data.key]) {
        const { rows } = await sql`select 1 from ${sql.table(name)} t where position(${secret} in t::text) > 0
            or position(${Buffer.from(secret).toString('hex')} in t::text) > 0`.execute(service.context.db);
        expect(rows, name).toEqual([]);
      }
    }
  });

  it.each([
    ['no role and no permissions', {}, ['permissions']],
    ['a role and permissions', { role: 'viewer', permissions: ['payments:read'] }, ['permissions']],
    ['no permission', { permissions: [] }, ['permissions']],
    ['an unknown permission', { permissions: ['payments:steal'] }, ['permissions[0]']],
    ['a permission twice', { permissions: ['payments:read', 'payments:read'] }, ['permissions']],
    ['users to administer', { permissions: ['users:administer'] }, ['permissions[0]']],
    ['API keys to administer', { permissions: ['api-keys:administer'] }, ['permissions[0]']],
    ['commissions of its own', { permissions: ['commissions:read-own'] }, ['permissions[0]']],
    ['an unknown role', { role: 'owner' }, ['role']],
    ['an expiry in the past', { role: 'viewer', expiresAt: '2020-01-01T00:00:00Z' }, ['expiresAt']],
    ['an expiry that is no time', { role: 'viewer', expiresAt: 'tomorrow' }, ['expiresAt']],
    [
      'networks that are none',
      { role: 'viewer', networks: ['10.0.0.0/8', '10.0.0.0/33', 'home'] },
      ['networks[1]', 'networks[2]'],
    ],
    ['every address', { role: 'viewer', networks: ['0.0.0.0/0'] }, ['networks[0]']],
    ['no network', { role: 'viewer', networks: [] }, ['networks']],
  ])('cannot have %s', async (_what, fields, wrong) => {
    expect(wrongFields(await service.call('POST', '/api-keys', { name: 'Wrong', ...fields }))).toEqual(wrong);
  });

  it('can have each other permission', async () => {
    const { permissions } = await newApiKey(service, [...API_KEY_PERMISSIONS]);
    expect(permissions).toEqual(API_KEY_PERMISSIONS);
    expect(API_KEY_PERMISSIONS).not.toContain('users:administer');
  });
});

describe('a text that is not an API key', () => {
  it('is refused without a query if its checksum is wrong, and with one query in three seconds otherwise', async () => {
    const { key } = await newApiKey(service, 'viewer');
    const mistyped = `${key.slice(0, 20)}${key[20] === 'a' ? 'b' : 'a'}${key.slice(21)}`;
    const unknown = 'ams_key_0000000000000000000000000000000000000000000';
    const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
    let [rest, checksum] = [crc32(unknown), ''];
    for (; checksum.length < 6; rest = Math.floor(rest / 62)) checksum = digits[rest % 62] + checksum;
    const queries = async (token: string) => {
      const statements = await statementsOf(async () => {
        for (let n = 0; n < 3; n++) {
          const answer = await read(service.call, token);
          expect(answer.status).toBe(401);
          expect(answer.body.error).toMatchObject({
            code: 'UNAUTHORIZED',
            message: expect.stringMatching(/^The API key is not valid[.] An API key is ams_key_/),
          });
        }
      });
      return statements.filter(({ text }) => text.includes('api_key_secrets')).length;
    };
    for (const token of [mistyped, 'ams_key_', `${key}0`, key.slice(0, -1)]) {
      expect(await queries(token), token).toBe(0);
    }
    expect(await queries(`${unknown}${checksum}`)).toBe(1);
  });
});

describe('what an API key does', () => {
  it('is audited in its name', async () => {
    const { key, id } = await newApiKey(service, 'manager', { name: 'CRM' });
    const { id: accountId } = await newAccount(service);
    const status = { status: 'suspended', reason: 'by the CRM' };
    expect((await service.call('PUT', `/accounts/${accountId}`, status, { token: key })).status).toBe(200);
    expect(await audited(`filter[apiKeyId]=${id}`)).toMatchObject([
      { actor: 'api key CRM', userId: null, apiKeyId: id, action: 'account.status', resourceId: accountId },
    ]);
    const events = await service.call('GET', '/events?types=account.suspended&limit=1000');
    const published = events.body.data.events.filter(
      (one: { accountId: number }) => one.accountId === accountId,
    );
    expect(published).toMatchObject([{ actor: 'api key CRM', userId: null, apiKeyId: id }]);
    const { body } = await service.call('GET', `/accounts/${accountId}/history?sort=id:desc`);
    expect(body.data[0]).toMatchObject({ to: 'suspended', actor: 'api key CRM' });
    expect(body.data.at(-1)).toMatchObject({ actor: 'admin@example.com' });
  });

  it('is stored with the id of the key in place of a user', async () => {
    const { key, id } = await newApiKey(service, 'finance', { name: 'Bank' });
    const { id: accountId } = await newAccount(service);
    const body = { accountId, amount: 10, paymentMethodId: 2 };
    const paid = await service.call('POST', '/payments', body, { token: key });
    expect(paid.status, paid.text).toBe(201);
    const { rows } = await sql`
      select created_by, api_key_id from payments where id = ${paid.body.data.id}`.execute(
      service.context.db,
    );
    expect(rows).toEqual([{ created_by: null, api_key_id: id }]);
  });

  it('counts as staff for the suspension policy', async () => {
    const { key } = await newApiKey(service, 'manager');
    const { id } = await newAccount(service);
    await service.call('PUT', `/accounts/${id}`, { status: 'suspended', reason: 'test' });
    await service.call('PUT', `/accounts/${id}`, { status: 'active' }, { token: key });
    const { rows } = await sql<{ reprieved: boolean }>`
      select reprieved_on is not null as reprieved from accounts where id = ${id}`.execute(
      service.context.db,
    );
    expect(rows).toEqual([{ reprieved: true }]);
  });

  it('is audited in its name when a job does it later', async () => {
    const { key, id } = await newApiKey(service, 'finance', { name: 'Bank' });
    const { id: accountId } = await newAccount(service);
    await pay(service, accountId, 25, { paymentMethodId: 1, transactionRef: 'KEYJOB1' });
    const file = `Receipt No.,Completion Time,Transaction Status,Paid In,A/C No.\nKEYJOB1,${today(service.context)} 00:00:01,Completed,25.00,x`;
    const upload = await service.call('POST', '/reconciliations/statements', file, {
      token: key,
      headers: { 'content-type': 'text/csv' },
    });
    expect(upload.status, upload.text).toBe(201);
    const path = `/reconciliations/statements/${upload.body.data.id}`;
    await eventually(async () => (await service.call('GET', path)).body.data.status).toMatch(/matched|done/);
    const begun = await service.call('POST', `${path}/reconcile`, {}, { token: key });
    expect(begun.status, begun.text).toBe(200);
    await eventually(async () =>
      (await audited(`filter[apiKeyId]=${id}`)).filter(
        ({ resource }: { resource: string }) => resource === 'reconciliation',
      ),
    ).toMatchObject([{ actor: 'api key Bank', userId: null }]);
  });

  it('shares no idempotency key with another API key or a user', async () => {
    const keys = [await newApiKey(service, 'agent'), await newApiKey(service, 'agent')];
    const { id: accountId } = await newAccount(service);
    const send = async (token: string, amount: number) => {
      const headers = { 'idempotency-key': 'one for all' };
      const body = { accountId, amount, paymentMethodId: 2 };
      const { status, headers: got } = await service.call('POST', '/payments', body, { token, headers });
      return [status, got.get('idempotent-replayed')];
    };
    const tokens = [...keys.map(({ key }) => key), await service.signInAs('agent')];
    for (const [n, token] of tokens.entries()) expect(await send(token, n + 1)).toEqual([201, null]);
    for (const [n, token] of tokens.entries()) expect(await send(token, n + 1)).toEqual([201, 'true']);
    for (const token of tokens) expect(await send(token, 99)).toEqual([422, null]);
    expect((await service.call('GET', `/accounts/${accountId}`)).body.data.paid).toBe(6);
  });

  it('excludes operations that concern a person', async () => {
    const { key } = await newApiKey(service, 'admin');
    for (const [method, path, body] of [
      ['GET', '/auth/me', undefined],
      ['POST', '/auth/logout', {}],
      ['PUT', '/auth/password', { currentPassword: 'a', newPassword: 'a long enough password' }],
      ['GET', '/users', undefined],
      ['POST', '/users/invitations', { email: 'x@example.com', role: 'viewer' }],
      ['POST', '/api-keys', { name: 'Mine', role: 'viewer' }],
    ] as const) {
      const answer = await service.call(method, path, body, { token: key });
      expect(answer.status, path).toBe(403);
      expect(answer.body.error.message).toBe(
        'No API key may do this. Send the access token of a signed-in user.',
      );
    }
    const agent = await newApiKey(service, 'agent');
    const commissions = await service.call('GET', '/commissions/payments', undefined, { token: agent.key });
    expect(commissions.status).toBe(403);
    expect(commissions.body.error.message).toBe('This API key lacks the permission commissions:read.');
  });
});

it('refuses invisible characters in the name of an API key', async () => {
  const body = { name: 'Nightly \u202Ecnys', role: 'viewer' };
  expect(wrongFields(await service.call('POST', '/api-keys', body))).toEqual(['name']);
  const { id } = await newApiKey(service, 'viewer');
  expect(wrongFields(await service.call('PUT', `/api-keys/${id}`, { name: body.name }))).toEqual(['name']);
});

it('needs the rights to read customers and payments for the statement of an account', async () => {
  const { id } = await newAccount(service);
  const statement = async (permissions: string[]) => {
    const { key } = await newApiKey(service, permissions);
    return service.call('GET', `/accounts/${id}/statement`, undefined, { token: key });
  };
  const all = ['accounts:read', 'customers:read', 'payments:read'];
  expect((await statement(all)).status).toBe(200);
  for (const missing of all) {
    const answer = await statement(all.filter((permission) => permission !== missing));
    expect([answer.status, answer.body.error.details]).toEqual([403, { permission: missing }]);
  }
});

it('hides the name of the customer of an invoice in a search without customers:read', async () => {
  const { id } = await newAccount(service);
  const items = [{ description: 'Panel', quantity: 1, unitPrice: 10 }];
  const invoice = (await service.call('POST', '/invoices', { accountId: id, items })).body.data;
  const { key } = await newApiKey(service, ['accounts:read', 'invoices:read']);
  const found = await service.call('GET', `/search?q=${invoice.number}`, undefined, { token: key });
  expect(found.body.data).toMatchObject([{ type: 'invoice', id: invoice.id, subtitle: null }]);
});

describe('a rotation', () => {
  it('gives a new secret at once and keeps the earlier one until the end of the overlap', async () => {
    const now = stopTime();
    const { call } = other;
    const { key: first, id } = await newApiKey(service, 'viewer');
    expect((await read(call, first)).status).toBe(200);
    const rotated = await service.call('POST', `/api-keys/${id}/rotate`, { overlapSeconds: 2 });
    const end = now + 2_000;
    expect(rotated.status, rotated.text).toBe(200);
    const { key: second, previousSecretEndsAt, hint } = rotated.body.data;
    expect(Date.parse(previousSecretEndsAt)).toBe(end);
    expect(hint).toBe(second.slice(-4));
    expect(second).not.toBe(first);
    for (const key of [first, second]) expect((await read(call, key)).status).toBe(200);
    forgetCredentials(service);
    vi.setSystemTime(end - 1);
    for (const key of [first, second]) expect((await read(call, key)).status).toBe(200);
    vi.setSystemTime(end);
    await expectRefused(call, first, /this secret ended at 20/);
    await expectRefused(service.call, first, /was rotated/);
    expect((await read(call, second)).status).toBe(200);
  });

  it('without an overlap ends the earlier secret within five seconds on each instance', async () => {
    const { call } = other;
    const { key, id } = await newApiKey(service, 'viewer');
    for (const one of [call, service.call]) expect((await read(one, key)).status).toBe(200);
    await service.call('POST', `/api-keys/${id}/rotate`, {});
    forgetCredentials(service);
    for (const one of [call, service.call]) await expectRefused(one, key, /was rotated/);
  });

  it('during an overlap ends the secrets before the previous one', async () => {
    stopTime();
    const { id, key: first } = await newApiKey(service, 'viewer');
    const rotate = async (overlapSeconds: number) =>
      (await service.call('POST', `/api-keys/${id}/rotate`, { overlapSeconds })).body.data;
    const { key: previous } = await rotate(60);
    const second = await rotate(3_600);
    const { rows } = await sql<{ seconds: number }>`
      select extract(epoch from replaced_at - ${new Date()})::float8 as seconds from api_key_secrets
      where api_key_id = ${id} and replaced_at is not null order by replaced_at`.execute(service.context.db);
    expect(rows.map(({ seconds }) => seconds)).toEqual([0, 3_600]);
    expect(second.previousSecretEndsAt).toBe((await keyNow(id)).previousSecretEndsAt);
    await expectRefused(service.call, first, /was rotated/);
    for (const key of [previous, second.key]) expect((await read(service.call, key)).status).toBe(200);
  });

  it('of the same key at the same moment leaves one newest secret', async () => {
    const { id } = await newApiKey(service, 'viewer');
    const rotated = await Promise.all(
      Array.from({ length: 5 }, () => service.call('POST', `/api-keys/${id}/rotate`, { overlapSeconds: 60 })),
    );
    expect(rotated.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    const { rows } = await sql`
      select 1 from api_key_secrets where api_key_id = ${id} and replaced_at is null`.execute(
      service.context.db,
    );
    expect(rows).toHaveLength(1);
    const works = await Promise.all(rotated.map(({ body }) => read(service.call, body.data.key)));
    expect(works.map(({ status }) => status).sort()).toEqual([200, 200, 401, 401, 401]);
  });

  it.each([-1, 604_801, 1.5, '60'])('cannot overlap for %s seconds', async (overlapSeconds) => {
    const { id } = await newApiKey(service, 'viewer');
    const answer = await service.call('POST', `/api-keys/${id}/rotate`, { overlapSeconds });
    expect(wrongFields(answer)).toEqual(['overlapSeconds']);
  });
});

describe('the end of an API key', () => {
  it('by expiry comes at that moment, and a later expiry makes it work again', async () => {
    const end = stopTime() + 60_000;
    const expiresAt = new Date(end).toISOString();
    const { key, id } = await newApiKey(service, 'viewer', { expiresAt });
    vi.setSystemTime(end - 1);
    expect((await read(service.call, key)).status).toBe(200);
    vi.setSystemTime(end);
    const refused = await read(service.call, key);
    expect(refused.status).toBe(401);
    expect(refused.body.error.message).toBe(`The API key expired at ${expiresAt}.`);
    // PostgreSQL, whose time no test sets, decides which keys are shown as expired.
    await sql`update api_keys set expires_at = now() where id = ${id}`.execute(service.context.db);
    expect((await keyNow(id)).status).toBe('expired');
    expect(wrongFields(await service.call('POST', `/api-keys/${id}/rotate`, {}))).toEqual(['id']);
    expect((await service.call('PUT', `/api-keys/${id}`, { expiresAt: null })).status).toBe(200);
    forgetCredentials(service);
    expect((await read(service.call, key)).status).toBe(200);
  });

  it('by revocation reaches each instance within five seconds and cannot be undone', async () => {
    const { call } = other;
    const { key, id } = await newApiKey(service, 'viewer');
    for (const one of [call, service.call]) expect((await read(one, key)).status).toBe(200);
    const revoked = await service.call('POST', `/api-keys/${id}/revoke`, {});
    expect(revoked.body.data).toMatchObject({ status: 'revoked', revokedAt: expect.any(String) });
    forgetCredentials(service);
    for (const one of [call, service.call]) await expectRefused(one, key, /was revoked/);
    expect((await service.call('POST', `/api-keys/${id}/revoke`, {})).body.data).toEqual(revoked.body.data);
    expect(wrongFields(await service.call('PUT', `/api-keys/${id}`, { name: 'Again' }))).toEqual(['id']);
    expect(wrongFields(await service.call('POST', `/api-keys/${id}/rotate`, {}))).toEqual(['id']);
    expect((await service.call('GET', '/api-keys?filter[status]=revoked')).body.data[0].id).toBe(id);
  });

  it('reaches an instance that has cached the key after three seconds', async () => {
    const { key, id } = await newApiKey(service, 'viewer');
    expect((await read(service.call, key)).status).toBe(200);
    await service.call('POST', `/api-keys/${id}/revoke`, {});
    service.stopwatch.advance(3_000);
    expect((await read(service.call, key)).status).toBe(200);
    service.stopwatch.advance(1);
    await expectRefused(service.call, key, /was revoked/);
  });

  it('does not end its creator’s session, and is independent of it', async () => {
    const admin = await service.signInAs('admin');
    const { body } = await service.call('POST', '/api-keys', { name: 'A', role: 'viewer' }, { token: admin });
    const me = (await service.call('GET', '/auth/me', undefined, { token: admin })).body.data.id;
    await service.call('PUT', `/users/${me}`, { active: false });
    expect((await read(service.call, body.data.key)).status).toBe(200);
    expect(await keyNow(body.data.id)).toMatchObject({ createdBy: me });
  });
});

describe('the networks of an API key', () => {
  it('refuse other addresses with a reason, and their changes reach each instance within five seconds', async () => {
    const { call } = other;
    const networks = ['203.0.113.0/24', '2001:db8::/32', '198.51.100.7'];
    const { key, id } = await newApiKey(service, 'viewer', { networks });
    const statusFrom = async (address: string) => (await read(call, key, from(address))).status;
    for (const inside of ['203.0.113.9', '2001:db8::1', '198.51.100.7', '::ffff:203.0.113.9']) {
      expect(await statusFrom(inside), inside).toBe(200);
    }
    for (const outside of ['203.0.114.1', '2001:db9::1', '198.51.100.8', '127.0.0.1']) {
      expect(await statusFrom(outside), outside).toBe(403);
    }
    const refused = await read(call, key, from('192.0.2.1'));
    expect(refused.body.error).toEqual({
      code: 'FORBIDDEN',
      message: 'This API key may not be used from 192.0.2.1. Its networks do not contain this address.',
      details: { address: '192.0.2.1' },
    });
    await service.call('PUT', `/api-keys/${id}`, { networks: ['192.0.2.0/24'] });
    forgetCredentials(service);
    expect(await statusFrom('192.0.2.1')).toBe(200);
    expect(await statusFrom('203.0.113.9')).toBe(403);
    await service.call('PUT', `/api-keys/${id}`, { networks: null });
    forgetCredentials(service);
    expect(await statusFrom('203.0.113.9')).toBe(200);
  });

  it('protect its limit: refused calls count for their address', async () => {
    const { call } = await instance({ RATE_LIMIT_API_KEY: '2', RATE_LIMIT_GENERAL: '3' });
    const { key } = await newApiKey(service, 'viewer', { networks: ['203.0.113.0/24'] });
    const statuses = [];
    for (let n = 0; n < 4; n++) statuses.push((await read(call, key, from('192.0.2.1'))).status);
    expect(statuses).toEqual([403, 403, 403, 429]);
    expect((await read(call, key, from('203.0.113.1'))).status).toBe(200);
  });
});

describe('the limit of an API key', () => {
  it('is a thousand calls a minute by default, in the headers of every class', async () => {
    const { call } = await instance({ RATE_LIMIT_API_KEY: '' });
    const { key } = await newApiKey(service, 'viewer');
    const { headers } = await read(call, key);
    expect(headers.get('ratelimit-policy')).toBe('"api_key";q=1000;w=60');
    expect(headers.get('ratelimit')).toBe('"api_key";r=999;t=60');
  });

  it('is its own: other keys, users and its address are not counted in it', async () => {
    const { call } = await instance({ RATE_LIMIT_API_KEY: '3', RATE_LIMIT_GENERAL: '5' });
    const [one, other] = [await newApiKey(service, 'viewer'), await newApiKey(service, 'viewer')];
    const statuses = async (key: string, count: number) => {
      const seen = [];
      for (let n = 0; n < count; n++) seen.push((await read(call, key)).status);
      return seen;
    };
    expect(await statuses(one.key, 4)).toEqual([200, 200, 200, 429]);
    expect(await statuses(other.key, 3)).toEqual([200, 200, 200]);
    expect(await statuses(service.adminToken, 5)).toEqual([200, 200, 200, 200, 200]);
    // A rotation does not give a key more calls.
    const { body } = await service.call('POST', `/api-keys/${one.id}/rotate`, { overlapSeconds: 60 });
    expect(await statuses(body.data.key, 1)).toEqual([429]);
  });

  it('does not replace the limit of bulk operations', async () => {
    const { call } = await instance({ RATE_LIMIT_API_KEY: '100', RATE_LIMIT_BULK: '1' });
    const { key } = await newApiKey(service, 'finance');
    const reconcile = () => call('POST', '/payments/reconcile', { paymentIds: [1] }, { token: key });
    expect((await reconcile()).headers.get('ratelimit-policy')).toBe('"bulk";q=1;w=60');
    expect((await reconcile()).status).toBe(429);
  });
});

describe('the last use of an API key', () => {
  it('is written at most once a minute over two instances', async () => {
    const another = await instance();
    const { key, id } = await newApiKey(service, 'viewer');
    const before = stopTime();
    await Promise.all(Array.from({ length: 20 }, () => read(other.call, key, from('203.0.113.1'))));
    await eventually(async () => (await keyNow(id)).lastUsedAddress).toBe('203.0.113.1');
    const { lastUsedAt, updatedAt, createdAt } = await keyNow(id);
    expect(Date.parse(lastUsedAt)).toBe(before);
    expect(updatedAt).toBe(createdAt); // A use does not change `updatedAt`.
    await read(another.call, key, from('203.0.113.2'));
    await another.close();
    expect(await keyNow(id)).toMatchObject({ lastUsedAt, lastUsedAddress: '203.0.113.1' });

    await sql`update api_keys set last_used_at = last_used_at - interval '61 seconds' where id = ${id}`.execute(
      service.context.db,
    );
    service.stopwatch.advance(60_001);
    await read(other.call, key, from('203.0.113.3'));
    await eventually(async () => (await keyNow(id)).lastUsedAddress).toBe('203.0.113.3');
  });

  it('is sent once a minute, without delaying the request', async () => {
    const { call } = other;
    const { key, id } = await newApiKey(service, 'viewer');
    await service.context.db.transaction().execute(async (tx) => {
      await sql`select 1 from api_keys where id = ${id} for update`.execute(tx);
      const statements = await statementsOf(async () => {
        for (let n = 0; n < 5; n++) expect((await read(call, key)).status).toBe(200);
      });
      expect(statements.filter(({ text }) => text.includes('last_used_at ='))).toHaveLength(1);
    });
    await eventually(async () => (await keyNow(id)).lastUsedAt).not.toBeNull();
    const writes = async () =>
      (await statementsOf(() => read(call, key))).filter(({ text }) => text.includes('last_used_at ='))
        .length;
    service.stopwatch.advance(60_000);
    expect(await writes()).toBe(0);
    service.stopwatch.advance(1);
    expect(await writes()).toBe(1);
  });

  it('does not include calls from a foreign network', async () => {
    const { call, close } = await instance();
    const { key, id } = await newApiKey(service, 'viewer', { networks: ['203.0.113.0/24'] });
    expect((await read(call, key, from('192.0.2.1'))).status).toBe(403);
    await close(); // Waits for the uses that are being recorded.
    expect((await keyNow(id)).lastUsedAt).toBeNull();
  });
});

it('audits the creation, change, rotation and revocation of an API key', async () => {
  const { id, hint } = await newApiKey(service, 'viewer', { name: 'Audited', networks: ['203.0.113.0/24'] });
  await service.call('PUT', `/api-keys/${id}`, { name: 'Changed', networks: null });
  const rotated = await service.call('POST', `/api-keys/${id}/rotate`, { overlapSeconds: 60 });
  await service.call('POST', `/api-keys/${id}/revoke`, {});
  const { hint: newHint, previousSecretEndsAt } = rotated.body.data;
  const entries = await audited(`filter[resource]=api_key&filter[resourceId]=${id}`);
  expect(
    entries.map(({ action, actor, before, after }: Record<string, unknown>) => [
      action,
      actor,
      before,
      after,
    ]),
  ).toEqual([
    [
      'api_key.create',
      'admin@example.com',
      null,
      {
        name: 'Audited',
        role: 'viewer',
        permissions: null,
        networks: ['203.0.113.0/24'],
        expiresAt: null,
        hint,
      },
    ],
    [
      'api_key.change',
      'admin@example.com',
      { name: 'Audited', networks: ['203.0.113.0/24'] },
      { name: 'Changed', networks: null },
    ],
    [
      'api_key.rotate',
      'admin@example.com',
      { hint, previousSecretEndsAt: null },
      { hint: newHint, previousSecretEndsAt },
    ],
    ['api_key.revoke', 'admin@example.com', { status: 'active' }, { status: 'revoked' }],
  ]);
});
