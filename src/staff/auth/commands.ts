import { event } from '../../changes/events/change-rules.ts';
import { audit } from '../../changes/events/change-store.ts';
import type { Actor, Context } from '../../core/context.ts';
import { inTransaction } from '../../core/database/transactions.ts';
import { AppError } from '../../core/http/errors.ts';
import type { Limiter, Limiters } from '../../core/http/rate-limit.ts';
import { emailKey } from '../../core/values/email.ts';
import { hashToken } from '../../core/values/secret.ts';
import { withTrimmed } from '../../core/values/text.ts';
import { refuseGuessablePassword } from '../users/password-rules.ts';
import { type GuessLimit, hashPassword, passwordMatches } from '../users/passwords.ts';
import * as users from '../users/store.ts';
import { toUser } from '../users/view.ts';
import type { AccessTokens } from './access-tokens.ts';
import type { IdentityProviders } from './identity-providers.ts';
import {
  createInvitedUser,
  createUninvitedUser,
  findSignUpInvitation,
  refuseIfClosed,
} from './registration-commands.ts';
import type { Registration } from './schema.ts';
import { startSession } from './session-commands.ts';

/** The parts that sign-in needs in addition to the context. */
export interface AuthParts {
  tokens: AccessTokens;
  /** Counts wrong passwords: at sign-in for each e-mail address, even an unknown one, and at a password change for each user. */
  guesses: Limiter;
  /** `POST /auth/session/refresh` counts its own requests: for each session, or for each IP address if there is no session. */
  limiters: Limiters;
  providers: IdentityProviders;
}

export async function register(context: Context, parts: AuthParts, sent: Registration, requestId: string) {
  const body = withTrimmed(sent, 'firstName', 'lastName');
  const { password, invitation: token, ...newUser } = body;
  const invitation = token === undefined ? undefined : await findSignUpInvitation(context.db, token, newUser);
  if (!invitation) refuseIfClosed(context.config);
  refuseGuessablePassword(password, 'password', newUser, context.config.production);
  const passwordHash = await hashPassword(password);
  return inTransaction(context.db, async (tx) => {
    const user = invitation
      ? await createInvitedUser(tx, invitation.id, { ...newUser, passwordHash }, requestId)
      : await createUninvitedUser(tx, context, { ...newUser, passwordHash }, requestId);
    return startSession(tx, context, parts, user);
  });
}

/** An unknown e-mail, a wrong password and a disabled user get the same answer after the same time. */
export async function login(
  context: Context,
  parts: AuthParts,
  body: { email: string; password: string },
  isBrowser = false,
) {
  const guessKey = hashToken(emailKey(body.email)).toString('base64url');
  const found = await users.findUserByEmail(context.db, body.email);
  const limit = guessLimit(parts, guessKey);
  await limit.check();
  const stored = found?.active ? found.password_hash : null;
  if (!(await passwordMatches(stored, body.password, limit)) || !found) throw wrongPassword();
  await parts.guesses.forget(guessKey);
  return inTransaction(context.db, async (tx) => {
    // While the hash was calculated, another transaction may have changed the password or disabled the user.
    const user = await users.lockUserAgainstChanges(tx, found.id);
    if (!user.active || user.password_hash !== found.password_hash) throw wrongPassword();
    return startSession(tx, context, parts, user, { isBrowser });
  });
}

export async function changePassword(
  context: Context,
  parts: Pick<AuthParts, 'guesses'>,
  actor: Actor & { userId: number },
  sessionId: string,
  body: { currentPassword: string; newPassword: string },
): Promise<void> {
  const user = await users.getUser(context.db, actor.userId);
  // Sign-in counts with another key, so that strangers who guess passwords at sign-in cannot block a password change.
  const guessKey = `password of user ${actor.userId}`;
  const limit = guessLimit(parts, guessKey);
  await limit.check();
  if (!(await passwordMatches(user.password_hash, body.currentPassword, limit))) {
    throw wrongCurrentPassword();
  }
  await parts.guesses.forget(guessKey);
  refuseGuessablePassword(body.newPassword, 'newPassword', toUser(user), context.config.production);
  const passwordHash = await hashPassword(body.newPassword);
  await inTransaction(context.db, async (tx) => {
    const locked = await users.lockUser(tx, user.id);
    if (locked?.password_hash !== user.password_hash) throw wrongCurrentPassword(); // The password was changed in the meantime.
    await users.updateUser(tx, user.id, { passwordHash });
    await users.revokeSessionsOf(tx, user.id, sessionId);
    await audit(tx, actor, {
      action: 'user.password',
      resource: 'user',
      resourceId: user.id,
      after: {},
      event: event('user.password_changed', {}),
    });
  });
}

/**
 * Only wrong guesses count. An instance verifies up to two guesses at the same time. Both can pass `check` before the first one is
 * counted, so a few more guesses than the limit can be verified.
 */
function guessLimit({ guesses }: Pick<AuthParts, 'guesses'>, key: string): GuessLimit {
  return { check: () => guesses.check(key), countWrongGuess: () => guesses.count(key) };
}

function wrongPassword(): AppError {
  return new AppError('AUTH_FAILED', 'The e-mail or the password is wrong.');
}

function wrongCurrentPassword(): AppError {
  return new AppError('AUTH_FAILED', 'The current password is wrong.');
}
