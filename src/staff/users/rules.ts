import type { UserRole } from '../../core/database/tables.ts';

/** The changed field that would disable an admin or give the admin another role. Undefined if there is none. */
export function adminRemoval(changes: { role?: UserRole; active?: boolean }): 'active' | 'role' | undefined {
  if (changes.active === false) return 'active';
  return changes.role === undefined || changes.role === 'admin' ? undefined : 'role';
}
