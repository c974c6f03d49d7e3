import type {} from 'fastify';
import type { ErrorCode } from './errors.ts';
import type { UserRole } from './tables.ts';

export const USER_ROLES = ['admin', 'manager', 'finance', 'agent', 'viewer'] as const satisfies UserRole[];

/**
 * The rights table: what each role may do. A route names one of these permissions, or `public`
 * (no token) or `signed-in` (any role); a route that names none does not start.
 */
export const RIGHTS = {
  'customers:read': ['admin', 'manager', 'finance', 'agent', 'viewer'],
  'customers:create': ['admin', 'manager', 'agent'],
  'customers:change': ['admin', 'manager'],
  'kyc:read': ['admin', 'manager', 'finance', 'agent', 'viewer'],
  'kyc:submit': ['admin', 'manager', 'agent'],
  'kyc:decide': ['admin', 'manager'],
  'accounts:read': ['admin', 'manager', 'finance', 'agent', 'viewer'],
  'accounts:create': ['admin', 'manager', 'agent'],
  'accounts:change-status': ['admin', 'manager'],
  'payments:read': ['admin', 'manager', 'finance', 'agent', 'viewer'],
  'payments:record': ['admin', 'manager', 'finance', 'agent'],
  'payments:reverse': ['admin', 'manager', 'finance'],
  // A payer may not be a customer. Only roles that trace payments see the payer's number and name.
  'payers:read': ['admin', 'manager', 'finance'],
  'payments:assign': ['admin', 'manager', 'finance'],
  'credit:transfer': ['admin', 'manager', 'finance'],
  'credit:refund': ['admin', 'manager', 'finance'],
  'reconciliations:read': ['admin', 'manager', 'finance', 'viewer'],
  'reconciliations:create': ['admin', 'manager', 'finance'],
  'commissions:read': ['admin', 'manager', 'finance', 'viewer'],
  // Roles without commissions:read see only those of the user's own employee.
  'commissions:read-own': ['admin', 'manager', 'finance', 'agent', 'viewer'],
  'commissions:calculate': ['admin', 'manager', 'finance'],
  'commissions:approve': ['admin', 'manager', 'finance'],
  'commission-rules:write': ['admin', 'manager'],
  'reports:read': ['admin', 'manager', 'finance', 'viewer'],
  'audit:read': ['admin'],
  'users:administer': ['admin'],
  'catalogue:write': ['admin', 'manager'],
  'invoices:read': ['admin', 'manager', 'finance', 'agent', 'viewer'],
  'invoices:create': ['admin', 'manager', 'finance', 'agent'],
  'invoices:void': ['admin', 'manager', 'finance'],
  'catalogue:read': ['admin', 'manager', 'finance', 'agent', 'viewer'],
} as const satisfies Record<string, readonly UserRole[]>;

type Permission = keyof typeof RIGHTS;
export type Access = Permission | 'signed-in' | 'public';

/** The budget that a request counts in; see rate-limit.ts. */
export type RateClass = 'auth' | 'bulk' | 'general' | 'pages' | 'webhook' | 'none';

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Access;
    rate?: RateClass;
    /** For rate class auth: the name that the endpoint's calls are counted under. */
    budget?: string;
    /** Errors that this route answers besides those that every route of its access can. */
    errors?: ErrorCode[];
    /** How long the body may take to come in; see http.ts. */
    bodyTimeoutMs?: number;
    /** How long the answer may take to begin; default: a few seconds. */
    answerTimeoutMs?: number;
    /** Takes an `Idempotency-Key`; see idempotency.ts. */
    repeatable?: true;
  }
}

export function rolesWith(permission: Permission): readonly UserRole[] {
  return RIGHTS[permission];
}

export function mayDo(role: UserRole | 'system', access: Access): boolean {
  if (access === 'public' || access === 'signed-in') return true;
  return role === 'system' || rolesWith(access).includes(role);
}
