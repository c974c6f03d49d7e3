import { describe, expect, it } from 'vitest';
import { SYSTEM } from '../../core/context.ts';
import type { AppError } from '../../core/http/errors.ts';
import { isWellFormedApiKey, newApiKey } from '../../core/values/secret.ts';
import { API_KEY_PERMISSIONS, mayDo, RIGHTS, USER_ROLES } from '../../rights.ts';
import {
  API_KEY_STATUSES,
  apiKeyActor,
  checkExpiry,
  checkNetworks,
  checkStatus,
  grantOf,
  type PresentedKey,
  parseKey,
  refusalOfUse,
} from './rules.ts';

const creator = (role: (typeof USER_ROLES)[number]) => ({ ...SYSTEM, userId: 1, name: role, role });

function refusal(work: () => unknown): string | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    return (error as AppError).message;
  }
}

describe('a grant', () => {
  it('never exceeds the permissions of its creator, as a role or as a list', () => {
    for (const role of USER_ROLES) {
      for (const permission of API_KEY_PERMISSIONS) {
        const isAllowed = mayDo(creator(role), permission);
        const problem = refusal(() => grantOf(creator(role), { permissions: [permission] }));
        expect(problem === undefined, `${role} grants ${permission}`).toBe(isAllowed);
      }
      expect(refusal(() => grantOf(creator(role), { role }))).toBeUndefined();
    }
    expect(refusal(() => grantOf(creator('manager'), { role: 'admin' }))).toBe(
      'role: must hold only permissions that you have; you lack audit:read, exports:read',
    );
    expect(
      refusal(() => grantOf(creator('agent'), { permissions: ['payments:record', 'payments:reverse'] })),
    ).toBe('permissions: must hold only permissions that you have; you lack payments:reverse');
  });

  it('is either a role or a list, which can be empty', () => {
    expect(grantOf(creator('admin'), { role: 'agent' })).toEqual({ role: 'agent', permissions: null });
    expect(grantOf(creator('admin'), { permissions: [] })).toEqual({ role: null, permissions: [] });
    const oneOf = 'permissions: is required if role is missing, and not allowed together with role';
    expect(refusal(() => grantOf(creator('admin'), {}))).toBe(oneOf);
    expect(refusal(() => grantOf(creator('admin'), { role: 'agent', permissions: [] }))).toBe(oneOf);
  });

  it('cannot be made by an API key, with any permissions', () => {
    const key = { id: 1, name: 'A', role: 'admin' as const, permissions: null };
    expect(mayDo(apiKeyActor(key, null), 'api-keys:administer')).toBe(false);
  });
});

describe('the rights of an API key', () => {
  it('are those of its role, without the permissions that no API key can have', () => {
    for (const role of USER_ROLES) {
      const actor = apiKeyActor({ id: 1, name: 'A', role, permissions: null }, null);
      for (const permission of API_KEY_PERMISSIONS)
        expect(mayDo(actor, permission), `${role} ${permission}`).toBe(mayDo(creator(role), permission));
      expect(mayDo(actor, 'signed-in')).toBe(false);
      expect(mayDo(actor, 'users:administer')).toBe(false);
      expect(mayDo(actor, 'commissions:read-own')).toBe(mayDo(actor, 'commissions:read'));
    }
    const excluded = Object.keys(RIGHTS).filter((one) => !API_KEY_PERMISSIONS.some((other) => other === one));
    expect(excluded.sort()).toEqual([
      'api-keys:administer',
      'approvals:decide',
      'calls:manage',
      'calls:record',
      'cash:confirm',
      'cash:count',
      'cash:settle',
      'commissions:read-own',
      'events:follow',
      'imports:run',
      'users:administer',
      'webhook-endpoints:administer',
    ]);
  });

  it('are those of its list, and its name is that of the key', () => {
    const actor = apiKeyActor({ id: 3, name: 'Till', role: null, permissions: ['payments:record'] }, 'r-1');
    expect(actor).toMatchObject({ userId: null, name: 'api key Till', role: 'api_key', requestId: 'r-1' });
    expect(actor.apiKey).toEqual({ id: 3, permissions: ['payments:record'] });
    expect(apiKeyActor({ id: 3, name: 'Till', role: null, permissions: null }, null).apiKey).toEqual({
      id: 3,
      permissions: [],
    });
  });

  it('do not include permissions that no key can have, even if they are stored', () => {
    const permissions = ['users:administer', 'api-keys:administer', 'commissions:read-own', 'signed-in'];
    const actor = apiKeyActor({ id: 1, name: 'A', role: null, permissions }, null);
    for (const access of [
      'users:administer',
      'api-keys:administer',
      'commissions:read-own',
      'signed-in',
    ] as const)
      expect(mayDo(actor, access)).toBe(false);
  });
});

describe('the terms of a key', () => {
  it('allow networks, but not all addresses', () => {
    expect(() => checkNetworks([])).not.toThrow();
    expect(() => checkNetworks(['203.0.113.0/24', '2001:db8::/32', '192.0.2.1'])).not.toThrow();
    // Each problem is named with its place.
    expect(() => checkNetworks(['203.0.113.0/24', 'example.org', '0.0.0.0/0'])).toThrow(
      expect.objectContaining({
        code: 'VALIDATION_ERROR',
        details: {
          fields: [
            { path: 'networks[1]', message: expect.stringMatching(/^must be a network such as/) },
            { path: 'networks[2]', message: expect.stringMatching(/^must not contain all addresses/) },
          ],
        },
      }),
    );
    expect(() => checkNetworks(['::/0'])).toThrow(expect.objectContaining({ code: 'VALIDATION_ERROR' }));
  });

  it('end in the future, or never', () => {
    const now = new Date('2026-11-02T08:00:00.000Z');
    expect(() => checkExpiry(null, now)).not.toThrow();
    expect(() => checkExpiry(new Date('2026-11-02T08:00:00.001Z'), now)).not.toThrow();
    for (const past of ['2026-11-02T08:00:00.000Z', '2026-11-01T08:00:00.000Z'])
      expect(refusal(() => checkExpiry(new Date(past), now))).toBe('expiresAt: must be in the future');
  });

  it('can be changed only in some statuses, and a refusal says what to do instead', () => {
    expect(API_KEY_STATUSES.map((status) => refusal(() => checkStatus(status, ['active'])))).toEqual([
      undefined,
      'id: must not refer to an expired key; set a later expiresAt first',
      'id: must not refer to a revoked key; create another one',
    ]);
    expect(refusal(() => checkStatus('expired', ['active', 'expired']))).toBeUndefined();
  });
});

describe('the use of a key', () => {
  const NOW = '2026-11-02T08:00:00.000Z';
  const LATER = '2026-11-02T08:00:00.001Z';
  const key: PresentedKey = {
    id: 1,
    name: 'A',
    role: 'viewer',
    permissions: null,
    networks: null,
    expiresAt: null,
    revokedAt: null,
    replacedAt: null,
  };
  const use = (fields: Partial<PresentedKey>, address = '192.0.2.1') =>
    refusalOfUse(parseKey({ ...key, ...fields }), address, NOW);

  it.each([
    ['has no end', {}, undefined],
    ['expires later', { expiresAt: LATER }, undefined],
    ['expires at this moment', { expiresAt: NOW }, 'The API key expired at 2026-11-02T08:00:00.000Z.'],
    ['is replaced later', { replacedAt: LATER }, undefined],
    [
      'is replaced at this moment',
      { replacedAt: NOW },
      'The API key was rotated, and this secret ended at 2026-11-02T08:00:00.000Z. Use the new secret.',
    ],
    ['was revoked', { revokedAt: LATER }, 'The API key was revoked. Use another one.'],
  ])('is refused only if the key has ended: a key that %s', (_what, fields, message) => {
    expect(use(fields)?.message).toBe(message);
    if (message) expect(use(fields)?.code).toBe('UNAUTHORIZED');
  });

  it('is refused outside the networks of the key, with 403 and the address', () => {
    const networks = ['10.0.0.0/8', '2001:db8::/32'];
    for (const inside of ['10.1.2.3', '::ffff:10.1.2.3', '2001:db8::7'])
      expect(use({ networks }, inside), inside).toBeUndefined();
    for (const outside of ['11.1.2.3', '2001:db9::7', 'unknown', ''])
      expect(use({ networks }, outside), outside).toMatchObject({
        status: 403,
        details: { address: outside },
      });
  });
});

describe('the form of an API key', () => {
  it('has a checksum that detects every changed character', () => {
    for (let n = 0; n < 1_000; n++) {
      const { key } = newApiKey();
      expect(isWellFormedApiKey(key), key).toBe(true);
      const at = 8 + (n % 49);
      const changed = `${key.slice(0, at)}${key[at] === 'x' ? 'y' : 'x'}${key.slice(at + 1)}`;
      expect(isWellFormedApiKey(changed), changed).toBe(false);
    }
  });
});
