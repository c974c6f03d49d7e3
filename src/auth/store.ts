import type { Selectable } from 'kysely';
import { sql } from 'kysely';
import { type Db, type Tx, violatedUnique } from '../core/db.ts';
import { duplicate } from '../core/errors.ts';
import type { UserRole, Users } from '../core/tables.ts';

export type UserRow = Selectable<Users>;

export interface NewUser {
  email: string;
  firstName: string;
  lastName: string;
  passwordHash: string;
  role: UserRole;
}

/** What makes two addresses the same. */
export function emailKey(email: string): string {
  return email.normalize('NFKC').toLowerCase();
}

/** @throws AppError DUPLICATE_ENTRY when the e-mail is taken. */
export async function insertUser(tx: Tx, user: NewUser): Promise<UserRow> {
  try {
    return await tx
      .insertInto('users')
      .values({
        email: user.email,
        email_key: emailKey(user.email),
        first_name: user.firstName,
        last_name: user.lastName,
        password_hash: user.passwordHash,
        role: user.role,
      })
      .returningAll()
      .executeTakeFirstOrThrow();
  } catch (error) {
    if (violatedUnique(error) === 'users_email_unique') throw duplicate('user', 'email');
    throw error;
  }
}

/** Lets one registration at a time look whether it is the first: a table that is empty has no row to lock. */
export async function lockRegistration(tx: Tx): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtext('ams: first user'))`.execute(tx);
}

export async function hasUsers(db: Db): Promise<boolean> {
  const row = await db.selectFrom('users').select('id').limit(1).executeTakeFirst();
  return row !== undefined;
}

export function findUserByEmail(db: Db, email: string): Promise<UserRow | undefined> {
  return db.selectFrom('users').selectAll().where('email_key', '=', emailKey(email)).executeTakeFirst();
}

export function getUser(db: Db, id: number): Promise<UserRow> {
  return db.selectFrom('users').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
}

export async function setPasswordHash(tx: Tx, userId: number, passwordHash: string): Promise<void> {
  await tx
    .updateTable('users')
    .set({ password_hash: passwordHash, updated_at: sql`now()` })
    .where('id', '=', userId)
    .execute();
}

export async function insertSession(
  tx: Tx,
  session: { id: string; userId: number; expiresAt: Date },
): Promise<void> {
  await tx
    .insertInto('sessions')
    .values({
      id: session.id,
      user_id: session.userId,
      created_at: new Date(),
      expires_at: session.expiresAt,
    })
    .execute();
}

/** The user of a session that still lives; undefined when it was ended, has expired, or the user is disabled. */
export function findLivingSession(db: Db, sessionId: string, userId: number, now: Date) {
  return db
    .selectFrom('sessions as s')
    .innerJoin('users as u', 'u.id', 's.user_id')
    .select(['u.id', 'u.email', 'u.role', 'u.employee_id'])
    .where('s.id', '=', sessionId)
    .where('s.user_id', '=', userId)
    .where('s.revoked_at', 'is', null)
    .where('s.expires_at', '>', now)
    .where('u.active', '=', true)
    .executeTakeFirst();
}

export async function revokeSession(db: Db, sessionId: string): Promise<void> {
  await db
    .updateTable('sessions')
    .set({ revoked_at: new Date() })
    .where('id', '=', sessionId)
    .where('revoked_at', 'is', null)
    .execute();
}

/** Ends all sessions of a user, or all but one. */
export async function revokeSessionsOf(tx: Tx, userId: number, keep?: string): Promise<void> {
  let update = tx
    .updateTable('sessions')
    .set({ revoked_at: new Date() })
    .where('user_id', '=', userId)
    .where('revoked_at', 'is', null);
  if (keep) update = update.where('id', '!=', keep);
  await update.execute();
}

export async function insertRefreshToken(
  tx: Tx,
  token: { hash: Buffer; sessionId: string; expiresAt: Date },
) {
  await tx
    .insertInto('refresh_tokens')
    .values({
      token_hash: token.hash,
      session_id: token.sessionId,
      created_at: new Date(),
      expires_at: token.expiresAt,
    })
    .execute();
}

/** The token's row, locked, so that two uses of it at once are one after the other. */
export function lockRefreshToken(tx: Tx, hash: Buffer) {
  return tx
    .selectFrom('refresh_tokens as t')
    .innerJoin('sessions as s', 's.id', 't.session_id')
    .select([
      't.session_id',
      't.used_at',
      't.expires_at',
      's.user_id',
      's.revoked_at',
      's.expires_at as session_expires_at',
    ])
    .where('t.token_hash', '=', hash)
    .forUpdate('t')
    .executeTakeFirst();
}

export async function markRefreshTokenUsed(tx: Tx, hash: Buffer): Promise<void> {
  await tx
    .updateTable('refresh_tokens')
    .set({ used_at: new Date() })
    .where('token_hash', '=', hash)
    .execute();
}

/** Deletes sessions, with their refresh tokens, that expired before a moment; the number of them. */
export async function deleteExpiredSessions(db: Db, before: Date): Promise<number> {
  const result = await db.deleteFrom('sessions').where('expires_at', '<', before).executeTakeFirst();
  return Number(result.numDeletedRows);
}

/** A session lives as long as its newest refresh token. */
export async function extendSession(tx: Tx, sessionId: string, expiresAt: Date): Promise<void> {
  await tx.updateTable('sessions').set({ expires_at: expiresAt }).where('id', '=', sessionId).execute();
}
