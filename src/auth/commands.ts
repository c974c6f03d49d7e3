import { randomUUID } from 'node:crypto';
import { audit } from '../core/audit.ts';
import { type Actor, type Context, SYSTEM } from '../core/context.ts';
import { inTransaction, type Tx } from '../core/db.ts';
import { AppError, invalidField } from '../core/errors.ts';
import type { Limiter } from '../core/rate-limit.ts';
import type { UserRole } from '../core/tables.ts';
import { isCommonPassword } from './common-passwords.ts';
import { hashPassword, passwordMatches } from './passwords.ts';
import type { Registration } from './schema.ts';
import * as store from './store.ts';
import { type AccessTokens, hashToken, newRefreshToken, unauthorized } from './tokens.ts';

/** What signing in needs beside the context. */
export interface AuthParts {
  tokens: AccessTokens;
  /** Counts failed guesses at one e-mail, whether or not a user has it. */
  guesses: Limiter;
}

/** The first user of a new service becomes admin (in production the CLI makes that one). */
export async function register(context: Context, parts: AuthParts, body: Registration, requestId: string) {
  const { registration, production } = context.config;
  if (production && !registration.open) throw registrationClosed();
  refuseCommonPassword(body.password, 'password', production);
  const passwordHash = await hashPassword(body.password);
  return inTransaction(context.db, async (tx) => {
    await store.lockRegistration(tx);
    const first = !production && !(await store.hasUsers(tx));
    if (!first && !registration.open) throw registrationClosed();
    const role: UserRole = first ? 'admin' : (registration.role as UserRole);
    const user = await createUser(tx, { ...SYSTEM, requestId }, { ...body, passwordHash, role });
    return startSession(tx, context, parts, user);
  });
}

export async function createUser(tx: Tx, actor: Actor, user: store.NewUser): Promise<store.UserRow> {
  const row = await store.insertUser(tx, user);
  const after = { email: row.email, firstName: row.first_name, lastName: row.last_name, role: row.role };
  await audit(tx, actor, { action: 'user.create', resource: 'user', resourceId: row.id, after });
  return row;
}

/** Unknown e-mail, wrong password and disabled user give one and the same answer after the same time. */
export async function login(context: Context, parts: AuthParts, body: { email: string; password: string }) {
  const guessKey = hashToken(store.emailKey(body.email)).toString('base64url');
  await parts.guesses.count(guessKey);
  const user = await store.findUserByEmail(context.db, body.email);
  const matches = await passwordMatches(user?.password_hash ?? null, body.password);
  if (!user || !matches || !user.active) {
    throw new AppError('AUTH_FAILED', 'The e-mail or the password is wrong.');
  }
  await parts.guesses.forget(guessKey);
  return inTransaction(context.db, (tx) => startSession(tx, context, parts, user));
}

/** A token that comes twice was stolen or copied: its whole family ends. */
export async function refresh(context: Context, parts: AuthParts, refreshToken: string) {
  const hash = hashToken(refreshToken);
  const result = await inTransaction(context.db, async (tx) => {
    const token = await store.lockRefreshToken(tx, hash);
    const now = new Date();
    if (!token || token.revoked_at || token.expires_at <= now || token.session_expires_at <= now)
      return undefined;
    const user = await store.getUser(tx, token.user_id);
    if (token.used_at || !user.active) {
      await store.revokeSession(tx, token.session_id);
      return undefined;
    }
    await store.markRefreshTokenUsed(tx, hash);
    return issueTokens(tx, context, parts, user, token.session_id);
  });
  if (!result) throw unauthorized('The refresh token is not valid any more. Sign in again.');
  return result;
}

export async function changePassword(
  context: Context,
  actor: Actor & { userId: number },
  sessionId: string,
  body: { currentPassword: string; newPassword: string },
): Promise<void> {
  const user = await store.getUser(context.db, actor.userId);
  if (!(await passwordMatches(user.password_hash, body.currentPassword))) {
    throw new AppError('AUTH_FAILED', 'The current password is wrong.');
  }
  refuseCommonPassword(body.newPassword, 'newPassword', context.config.production);
  const passwordHash = await hashPassword(body.newPassword);
  await inTransaction(context.db, async (tx) => {
    await store.setPasswordHash(tx, user.id, passwordHash);
    await store.revokeSessionsOf(tx, user.id, sessionId);
    await audit(tx, actor, { action: 'user.password', resource: 'user', resourceId: user.id, after: {} });
  });
}

async function startSession(tx: Tx, context: Context, parts: AuthParts, user: store.UserRow) {
  const id = randomUUID();
  await store.insertSession(tx, { id, userId: user.id, expiresAt: refreshExpiry(context) });
  return issueTokens(tx, context, parts, user, id);
}

async function issueTokens(
  tx: Tx,
  context: Context,
  parts: AuthParts,
  user: store.UserRow,
  sessionId: string,
) {
  const { token, hash } = newRefreshToken();
  const expiresAt = refreshExpiry(context);
  await store.insertRefreshToken(tx, { hash, sessionId, expiresAt });
  await store.extendSession(tx, sessionId, expiresAt);
  const accessToken = await parts.tokens.issue({ userId: user.id, sessionId });
  return { accessToken, refreshToken: token, expiresIn: context.config.ACCESS_TOKEN_TTL, user };
}

function refreshExpiry({ config }: Context): Date {
  return new Date(Date.now() + config.REFRESH_TOKEN_TTL_DAYS * 86_400_000);
}

function refuseCommonPassword(password: string, path: string, production: boolean): void {
  if (production && isCommonPassword(password)) {
    throw invalidField(path, 'is one of the most common passwords; choose another');
  }
}

function registrationClosed(): AppError {
  return new AppError('FORBIDDEN', 'Registration is closed. Ask an administrator for a user.');
}
