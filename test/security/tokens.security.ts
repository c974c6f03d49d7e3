import { createHmac, generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CompactEncrypt, decodeJwt, exportJWK, SignJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import { cleanUpAfterwards, report } from '../acceptance/process.ts';
import { PASSWORD, startInstance, useService } from '../support/harness.ts';
import { redisIsThere, useThreeInstances } from './instances.ts';
import { refusalOf, send } from './wire.ts';

/**
 * Tokens that make a careless verifier fetch or trust a key, and the end of sessions on several instances. test/api/auth.test.ts
 * tests forged claims, wrong algorithms, `alg: none`, expiry and not-before.
 */
cleanUpAfterwards();
const service = useService();
const three = useThreeInstances(service, {});

const whoAmI = (headers: Record<string, string | string[]>) =>
  send(service.origin, { path: '/api/auth/me', headers });
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const key = () => new TextEncoder().encode(service.context.secret);
const base64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

async function expectUnauthorized(headers: Record<string, string | string[]>): Promise<void> {
  const reply = await whoAmI(headers);
  expect(reply.status, reply.text).toBe(401);
  expect(refusalOf(reply).code).toBe('UNAUTHORIZED');
}

describe('a token that brings its own key', () => {
  it('is refused, and nothing is fetched', async () => {
    let fetched = 0;
    const keys = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const jwk = { ...(await exportJWK(keys.publicKey)), kid: 'mine', alg: 'RS256', use: 'sig' };
    const attacker = createServer((_request, response) => {
      fetched += 1;
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ keys: [jwk] }));
    }).listen(0, '127.0.0.1');
    await once(attacker, 'listening');
    const url = `http://127.0.0.1:${(attacker.address() as AddressInfo).port}/keys.json`;
    const headers = [
      { jwk },
      { jku: url, kid: 'mine' },
      { x5u: url },
      { x5c: [keys.publicKey.export({ type: 'spki', format: 'der' }).toString('base64')] },
      { kid: '../../../../dev/null' },
      { kid: "' union select 'secret' --" },
      { kid: url },
      { crit: ['exp'] },
      { crit: ['b64'], b64: false },
      { zip: 'DEF' },
      { cty: 'JWT' },
    ];
    const claims = decodeJwt(service.adminToken);
    for (const header of headers) {
      for (const alg of ['RS256', 'PS256', 'HS256', 'none', 'hs256', 'HS256 ', '']) {
        const head = base64({ alg, typ: 'at+jwt', ...header });
        const forged = `${head}.${base64(claims)}`;
        await expectUnauthorized(bearer(`${forged}.`));
        await expectUnauthorized(bearer(`${forged}.${Buffer.alloc(32).toString('base64url')}`));
      }
      const { crit: _understood, ...signable } = { crit: undefined, ...header };
      const signed = await new SignJWT(claims)
        .setProtectedHeader({ ...signable, alg: 'RS256', typ: 'at+jwt' })
        .sign(keys.privateKey);
      await expectUnauthorized(bearer(signed));
    }
    // Key confusion: the public key, in each of its forms, as the secret of an HMAC.
    for (const secret of [
      keys.publicKey.export({ type: 'spki', format: 'pem' }),
      keys.publicKey.export({ type: 'spki', format: 'der' }),
      JSON.stringify(jwk),
      '',
      'null',
      'secret',
    ]) {
      const bytes = Buffer.from(secret).length === 0 ? Buffer.alloc(1) : Buffer.from(secret);
      const signed = await new SignJWT(claims)
        .setProtectedHeader({ alg: 'HS256', typ: 'at+jwt' })
        .sign(bytes);
      await expectUnauthorized(bearer(signed));
    }
    await new Promise((resolve) => attacker.close(resolve));
    expect(fetched).toBe(0);
  });

  it('may name or contain a key if it is signed with the service’s own key', async () => {
    const token = await new SignJWT(decodeJwt(service.adminToken))
      .setProtectedHeader({ alg: 'HS256', typ: 'at+jwt', kid: 'another' })
      .sign(key());
    expect((await whoAmI(bearer(token))).status).toBe(200);
  });
});

describe('a value that is not an access token', () => {
  it.each([
    ['encrypted', async () => encrypted()],
    ['JSON', async () => JSON.stringify(decodeJwt(service.adminToken))],
    ['of claims that are a list', async () => signed('[]')],
    ['of claims that are null', async () => signed('null')],
    ['of claims that are no JSON', async () => signed('{')],
    ['of claims that pollute', async () => signed('{"__proto__":{"userId":1},"sid":"x"}')],
    ['with a null byte in it', async () => `${service.adminToken}%00`],
    ['twice in one', async () => `${service.adminToken},${service.adminToken}`],
    ['of dots', async () => '.....'],
    ['of 2 KB and more', async () => `${service.adminToken}${'A'.repeat(2_048)}`],
    ['of 12 KB', async () => 'A'.repeat(12_000)],
  ])('%s, is refused', async (_what, make) => {
    await expectUnauthorized(bearer(await make()));
  });

  it('is refused without parsing when it has 64 KB', async () => {
    const reply = await whoAmI(bearer('A'.repeat(65_536)));
    expect(reply.status).toBe(431);
    expect(refusalOf(reply).code).toBe('VALIDATION_ERROR');
  });

  it('is ignored outside the Authorization header', async () => {
    for (const path of [`/api/customers?access_token=${service.adminToken}`, `/api/customers?token=x`]) {
      expect((await send(service.origin, { path })).status).toBe(401);
    }
    await expectUnauthorized({ cookie: `access_token=${service.adminToken}; token=${service.adminToken}` });
    await expectUnauthorized({ 'x-access-token': service.adminToken, 'x-user-id': '1', 'x-role': 'admin' });
  });

  it('is refused as a refresh token, and a refresh token as an access token', async () => {
    const login = await service.call('POST', '/auth/login', {
      email: 'admin@example.com',
      password: PASSWORD,
    });
    await expectUnauthorized(bearer(login.body.data.refreshToken));
    const short = service.adminToken.slice(0, 200);
    const answer = await service.call('POST', '/auth/refresh', { refreshToken: short }, { token: null });
    expect(answer.status).toBe(401);
  });

  it('of another service that has the same secret is refused', async () => {
    const claims = { ...decodeJwt(service.adminToken), iss: 'billing', aud: 'billing' };
    const token = await new SignJWT(claims).setProtectedHeader({ alg: 'HS256', typ: 'at+jwt' }).sign(key());
    await expectUnauthorized(bearer(token));
  });

  it('signed with the previous secret is refused', async () => {
    const other = await startInstance(service, { JWT_SECRET: 'another secret, also 32 bytes long' });
    const answer = await other.call('GET', '/auth/me', undefined, { token: service.adminToken });
    expect(answer.status).toBe(401);
    await other.close();
  });

  async function encrypted(): Promise<string> {
    return new CompactEncrypt(Buffer.from(JSON.stringify(decodeJwt(service.adminToken))))
      .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', typ: 'at+jwt' })
      .encrypt(key().slice(0, 32));
  }

  /** Signs any payload correctly. */
  async function signed(payload: string): Promise<string> {
    const input = `${base64({ alg: 'HS256', typ: 'at+jwt' })}.${Buffer.from(payload).toString('base64url')}`;
    return `${input}.${createHmac('sha256', key()).update(input).digest('base64url')}`;
  }
});

describe.skipIf(!redisIsThere)('on three instances (skipped where redis-server is not installed)', () => {
  const HOLDS_WITHIN_MS = 5_000;
  let people = 0;

  async function newPerson() {
    people += 1;
    const email = `person${people}@example.com`;
    const answer = await service.call('POST', '/auth/register', {
      email,
      password: PASSWORD,
      firstName: 'A',
      lastName: 'B',
    });
    return { ...answer.body.data, email } as {
      accessToken: string;
      refreshToken: string;
      email: string;
      user: { id: number };
    };
  }

  const statuses = (token: string, path = '/auth/me') =>
    Promise.all(three.map(async ({ call }) => (await call('GET', path, undefined, { token })).status));

  /** Waits until every instance answers with the status. @returns the time that this took. */
  async function untilAll(status: number, token: string, path?: string): Promise<number> {
    const began = performance.now();
    await expect
      .poll(async () => new Set(await statuses(token, path)), { timeout: HOLDS_WITHIN_MS, interval: 50 })
      .toEqual(new Set([status]));
    return Math.round(performance.now() - began);
  }

  it('apply a sign-out, a disabled user, a new role and a new password within 5 seconds', async () => {
    const took: Record<string, number> = {};
    const [one, , last] = three;

    const leaver = await newPerson();
    expect(await statuses(leaver.accessToken)).toEqual([200, 200, 200]);
    await one?.call('POST', '/auth/logout', undefined, { token: leaver.accessToken });
    took['sign-out'] = await untilAll(401, leaver.accessToken);

    const disabled = await newPerson();
    expect(await statuses(disabled.accessToken)).toEqual([200, 200, 200]);
    await last?.call('PUT', `/users/${disabled.user.id}`, { active: false }, { token: service.adminToken });
    took.disabling = await untilAll(401, disabled.accessToken);

    const demoted = await newPerson();
    expect(await statuses(demoted.accessToken, '/reports/accounts/summary')).toEqual([200, 200, 200]);
    await one?.call('PUT', `/users/${demoted.user.id}`, { role: 'agent' }, { token: service.adminToken });
    took['a new role'] = await untilAll(403, demoted.accessToken, '/reports/accounts/summary');

    const renewed = await newPerson();
    expect(await statuses(renewed.accessToken)).toEqual([200, 200, 200]);
    await last?.call(
      'PUT',
      `/users/${renewed.user.id}`,
      { password: 'given by the admin' },
      { token: service.adminToken },
    );
    took['a new password'] = await untilAll(401, renewed.accessToken);
    for (const { refreshToken } of [leaver, disabled, renewed]) {
      const answer = await one?.call('POST', '/auth/refresh', { refreshToken });
      expect(answer?.status).toBe(401);
    }
    report(
      `on three instances: ${Object.entries(took)
        .map(([what, ms]) => `${what} ${ms} ms`)
        .join(', ')}`,
    );
  });

  it('the re-use of a rotated refresh token on one instance ends its session on all', async () => {
    const first = await newPerson();
    const rotate = async (instance: number, refreshToken: string) =>
      (await three[instance]?.call('POST', '/auth/refresh', { refreshToken }, { token: null }))?.body;
    const second = (await rotate(1, first.refreshToken)).data;
    const third = (await rotate(2, second.refreshToken)).data;
    expect(await statuses(third.accessToken)).toEqual([200, 200, 200]);
    expect((await rotate(0, first.refreshToken)).error.code).toBe('UNAUTHORIZED');
    expect((await rotate(1, third.refreshToken)).error.code).toBe('UNAUTHORIZED');
    for (const { accessToken } of [first, second, third]) await untilAll(401, accessToken);
  });
});
