import { sql } from 'kysely';
import type { Db, Tx } from '../../core/database/db.ts';
import { deleteInBatches, lookUp } from '../../core/database/statements.ts';
import type { UserRow } from '../users/store.ts';

/**
 * Serializes registrations, so that two concurrent registrations cannot both create the first user. The lock is an advisory one,
 * because an empty table has no row to lock.
 */
export async function lockRegistration(tx: Tx): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtext('ams: first user'))`.execute(tx);
}

export async function insertSession(
  tx: Tx,
  session: { id: string; userId: number; identityProvider: string | null; expiresAt: Date },
): Promise<void> {
  await tx
    .insertInto('sessions')
    .values({
      id: session.id,
      user_id: session.userId,
      identity_provider: session.identityProvider,
      created_at: new Date(),
      expires_at: session.expiresAt,
    })
    .execute();
}

/** The fields of a session's user that requests need. */
export type SessionUser = Pick<UserRow, 'id' | 'email' | 'role' | 'employee_id'>;

/** Finds the user of a session that has not ended or expired. A disabled user has no live session. */
export async function findUserOfLiveSession(db: Db, sessionId: string, userId: number, now: Date) {
  const [user] = await lookUp(
    db,
    sql<SessionUser>`select u.id, u.email, u.role, u.employee_id
    from sessions s join users u on u.id = s.user_id
    where s.id = ${sessionId} and s.user_id = ${userId} and s.revoked_at is null and s.expires_at > ${now} and u.active`,
    'sessions',
  );
  return user;
}

/** @returns false when the session had already ended. */
export async function revokeSession(tx: Tx, sessionId: string): Promise<boolean> {
  const result = await tx
    .updateTable('sessions')
    .set({ revoked_at: new Date() })
    .where('id', '=', sessionId)
    .where('revoked_at', 'is', null)
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
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

/** Locks the token, so that concurrent uses of it run one after the other. */
export function lockRefreshToken(tx: Tx, hash: Buffer) {
  return tx
    .selectFrom('refresh_tokens as t')
    .innerJoin('sessions as s', 's.id', 't.session_id')
    .select([
      't.session_id',
      't.used_at',
      't.expires_at',
      's.user_id',
      's.identity_provider',
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

/** Deletes expired refresh tokens, also of live sessions, and returns their number. */
export function deleteExpiredRefreshTokens(db: Db, before: Date, signal: AbortSignal): Promise<number> {
  return deleteInBatches(db, signal, {
    table: 'refresh_tokens',
    where: sql`expires_at < ${before}`,
  });
}

/**
 * Deletes expired sessions and returns their number. Sessions that still have tokens stay, because deleting a session also deletes
 * its tokens, and these could be too many for one batch.
 */
export function deleteExpiredSessions(db: Db, before: Date, signal: AbortSignal): Promise<number> {
  return deleteInBatches(db, signal, {
    table: 'sessions',
    where: sql`expires_at < ${before}
      and not exists (select from refresh_tokens t where t.session_id = sessions.id)`,
  });
}

/** A session expires with its newest refresh token. */
export async function extendSession(tx: Tx, sessionId: string, expiresAt: Date): Promise<void> {
  await tx.updateTable('sessions').set({ expires_at: expiresAt }).where('id', '=', sessionId).execute();
}

interface SignInState {
  stateHash: Buffer;
  browserHash: Buffer;
  provider: string;
  redirectUri: string;
  nonce: string;
  codeVerifier: string;
  invitationId: number | null;
  expiresAt: Date;
}

export async function insertSignInState(db: Db, state: SignInState): Promise<void> {
  await db
    .insertInto('oauth_states')
    .values({
      state_hash: state.stateHash,
      browser_hash: state.browserHash,
      provider: state.provider,
      redirect_uri: state.redirectUri,
      nonce: state.nonce,
      code_verifier: state.codeVerifier,
      invitation_id: state.invitationId,
      expires_at: state.expiresAt,
    })
    .execute();
}

/** Deletes and returns the state, so that only one of two concurrent uses finds it. */
export function takeSignInState(
  db: Db,
  { stateHash, browserHash, provider }: Pick<SignInState, 'stateHash' | 'browserHash' | 'provider'>,
  now: Date,
) {
  return db
    .deleteFrom('oauth_states')
    .where('state_hash', '=', stateHash)
    .where('browser_hash', '=', browserHash)
    .where('provider', '=', provider)
    .where(sql<boolean>`expires_at > ${now}`)
    .returning(['redirect_uri', 'nonce', 'code_verifier', 'invitation_id'])
    .executeTakeFirst();
}

export function deleteExpiredSignInStates(db: Db, before: Date, signal: AbortSignal): Promise<number> {
  return deleteInBatches(db, signal, {
    table: 'oauth_states',
    where: sql`expires_at < ${before}`,
  });
}

export interface Identity {
  issuer: string;
  subject: string;
}

export function findUserByIdentity(db: Db, { issuer, subject }: Identity): Promise<UserRow | undefined> {
  return db
    .selectFrom('identities as i')
    .innerJoin('users as u', 'u.id', 'i.user_id')
    .selectAll('u')
    .where('i.issuer', '=', issuer)
    .where('i.subject', '=', subject)
    .executeTakeFirst();
}

export async function insertIdentity(tx: Tx, userId: number, { issuer, subject }: Identity): Promise<void> {
  await tx.insertInto('identities').values({ issuer, subject, user_id: userId }).execute();
}
