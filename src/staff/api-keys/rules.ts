import type { Actor } from '../../core/context.ts';
import type { UserRole } from '../../core/database/tables.ts';
import { createNetworks, type Networks, sizeOf } from '../../core/http/addresses.ts';
import { AppError, type FieldProblem, invalid, invalidField } from '../../core/http/errors.ts';
import { apiKeyPermissionsOf, mayDo, type Permission } from '../../rights.ts';

export const API_KEY_STATUSES = ['active', 'expired', 'revoked'] as const;
export type ApiKeyStatus = (typeof API_KEY_STATUSES)[number];

/** The permissions of a new key: either those of a role, or a list. The unused field is null. */
export interface Grant {
  role: UserRole | null;
  permissions: Permission[] | null;
}

/**
 * @throws AppError VALIDATION_ERROR if role and permissions are both given or both missing, or if the creator lacks one of the
 *   permissions.
 */
export function grantOf(creator: Actor, given: { role?: UserRole; permissions?: Permission[] }): Grant {
  const { role, permissions } = given;
  if ((role === undefined) === (permissions === undefined))
    throw invalidField('permissions', 'is required if role is missing, and not allowed together with role');
  const granted = permissions ?? (role ? apiKeyPermissionsOf(role) : []);
  const excess = granted.filter((permission) => !mayDo(creator, permission));
  if (excess.length > 0) {
    const message = `must hold only permissions that you have; you lack ${excess.join(', ')}`;
    throw invalidField(permissions ? 'permissions' : 'role', message);
  }
  return { role: role ?? null, permissions: permissions ?? null };
}

/** @throws AppError VALIDATION_ERROR for text that is not a network, and for a network that contains all addresses. */
export function checkNetworks(networks: readonly string[]): void {
  const problems = networks.flatMap((network, index): FieldProblem[] => {
    const size = sizeOf(network, { ipv4: 0, ipv6: 0 });
    const path = `networks[${index}]`;
    if (size === 'invalid')
      return [{ path, message: 'must be a network such as 203.0.113.0/24 or 2001:db8::/32, or an address' }];
    return size === 'every address'
      ? [{ path, message: 'must not contain all addresses; to allow all addresses, set networks to null' }]
      : [];
  });
  if (problems.length > 0) throw invalid(problems);
}

/** @throws AppError VALIDATION_ERROR for a time that has passed. */
export function checkExpiry(expiresAt: Date | null, now: Date): void {
  if (expiresAt !== null && expiresAt <= now) throw invalidField('expiresAt', 'must be in the future');
}

/** The data of a key that the access hook needs. Times are ISO 8601 in UTC. */
export interface PresentedKey {
  id: number;
  name: string;
  role: UserRole | null;
  permissions: string[] | null;
  networks: string[] | null;
  expiresAt: string | null;
  revokedAt: string | null;
  /** The time from which a rotation makes the presented secret invalid. This time can be in the future. */
  replacedAt: string | null;
}

/** A presented key with its parsed networks. */
export interface ParsedKey extends Omit<PresentedKey, 'networks'> {
  networks: Networks | undefined;
}

export function parseKey(key: PresentedKey): ParsedKey {
  return { ...key, networks: key.networks ? createNetworks(key.networks) : undefined };
}

/** Why a key cannot be used from an address now; undefined if it can. @param now ISO 8601 in UTC. */
export function refusalOfUse(key: ParsedKey, address: string, now: string): AppError | undefined {
  const { expiresAt, replacedAt } = key;
  if (key.revokedAt !== null) return unauthorizedKey('was revoked. Use another one');
  if (expiresAt !== null && expiresAt <= now) return unauthorizedKey(`expired at ${expiresAt}`);
  if (replacedAt !== null && replacedAt <= now)
    return unauthorizedKey(`was rotated, and this secret ended at ${replacedAt}. Use the new secret`);
  if (key.networks && !key.networks.has(address)) {
    const message = `This API key may not be used from ${address}. Its networks do not contain this address.`;
    return new AppError('FORBIDDEN', message, { details: { address } });
  }
  return undefined;
}

function unauthorizedKey(problem: string): AppError {
  return new AppError('UNAUTHORIZED', `The API key ${problem}.`);
}

/** Makes the key the actor of a request, or of a job that a request started. */
export function apiKeyActor(
  { id, name, role, permissions }: Pick<PresentedKey, 'id' | 'name' | 'role' | 'permissions'>,
  requestId: string | null,
): Actor {
  const allowed = role === null ? (permissions ?? []) : apiKeyPermissionsOf(role);
  return {
    userId: null,
    name: `api key ${name}`,
    role: 'api_key',
    employeeId: null,
    requestId,
    apiKey: { id, permissions: allowed },
  };
}

/** @throws AppError VALIDATION_ERROR for a key whose status does not allow the operation. */
export function checkStatus(status: ApiKeyStatus, allowed: readonly ApiKeyStatus[]): void {
  if (allowed.includes(status)) return;
  const remedy = status === 'expired' ? 'set a later expiresAt first' : 'create another one';
  throw invalidField('id', `must not refer to ${status === 'revoked' ? 'a' : 'an'} ${status} key; ${remedy}`);
}
