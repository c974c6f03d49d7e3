import type { UserRole } from '../core/database/tables.ts';

/** The field of a change that would disable an admin or take the role away. Undefined if there is no such field. */
export function adminRemoval(changes: { role?: UserRole; active?: boolean }): 'active' | 'role' | undefined {
  if (changes.active === false) return 'active';
  return changes.role === undefined || changes.role === 'admin' ? undefined : 'role';
}
