import type { UserRole } from '../core/database/tables.ts';

/** The field of a change that would end an active admin; undefined if there is none. */
export function adminRemoval(changes: { role?: UserRole; active?: boolean }): 'active' | 'role' | undefined {
  if (changes.active === false) return 'active';
  return changes.role === undefined || changes.role === 'admin' ? undefined : 'role';
}
