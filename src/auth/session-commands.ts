import { randomUUID } from 'node:crypto';
import { type Actor, type Context, SYSTEM } from '../core/context.ts';
import type { Tx } from '../core/database/db.ts';
import { inTransaction } from '../core/database/transactions.ts';
import type { Log } from '../core/log.ts';
import { hashToken, newToken } from '../core/values/secret.ts';
import { event } from '../events/change-rules.ts';
import { audit } from '../events/change-store.ts';
import * as users from '../users/store.ts';
import { type AccessTokens, unauthorized } from './access.ts';
import * as store from './store.ts';

interface TokenParts {
  tokens: AccessTokens;
}

/** The last step of every way to sign in: creates a session and its first tokens. */
export async function startSession(tx: Tx, context: Context, parts: TokenParts, user: users.UserRow) {
  const id = randomUUID();
  await store.insertSession(tx, { id, userId: user.id, expiresAt: refreshExpiry(context) });
  return issueTokens(tx, context, parts, user, id);
}

/** Exchanges a refresh token for new tokens. If a token is used twice, it was copied, so its session ends. */
export async function refreshSession(
  context: Context,
  parts: TokenParts,
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
      const reason = token.used_at ? 'a refresh token was used twice' : 'the user is disabled';
      const ended = await revoke(tx, { ...SYSTEM, requestId }, user.id, token.session_id, reason);
      if (ended) log.warn({ userId: user.id, sessionId: token.session_id }, `Session ended: ${reason}.`);
      return undefined;
    }
    await store.markRefreshTokenUsed(tx, hash);
    return issueTokens(tx, context, parts, user, token.session_id);
  });
  if (!result) throw unauthorized('The refresh token is not valid any more. Sign in again.');
  return result;
}

export async function endSession(
  context: Context,
  actor: Actor & { userId: number },
  sessionId: string,
): Promise<void> {
  await inTransaction(context.db, (tx) => revoke(tx, actor, actor.userId, sessionId, 'signed out'));
}

async function issueTokens(
  tx: Tx,
  context: Context,
  { tokens }: TokenParts,
  user: users.UserRow,
  sessionId: string,
) {
  const { token, hash } = newToken();
  const expiresAt = refreshExpiry(context);
  await store.insertRefreshToken(tx, { hash, sessionId, expiresAt });
  await store.extendSession(tx, sessionId, expiresAt);
  const accessToken = await tokens.issue({ userId: user.id, sessionId });
  return { accessToken, refreshToken: token, expiresIn: context.config.ACCESS_TOKEN_TTL, user };
}

function refreshExpiry({ config }: Context): Date {
  return new Date(Date.now() + config.REFRESH_TOKEN_TTL_DAYS * 86_400_000);
}

/** @returns false when the session had already ended. */
async function revoke(
  tx: Tx,
  actor: Actor,
  userId: number,
  sessionId: string,
  reason: string,
): Promise<boolean> {
  if (!(await store.revokeSession(tx, sessionId))) return false;
  const entry = { action: 'session.end', resource: 'user', resourceId: userId } as const;
  await audit(tx, actor, { ...entry, after: { sessionId, reason }, event: event('session.ended', {}) });
  return true;
}
