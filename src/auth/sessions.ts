import { randomUUID } from 'node:crypto';
import type { Context } from '../core/context.ts';
import type { Tx } from '../core/database/db.ts';
import { newToken } from '../core/values/secret.ts';
import type { UserRow } from '../users/store.ts';
import * as store from './store.ts';
import type { AccessTokens } from './tokens.ts';

/** Every way of signing in ends here: a new session and its first tokens. */
export async function startSession(
  tx: Tx,
  context: Context,
  { tokens }: { tokens: AccessTokens },
  user: UserRow,
) {
  const id = randomUUID();
  await store.insertSession(tx, { id, userId: user.id, expiresAt: refreshExpiry(context) });
  return issueTokens(tx, context, { tokens }, user, id);
}

export async function issueTokens(
  tx: Tx,
  context: Context,
  { tokens }: { tokens: AccessTokens },
  user: UserRow,
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
