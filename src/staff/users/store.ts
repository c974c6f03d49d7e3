import { type Selectable, sql } from 'kysely';
import type { Db, Tx } from '../../core/database/db.ts';
import { violatedForeignKey, violatedUnique } from '../../core/database/postgres-errors.ts';
import type { UserRole, Users } from '../../core/database/tables.ts';
import { duplicate, notFound } from '../../core/http/errors.ts';
import { fetchPage } from '../../core/lists/page.ts';
import type { ListPlan } from '../../core/lists/query.ts';
import { emailKey } from '../../core/values/email.ts';

export type UserRow = Selectable<Users>;

export interface NewUser {
  email: string;
  firstName: string;
  lastName: string;
  /** Null if the user signs in only through an identity provider. */
  passwordHash: string | null;
  role: UserRole;
  employeeId?: number | null;
}

/** Fields that an admin can change. Missing fields keep their value. */
interface UserFields {
  firstName?: string | undefined;
  lastName?: string | undefined;
  role?: UserRole | undefined;
  active?: boolean | undefined;
  employeeId?: number | null | undefined;
  passwordHash?: string | undefined;
}

/** @throws AppError DUPLICATE_ENTRY when the e-mail is taken, NOT_FOUND for an unknown employee. */
export function insertUser(tx: Tx, user: NewUser): Promise<UserRow> {
  return tx
    .insertInto('users')
    .values({
      email: user.email,
      email_key: emailKey(user.email),
      first_name: user.firstName,
      last_name: user.lastName,
      password_hash: user.passwordHash,
      role: user.role,
      employee_id: user.employeeId ?? null,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
    .catch((error: unknown) => {
      throw translateError(error, user.employeeId);
    });
}

/** @throws AppError NOT_FOUND for an unknown employee. */
export function updateUser(tx: Tx, id: number, fields: UserFields): Promise<UserRow> {
  return tx
    .updateTable('users')
    .set({
      first_name: fields.firstName,
      last_name: fields.lastName,
      role: fields.role,
      active: fields.active,
      employee_id: fields.employeeId,
      password_hash: fields.passwordHash,
      updated_at: sql`business_now()`,
    })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
    .catch((error: unknown) => {
      throw translateError(error, fields.employeeId);
    });
}

export function listUsers(db: Db, plan: ListPlan) {
  return fetchPage<Omit<UserRow, 'password_hash' | 'email_key'>>(db, plan, {
    select: sql`
      select u.id, u.email, u.first_name, u.last_name, u.role, u.active, u.employee_id, u.created_at,
        u.updated_at
      from users u`,
    from: sql`from users u`,
  });
}

/** @throws AppError NOT_FOUND */
export async function getUser(db: Db, id: number): Promise<UserRow> {
  const user = await findUser(db, id);
  if (!user) throw notFound('user', id);
  return user;
}

export function findUser(db: Db, id: number): Promise<UserRow | undefined> {
  return db.selectFrom('users').selectAll().where('id', '=', id).executeTakeFirst();
}

export function findUserByEmail(db: Db, email: string): Promise<UserRow | undefined> {
  // PostgreSQL cannot store NUL in a text.
  if (email.includes('\0')) return Promise.resolve(undefined);
  return db.selectFrom('users').selectAll().where('email_key', '=', emailKey(email)).executeTakeFirst();
}

/** A query for the user who has the e-mail in any letter case. */
export function userWithEmail(email: string) {
  return sql<{ id: number }>`select id from users where email_key = ${emailKey(email)}`;
}

export function lockUser(tx: Tx, id: number): Promise<UserRow | undefined> {
  return tx.selectFrom('users').selectAll().where('id', '=', id).forNoKeyUpdate().executeTakeFirst();
}

/** A shared lock: other transactions can take it, too, but cannot change the user. */
export function lockUserAgainstChanges(tx: Tx, id: number): Promise<UserRow> {
  return tx.selectFrom('users').selectAll().where('id', '=', id).forShare().executeTakeFirstOrThrow();
}

export async function hasAdmin(db: Db): Promise<boolean> {
  const row = await db
    .selectFrom('users')
    .select('id')
    .where('role', '=', 'admin')
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/**
 * Lets only one transaction at a time change admins. Otherwise two transactions could remove the last two admins, because each
 * still sees the admin that the other removes.
 */
export async function lockAdmins(tx: Tx): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtext('ams: last admin'))`.execute(tx);
}

export async function hasOtherActiveAdmin(tx: Tx, id: number): Promise<boolean> {
  const row = await tx
    .selectFrom('users')
    .select('id')
    .where('role', '=', 'admin')
    .where('active', '=', true)
    .where('id', '!=', id)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** @param keep the id of the one session that stays valid. */
export async function revokeSessionsOf(tx: Tx, userId: number, keep?: string): Promise<void> {
  let update = tx
    .updateTable('sessions')
    .set({ revoked_at: new Date() })
    .where('user_id', '=', userId)
    .where('revoked_at', 'is', null);
  if (keep) update = update.where('id', '!=', keep);
  await update.execute();
}

function translateError(error: unknown, employeeId: number | null | undefined): unknown {
  if (violatedUnique(error) === 'users_email_unique') return duplicate('user', 'email');
  if (violatedForeignKey(error) === 'users_employee_id_fkey') {
    return notFound('employee', employeeId, 'employeeId');
  }
  return error;
}
