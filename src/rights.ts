import type {} from 'fastify';
import type { UserRole } from './core/database/tables.ts';
import { AppError } from './core/http/errors.ts';

export const USER_ROLES = [
  'admin',
  'manager',
  'finance',
  'agent',
  'collector',
  'viewer',
] as const satisfies UserRole[];

/**
 * The permissions and the roles that have them. Every route declares one of these permissions, `signed-in` (any user)
 * or `public` (no token); the service does not start with a route that declares none.
 */
export const RIGHTS = {
  'customers:read': ['admin', 'manager', 'finance', 'agent', 'collector', 'viewer'],
  'customers:create': ['admin', 'manager', 'agent'],
  'customers:change': ['admin', 'manager'],
  'notes:read': ['admin', 'manager', 'finance', 'agent', 'collector', 'viewer'],
  'notes:write': ['admin', 'manager', 'finance', 'agent', 'collector'],
  // Users with this permission also see the text of hidden notes.
  'notes:hide': ['admin', 'manager'],
  'kyc:read': ['admin', 'manager', 'finance', 'agent', 'collector', 'viewer'],
  'kyc:submit': ['admin', 'manager', 'agent'],
  'kyc:decide': ['admin', 'manager'],
  'accounts:read': ['admin', 'manager', 'finance', 'agent', 'collector', 'viewer'],
  'accounts:create': ['admin', 'manager', 'agent'],
  'accounts:change-status': ['admin', 'manager'],
  'accounts:change-plan': ['admin', 'manager', 'finance'],
  'payments:read': ['admin', 'manager', 'finance', 'agent', 'collector', 'viewer'],
  'payments:record': ['admin', 'manager', 'finance', 'agent'],
  'payment-requests:read': ['admin', 'manager', 'finance', 'agent', 'collector', 'viewer'],
  'payment-requests:create': ['admin', 'manager', 'finance', 'agent'],
  'payments:reverse': ['admin', 'manager', 'finance'],
  // The payer of a payment may be somebody who is not a customer. Only roles that assign payments see the payer's number and name.
  'payers:read': ['admin', 'manager', 'finance'],
  'payments:assign': ['admin', 'manager', 'finance'],
  'credit:transfer': ['admin', 'manager', 'finance'],
  'credit:refund': ['admin', 'manager', 'finance'],
  'approvals:read': ['admin', 'manager', 'finance', 'viewer'],
  // To approve or reject, a user also needs the permission of the requested action.
  'approvals:decide': ['admin', 'manager', 'finance'],
  'reconciliations:read': ['admin', 'manager', 'finance', 'viewer'],
  'reconciliations:create': ['admin', 'manager', 'finance'],
  // Who can record cash counts it, hands it over and receives it.
  'cash:count': ['admin', 'manager', 'finance', 'agent'],
  'cash:read': ['admin', 'manager', 'finance'],
  // Confirms deposits and opening counts, asks for settlements, and changes cash that was handed over.
  'cash:confirm': ['admin', 'finance'],
  // The second person of a settlement.
  'cash:settle': ['admin', 'manager', 'finance'],
  'commissions:read': ['admin', 'manager', 'finance', 'viewer'],
  // Users without commissions:read see only the commissions of the employee in their `employeeId`.
  'commissions:read-own': ['admin', 'manager', 'finance', 'agent', 'collector', 'viewer'],
  'commissions:calculate': ['admin', 'manager', 'finance'],
  'commissions:approve': ['admin', 'manager', 'finance'],
  'commission-rules:write': ['admin', 'manager'],
  // Users without reports:read see only their own results.
  'calls:read': ['admin', 'manager', 'finance', 'collector', 'viewer'],
  'calls:record': ['admin', 'manager', 'collector'],
  // Assigns accounts to officers, takes over a customer whom another officer is calling, and closes disputes.
  'calls:manage': ['admin', 'manager'],
  'reports:read': ['admin', 'manager', 'finance', 'viewer'],
  'audit:read': ['admin'],
  'events:read': ['admin', 'manager', 'finance'],
  // A user sees only events about resources that the user may read, see changes/events/rules.ts. An API key with events:read sees
  // all events.
  'events:follow': ['admin', 'manager', 'finance', 'agent', 'collector', 'viewer'],
  'users:administer': ['admin'],
  'api-keys:administer': ['admin'],
  'webhook-endpoints:administer': ['admin'],
  'catalogue:write': ['admin', 'manager'],
  'invoices:read': ['admin', 'manager', 'finance', 'agent', 'collector', 'viewer'],
  'invoices:create': ['admin', 'manager', 'finance', 'agent'],
  'invoices:void': ['admin', 'manager', 'finance'],
  'catalogue:read': ['admin', 'manager', 'finance', 'agent', 'collector', 'viewer'],
  // Files of lists contain the personal data of many customers.
  'lists:export': ['admin', 'manager', 'finance'],
  // Exports contain the personal data of all customers.
  'exports:read': ['admin'],
  'imports:run': ['admin'],
} as const satisfies Record<string, readonly UserRole[]>;

export type Permission = keyof typeof RIGHTS;
export type Access = Permission | 'signed-in' | 'public';

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Access;
  }
}

/** The rights of an actor. */
export interface Rights {
  role: UserRole | 'api_key' | 'system';
  /** Set if the actor is an API key. */
  apiKey?: { permissions: readonly string[] };
}

/**
 * The permissions that no API key can have, with the permission that a key needs instead. Null: no key may call routes that need
 * the permission.
 */
const API_KEYS_NEED: Readonly<Partial<Record<Permission, Permission | null>>> = {
  // These permissions would let a key act as another user or key.
  'users:administer': null,
  'api-keys:administer': null,
  // Somebody who stole a key could send every event to another address.
  'webhook-endpoints:administer': null,
  // A person must decide.
  'approvals:decide': null,
  // An import changes all books at once. A person must judge the result of its check before it runs.
  'imports:run': null,
  // A person must count, confirm and settle.
  'cash:count': null,
  'cash:confirm': null,
  'cash:settle': null,
  // The name of a person is on every call, and reservations of phones belong to a person.
  'calls:record': null,
  'calls:manage': null,
  // An API key is not an employee and has no commissions of its own.
  'commissions:read-own': 'commissions:read',
  'events:follow': 'events:read',
};

export const PERMISSIONS = Object.keys(RIGHTS) as Permission[];

/** The permissions that an API key can have. */
export const API_KEY_PERMISSIONS = PERMISSIONS.filter((permission) => !(permission in API_KEYS_NEED));

/** The permissions of a user with a role. */
export function permissionsOf(role: UserRole): Permission[] {
  return PERMISSIONS.filter((permission) => rolesWith(permission).includes(role));
}

/** The permissions of API keys with a role, for every role. Computed once, because each request with a key reads this table. */
const API_KEY_PERMISSIONS_OF = Object.fromEntries(
  USER_ROLES.map((role) => [
    role,
    API_KEY_PERMISSIONS.filter((permission) => rolesWith(permission).includes(role)),
  ]),
) as Record<UserRole, Permission[]>;

/** The permissions of an API key with a role. */
export function apiKeyPermissionsOf(role: UserRole): readonly Permission[] {
  return API_KEY_PERMISSIONS_OF[role];
}

/** The roles with a permission. None for `public` and `signed-in`, which are not permissions. */
export function rolesWith(access: Access): readonly UserRole[] {
  return access === 'public' || access === 'signed-in' ? [] : RIGHTS[access];
}

/** The permission with which an API key may call a route. Null: no key may call it, because the route needs a person. */
export function neededByApiKeys(access: Exclude<Access, 'public'>): Permission | null {
  if (access === 'signed-in') return null;
  const needed = API_KEYS_NEED[access];
  return needed === undefined ? access : needed;
}

export function mayDo({ role, apiKey }: Rights, access: Access): boolean {
  if (access === 'public' || role === 'system') return true;
  if (role === 'api_key') {
    const needed = neededByApiKeys(access);
    return needed !== null && apiKey?.permissions.includes(needed) === true;
  }
  return access === 'signed-in' || rolesWith(access).includes(role);
}

/** The error if the actor is not allowed to call a route. Otherwise undefined. */
export function refusalOf(actor: Rights, access: Access): AppError | undefined {
  if (access === 'public' || mayDo(actor, access)) return undefined;
  if (actor.role !== 'api_key') {
    return new AppError('FORBIDDEN', `Your role (${actor.role}) may not do this.`, {
      details: { permission: access, roles: [...rolesWith(access)] },
    });
  }
  const needed = neededByApiKeys(access);
  if (needed === null) {
    return new AppError('FORBIDDEN', 'No API key may do this. Send the access token of a signed-in user.');
  }
  return new AppError('FORBIDDEN', `This API key lacks the permission ${needed}.`, {
    details: { permission: needed },
  });
}

/** Checks permissions in addition to that of the route. @throws AppError FORBIDDEN if the actor lacks one of them. */
export function requireAll(actor: Rights, permissions: Iterable<Permission>): void {
  for (const permission of permissions) {
    const refusal = refusalOf(actor, permission);
    if (refusal) throw refusal;
  }
}
