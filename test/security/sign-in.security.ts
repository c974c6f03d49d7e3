import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { median } from '../acceptance/client.ts';
import { report } from '../acceptance/process.ts';
import { dataOf, PASSWORD, startInstance, useService, wrongFields } from '../support/harness.ts';
import type { Caller } from '../support/http.ts';
import { send } from './wire.ts';

/**
 * Other tests: guesses at one e-mail, its lock and live sessions in test/api/auth.test.ts; the threads of hashing, and the time of
 * the first sign-in of a process, in src/staff/users/passwords.test.ts.
 */
const service = useService();
const PRODUCTION = {
  NODE_ENV: 'production',
  JWT_SECRET: 'a secret of this test, longer than 32 bytes',
  WEBHOOK_SECRET: 'sesame-and-more-of-it',
};

async function newUser(email: string): Promise<{ accessToken: string; user: { id: number } }> {
  const body = { email, password: PASSWORD, firstName: 'A', lastName: 'B' };
  return dataOf(service.call('POST', '/auth/register', body, { token: null }), 201);
}

const login = (email: string, password: string) =>
  send(service.origin, {
    method: 'POST',
    path: '/api/auth/login',
    body: JSON.stringify({ email, password }),
  });

describe('whether an e-mail has a user', () => {
  const ROUNDS = 61;
  const users = Math.ceil(ROUNDS / 9);

  beforeAll(async () => {
    for (let n = 0; n < users; n++) {
      await newUser(`known${n}@example.com`);
      await newUser(`disabled${n}@example.com`);
      await newUser(`federated${n}@example.com`);
    }
    await sql`update users set active = false where email like 'disabled%'`.execute(service.context.db);
    await sql`update users set password_hash = null where email like 'federated%'`.execute(
      service.context.db,
    );
  });

  it('cannot be inferred from text, status, headers or time', async () => {
    const kinds = ['known', 'disabled', 'federated', 'unknown'] as const;
    const times = Object.fromEntries(kinds.map((kind) => [kind, [] as number[]]));
    const seen = new Set<string>();
    for (let round = 0; round < ROUNDS; round++) {
      // Nine guesses each, because the tenth locks. The kinds take turns, so that changes of the machine's load affect all of them.
      for (const kind of kinds) {
        const { ms, status, text, headers } = await login(
          `${kind}${Math.floor(round / 9)}@example.com`,
          'a wrong password',
        );
        if (round > 0) times[kind]?.push(ms);
        const { 'x-request-id': _id, date: _date, ...rest } = headers;
        seen.add(JSON.stringify({ status, text, rest }));
      }
    }
    expect([...seen]).toHaveLength(1);
    const medians = kinds.map((kind) => median(times[kind] ?? []));
    report(
      `sign-in medians: ${kinds.map((kind, index) => `${kind} ${medians[index]?.toFixed(2)} ms`).join(', ')}`,
    );
    expect(Math.max(...medians) - Math.min(...medians)).toBeLessThan(5);
  });
});

describe('guessing', () => {
  it('the current password with a stolen token is limited for each user, from any address', async () => {
    const { accessToken } = await newUser('robbed@example.com');
    const { call, close } = await startInstance(service, { RATE_LIMIT_AUTH: '5', TRUST_PROXY: '127.0.0.1' });
    const guess = (n: number) =>
      call(
        'PUT',
        '/auth/password',
        { currentPassword: `guess ${n}`, newPassword: 'an even longer password' },
        { token: accessToken, headers: { 'x-forwarded-for': `203.0.113.${n}` } },
      );
    const statuses: number[] = [];
    for (let n = 1; n <= 12; n++) statuses.push((await guess(n)).status);
    expect(statuses).toEqual([...Array(10).fill(401), 429, 429]);
    // The session and signing in still work, because these guesses are counted separately.
    expect((await call('GET', '/auth/me', undefined, { token: accessToken })).status).toBe(200);
    expect((await login('robbed@example.com', PASSWORD)).status).toBe(200);
    await close();
  });

  it('from one IPv6 network is counted as from one address', async () => {
    const { call, close } = await startInstance(service, { RATE_LIMIT_AUTH: '5', TRUST_PROXY: '127.0.0.1' });
    const from = (address: string, n: number) =>
      call(
        'POST',
        '/auth/login',
        { email: `v6-${n}@example.com`, password: 'x' },
        { headers: { 'x-forwarded-for': address } },
      );
    const statuses: number[] = [];
    for (let n = 0; n < 7; n++) statuses.push((await from(`2001:db8:1:2:${n}::${n + 1}`, n)).status);
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429, 429]);
    expect((await from('2001:db8:1:3::1', 8)).status).toBe(401);
    await close();
  });
});

describe('in production', () => {
  it('refuses common passwords in every operation that sets a password', async () => {
    const { call, close } = await startInstance(service, {
      ...PRODUCTION,
      JWT_SECRET: service.context.secret,
      REGISTRATION: 'open',
      REGISTRATION_ROLE: 'viewer',
    });
    const { accessToken, user } = await newUser('careful@example.com');
    const person = { email: 'common@example.com', firstName: 'A', lastName: 'B' };
    const admin = { token: service.adminToken };
    const ways: [string, (password: string) => ReturnType<Caller>][] = [
      ['password', (password) => call('POST', '/auth/register', { ...person, password })],
      ['password', (password) => call('POST', '/users', { ...person, role: 'viewer', password }, admin)],
      ['password', (password) => call('PUT', `/users/${user.id}`, { password }, admin)],
      [
        'newPassword',
        (newPassword) =>
          call('PUT', '/auth/password', { currentPassword: PASSWORD, newPassword }, { token: accessToken }),
      ],
    ];
    for (const [field, set] of ways) {
      for (const common of ['12345678', 'Password1', 'QWERTYUIOP', 'iloveyou']) {
        expect(wrongFields(await set(common)), common).toEqual([field]);
      }
    }
    await close();
  });
});
