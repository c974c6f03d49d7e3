import { audit } from '../core/audit.ts';
import { type Actor, type Context, SYSTEM } from '../core/context.ts';
import { inTransaction, type Tx } from '../core/database/db.ts';
import { AppError } from '../core/http/errors.ts';
import type { Limiter } from '../core/http/rate-limit.ts';
import type { Log } from '../core/log.ts';
import { emailKey } from '../core/values/email.ts';
import { hashToken } from '../core/values/secret.ts';
import { refuseGuessablePassword } from '../users/guessable-passwords.ts';
import { type Guessing, hashPassword, passwordMatches } from '../users/passwords.ts';
import * as users from '../users/store.ts';
import type { IdentityProviders } from './identity-providers.ts';
import { admitInvited, findSignUpInvitation } from './invitations.ts';
import { admitNewcomer, refuseWhereClosed } from './registration.ts';
import type { Registration } from './schema.ts';
import { issueTokens, startSession } from './sessions.ts';
import * as store from './store.ts';
import { type AccessTokens, unauthorized } from './tokens.ts';

/** What signing in needs beside the context. */
export interface AuthParts {
  tokens: AccessTokens;
  /** Counts failed guesses at one e-mail, whether or not a user has it, and at a user's own password. */
  guesses: Limiter;
  providers: IdentityProviders;
}

export async function register(context: Context, parts: AuthParts, body: Registration, requestId: string) {
  const { password, invitation: token, ...newcomer } = body;
  const invitation =
    token === undefined ? undefined : await findSignUpInvitation(context.db, token, newcomer);
  if (!invitation) refuseWhereClosed(context.config);
  refuseGuessablePassword(password, 'password', newcomer, context.config.production);
  const passwordHash = await hashPassword(password);
  return inTransaction(context.db, async (tx) => {
    const user = invitation
      ? await admitInvited(tx, invitation.id, { ...newcomer, passwordHash }, requestId)
      : await admitNewcomer(tx, context, { ...newcomer, passwordHash }, requestId);
    return startSession(tx, context, parts, user);
  });
}

/** Unknown e-mail, wrong password and disabled user give one and the same answer after the same time. */
export async function login(context: Context, parts: AuthParts, body: { email: string; password: string }) {
  const guessKey = hashToken(emailKey(body.email)).toString('base64url');
  const found = await users.findUserByEmail(context.db, body.email);
  const guessing = guessingAt(parts, guessKey);
  await guessing.check();
  const stored = found?.active ? found.password_hash : null;
  if (!(await passwordMatches(stored, body.password, guessing)) || !found) throw wrongPassword();
  await parts.guesses.forget(guessKey);
  return inTransaction(context.db, async (tx) => {
    // A password that was changed or a user who was disabled meanwhile must not leave a session behind.
    const user = await users.holdUser(tx, found.id);
    if (!user.active || user.password_hash !== found.password_hash) throw wrongPassword();
    return startSession(tx, context, parts, user);
  });
}

/**
 * Checked again when the hash's turn has come, since a burst of guesses waits there. Right ones never count; of wrong ones
 * at the same moment, each instance may look at one more, as it hashes two at a time.
 */
function guessingAt({ guesses }: Pick<AuthParts, 'guesses'>, key: string): Guessing {
  return { check: () => guesses.check(key), failed: () => guesses.count(key) };
}

/** Ends the session of a user who signs out. */
export async function endSession(
  context: Context,
  actor: Actor & { userId: number },
  sessionId: string,
): Promise<void> {
  await inTransaction(context.db, (tx) => revoke(tx, actor, actor.userId, sessionId, 'signed out'));
}

/** A token that comes twice was stolen or copied: its whole family ends. */
export async function refresh(
  context: Context,
  parts: AuthParts,
  refreshToken: string,
  { log, requestId }: { log: Pick<Log, 'warn'>; requestId: string },
) {
  const hash = hashToken(refreshToken);
  const result = await inTransaction(context.db, async (tx) => {
    const token = await store.lockRefreshToken(tx, hash);
    const now = new Date().toISOString();
    if (!token || token.revoked_at || token.expires_at <= now || token.session_expires_at <= now)
      return undefined;
    const user = await users.getUser(tx, token.user_id);
    if (token.used_at || !user.active) {
      const reason = token.used_at ? 'a refresh token came twice' : 'the user is disabled';
      const ended = await revoke(tx, { ...SYSTEM, requestId }, user.id, token.session_id, reason);
      if (ended)
        log.warn({ userId: user.id, sessionId: token.session_id }, `A session was ended: ${reason}.`);
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
  parts: Pick<AuthParts, 'guesses'>,
  actor: Actor & { userId: number },
  sessionId: string,
  body: { currentPassword: string; newPassword: string },
): Promise<void> {
  const user = await users.getUser(context.db, actor.userId);
  // Counted apart from sign-ins, so that strangers who guess there do not keep a user from changing it here.
  const guessKey = `password of user ${actor.userId}`;
  const guessing = guessingAt(parts, guessKey);
  await guessing.check();
  if (!(await passwordMatches(user.password_hash, body.currentPassword, guessing))) {
    throw wrongCurrentPassword();
  }
  await parts.guesses.forget(guessKey);
  refuseGuessablePassword(body.newPassword, 'newPassword', users.toUser(user), context.config.production);
  const passwordHash = await hashPassword(body.newPassword);
  await inTransaction(context.db, async (tx) => {
    const held = await users.lockUser(tx, user.id);
    if (held?.password_hash !== user.password_hash) throw wrongCurrentPassword(); // an admin set another
    await users.updateUser(tx, user.id, { passwordHash });
    await users.revokeSessionsOf(tx, user.id, sessionId);
    await audit(tx, actor, { action: 'user.password', resource: 'user', resourceId: user.id, after: {} });
  });
}

/** @returns false where somebody else has ended the session. */
async function revoke(
  tx: Tx,
  actor: Actor,
  userId: number,
  sessionId: string,
  reason: string,
): Promise<boolean> {
  if (!(await store.revokeSession(tx, sessionId))) return false;
  const entry = { action: 'session.end', resource: 'user', resourceId: userId } as const;
  await audit(tx, actor, { ...entry, after: { sessionId, reason } });
  return true;
}

function wrongPassword(): AppError {
  return new AppError('AUTH_FAILED', 'The e-mail or the password is wrong.');
}

function wrongCurrentPassword(): AppError {
  return new AppError('AUTH_FAILED', 'The current password is wrong.');
}
