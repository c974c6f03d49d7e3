import { describe, expect, it } from 'vitest';
import {
  type Access,
  API_KEY_PERMISSIONS,
  apiKeyPermissionsOf,
  mayDo,
  neededByApiKeys,
  PERMISSIONS,
  type Permission,
  permissionsOf,
  type Rights,
  refusalOf,
  requireAll,
  rolesWith,
  USER_ROLES,
} from './rights.ts';

/** The permissions to read. Users with `commissions:read-own` and `events:follow` see only what they may read otherwise. */
const READS = PERMISSIONS.filter((one) => /:(read|read-own|follow)$/.test(one));
const key = (...permissions: string[]): Rights => ({ role: 'api_key', apiKey: { permissions } });
const user = (role: (typeof USER_ROLES)[number]): Rights => ({ role });

describe('the role', () => {
  it('admin has every permission', () => {
    expect(permissionsOf('admin')).toEqual(PERMISSIONS);
  });

  it('manager has every permission of the business, but none of administration', () => {
    expect(PERMISSIONS.filter((one) => !permissionsOf('manager').includes(one))).toEqual([
      'cash:confirm',
      'audit:read',
      'users:administer',
      'api-keys:administer',
      'webhook-endpoints:administer',
      'exports:read',
      'imports:run',
    ]);
  });

  it('finance works with money, and reads what the manager reads', () => {
    const reads = READS.filter((one) => permissionsOf('manager').includes(one));
    expect(permissionsOf('finance').filter((one) => READS.includes(one))).toEqual(reads);
    expect(permissionsOf('finance').filter((one) => !READS.includes(one))).toEqual([
      'notes:write',
      'accounts:change-plan',
      'payments:record',
      'payment-requests:create',
      'payments:reverse',
      'payments:assign',
      'credit:transfer',
      'credit:refund',
      'approvals:decide',
      'reconciliations:create',
      'cash:count',
      'cash:confirm',
      'cash:settle',
      'commissions:calculate',
      'commissions:approve',
      'invoices:create',
      'invoices:void',
      'lists:export',
    ]);
  });

  it('agent sells and takes payments, and reads customers, accounts and their own commissions', () => {
    expect(permissionsOf('agent')).toEqual([
      'customers:read',
      'customers:create',
      'notes:read',
      'notes:write',
      'kyc:read',
      'kyc:submit',
      'accounts:read',
      'accounts:create',
      'payments:read',
      'payments:record',
      'payment-requests:read',
      'payment-requests:create',
      'cash:count',
      'commissions:read-own',
      'events:follow',
      'invoices:read',
      'invoices:create',
      'catalogue:read',
    ]);
  });

  it('collector calls late customers, and neither records money nor sells', () => {
    expect(permissionsOf('collector')).toEqual([
      'customers:read',
      'notes:read',
      'notes:write',
      'kyc:read',
      'accounts:read',
      'payments:read',
      'payment-requests:read',
      'commissions:read-own',
      'calls:read',
      'calls:record',
      'events:follow',
      'invoices:read',
      'catalogue:read',
    ]);
  });

  it('viewer reads everything except payers, cash, the audit trail, the event feed and exports', () => {
    const hidden = ['payers:read', 'cash:read', 'audit:read', 'events:read', 'exports:read'];
    expect(permissionsOf('viewer')).toEqual(READS.filter((one) => !hidden.includes(one)));
  });
});

describe('a route', () => {
  it('is open to everybody if it is public, and to every user if it needs only a sign-in', () => {
    for (const role of USER_ROLES) {
      expect(mayDo(user(role), 'public')).toBe(true);
      expect(mayDo(user(role), 'signed-in')).toBe(true);
    }
    expect(mayDo(key(), 'public')).toBe(true);
    expect(mayDo(key('signed-in'), 'signed-in')).toBe(false);
    expect([rolesWith('public'), rolesWith('signed-in')]).toEqual([[], []]);
  });

  it('is open to exactly the roles with its permission', () => {
    const allowed = (access: Access) => USER_ROLES.filter((role) => mayDo(user(role), access));
    expect(allowed('payments:reverse')).toEqual(['admin', 'manager', 'finance']);
    for (const permission of PERMISSIONS) expect(allowed(permission)).toEqual(rolesWith(permission));
  });

  it('is always open to the system', () => {
    expect(mayDo({ role: 'system' }, 'users:administer')).toBe(true);
    expect(mayDo({ role: 'system' }, 'signed-in')).toBe(true);
  });

  it('is open to an API key only if the key has the permission', () => {
    expect(mayDo(key('payments:read', 'payments:record'), 'payments:record')).toBe(true);
    expect(mayDo(key('payments:read'), 'payments:record')).toBe(false);
    expect(mayDo({ role: 'api_key' }, 'payments:read')).toBe(false);
  });

  it.each<[Permission, Permission | null]>([
    ['commissions:read-own', 'commissions:read'],
    ['events:follow', 'events:read'],
    ['users:administer', null],
    ['api-keys:administer', null],
    ['webhook-endpoints:administer', null],
    ['approvals:decide', null],
    ['cash:count', null],
    ['cash:confirm', null],
    ['cash:settle', null],
    ['calls:record', null],
    ['calls:manage', null],
    ['imports:run', null],
  ])(
    'for users with %s needs %s from an API key, which cannot have this permission',
    (permission, needed) => {
      expect(neededByApiKeys(permission)).toBe(needed);
      expect(API_KEY_PERMISSIONS).not.toContain(permission);
      expect(mayDo(key(permission), permission)).toBe(false);
      expect(mayDo(key(...API_KEY_PERMISSIONS), permission)).toBe(needed !== null);
    },
  );

  it('needs the same permission from an API key as from a user, if keys can have this permission', () => {
    for (const permission of API_KEY_PERMISSIONS) expect(neededByApiKeys(permission)).toBe(permission);
    expect(API_KEY_PERMISSIONS).toHaveLength(PERMISSIONS.length - 12);
    expect(neededByApiKeys('signed-in')).toBeNull();
  });
});

describe('an API key with a role', () => {
  it.each(USER_ROLES)('has the permissions of the role that a key can have: %s', (role) => {
    expect(apiKeyPermissionsOf(role)).toEqual(
      permissionsOf(role).filter((permission) => API_KEY_PERMISSIONS.includes(permission)),
    );
  });
});

describe('a refusal', () => {
  it('names the permission and its roles to a user', () => {
    expect(refusalOf(user('agent'), 'payments:reverse')).toMatchObject({
      code: 'FORBIDDEN',
      message: 'Your role (agent) may not do this.',
      details: { permission: 'payments:reverse', roles: ['admin', 'manager', 'finance'] },
    });
  });

  it('names the permission that an API key lacks', () => {
    expect(refusalOf(key('payments:read'), 'events:follow')).toMatchObject({
      code: 'FORBIDDEN',
      message: 'This API key lacks the permission events:read.',
      details: { permission: 'events:read' },
    });
  });

  it('advises to sign in if no API key may call the route', () => {
    const refusal = refusalOf(key('approvals:decide'), 'approvals:decide');
    expect(refusal).toMatchObject({
      code: 'FORBIDDEN',
      message: 'No API key may do this. Send the access token of a signed-in user.',
    });
    expect(refusal?.details).toEqual({});
  });

  it('does not exist for what an actor may do', () => {
    expect(refusalOf(user('finance'), 'payments:reverse')).toBeUndefined();
    expect(refusalOf(key(), 'public')).toBeUndefined();
    expect(refusalOf(user('viewer'), 'signed-in')).toBeUndefined();
  });
});

describe('requireAll', () => {
  it('throws the refusal of the first missing permission', () => {
    const needed: Permission[] = ['payments:read', 'payments:reverse', 'users:administer'];
    expect(() => requireAll(user('agent'), needed)).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ permission: 'payments:reverse' }) }),
    );
    expect(() => requireAll(user('admin'), needed)).not.toThrow();
  });
});
