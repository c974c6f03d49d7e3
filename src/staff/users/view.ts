import { type Actor, SYSTEM } from '../../core/context.ts';
import type { Db } from '../../core/database/db.ts';
import { findUser, type UserRow } from './store.ts';

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

/** The user for whom a job works; the system if no user requested the work. */
export async function actorOfJob(db: Db, userId: number | null): Promise<Actor> {
  const user = userId === null ? undefined : await findUser(db, userId);
  return user ? { ...SYSTEM, userId: user.id, name: user.email } : SYSTEM;
}
