import type {} from 'fastify';
import type { UserRole } from './core/database/tables.ts';

export const USER_ROLES = ['admin', 'manager', 'finance', 'agent', 'viewer'] as const satisfies UserRole[];

/**
 * The permissions and the roles that have them. Every route declares one of these permissions, `signed-in` (any role)
 * or `public` (no token); the service does not start with a route that declares none.
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
  // Users without commissions:read see only the commissions of their own employee.
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

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Access;
  }
}

/** @returns no role for a route that requires no permission. */
export function rolesWith(access: Access): readonly UserRole[] {
  return access === 'public' || access === 'signed-in' ? [] : RIGHTS[access];
}

export function mayDo(role: UserRole | 'system', access: Access): boolean {
  if (access === 'public' || access === 'signed-in') return true;
  return role === 'system' || rolesWith(access).includes(role);
}
