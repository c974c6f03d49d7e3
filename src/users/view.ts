import type { UserRow } from './store.ts';

/** Never includes the password hash. */
export function toUser(row: Omit<UserRow, 'password_hash' | 'email_key'>) {
  return {
    id: row.id,
    email: row.email,
    firstName: row.first_name,
    lastName: row.last_name,
    role: row.role,
    active: row.active,
    employeeId: row.employee_id,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
