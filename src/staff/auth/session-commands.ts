import { randomUUID } from 'node:crypto';
import { event } from '../../changes/events/change-rules.ts';
import { audit } from '../../changes/events/change-store.ts';
import { type Actor, type Context, SYSTEM } from '../../core/context.ts';
import type { Tx } from '../../core/database/db.ts';
import { inTransaction } from '../../core/database/transactions.ts';
import { AppError } from '../../core/http/errors.ts';
import type { Log } from '../../core/log.ts';
import { deriveToken, hashToken, newToken, type Token } from '../../core/values/secret.ts';
import * as users from '../users/store.ts';
import { type AccessTokens, unauthorized } from './access-tokens.ts';
import * as store from './store.ts';

interface TokenParts {
  tokens: AccessTokens;
}

interface Caller {
  log: Pick<Log, 'warn'>;
  requestId: string;
  /** The user whom the page of the caller shows. Undefined: any user. */
  userId?: number;
  /** Counts an exchange, before the exchange changes anything. Throws if the session has made too many exchanges. */
  countExchange?(sessionId: string): Promise<void>;
}

/** How long a browser can send a used refresh token again. It does this if an answer was lost, or if two tabs send the token. */
const REPEAT_MS = 10_000;

/** The last step of every way to sign in: creates a session and its first tokens. */
export async function startSession(
  tx: Tx,
  context: Context,
  parts: TokenParts,
  user: users.UserRow,
  {
    isBrowser = false,
    identityProvider = null,
  }: { isBrowser?: boolean; identityProvider?: string | null } = {},
) {
  const id = randomUUID();
  const expiresAt = refreshExpiry(context);
  await store.insertSession(tx, { id, userId: user.id, identityProvider, expiresAt });
  const { token, hash } = newToken();
  await addRefreshToken(tx, context, id, hash);
  return signedIn(context, parts, user, { sessionId: id, isBrowser }, token);
}

/** Exchanges a refresh token for new tokens. If a token is used twice, it was copied, so its session ends. */
export async function refreshSession(
  context: Context,
  parts: TokenParts,
  refreshToken: string,
  caller: Caller,
) {
  const result = await exchangeToken(context, parts, refreshToken, newToken(), caller);
  if (!result) throw unauthorized('The refresh token is not valid any more. Sign in again.');
  return result;
}

/**
 * Like `refreshSession`, but the new token is derived from the old one, so that a repeat within REPEAT_MS gets the same new token.
 * If another tab has already exchanged the new token, the repeat gets the newest token of the session.
 *
 * @returns undefined when nobody is signed in.
 * @throws AppError VALIDATION_ERROR with status 409 if the token belongs to another user than `caller.userId`.
 */
export function refreshBrowserSession(
  context: Context,
  parts: TokenParts,
  refreshToken: string,
  caller: Caller & { countExchange(sessionId: string): Promise<void> },
) {
  const successor = successorOf(context, refreshToken);
  return exchangeToken(context, parts, refreshToken, successor, { ...caller, isBrowser: true });
}

function successorOf({ secret }: Context, refreshToken: string): Token {
  return deriveToken(secret, `session ${refreshToken}`);
}

/**
 * Follows a chain of derived tokens to the unused one. Undefined if a token of the chain was exchanged for a random token, which
 * cannot be derived.
 */
async function findUnused(tx: Tx, context: Context, first: Token): Promise<Token | undefined> {
  for (let token = first; ; token = successorOf(context, token.token)) {
    const row = await store.lockRefreshToken(tx, token.hash);
    if (!row || row.used_at === null) return row && token;
  }
}

/** @returns undefined if the token is unknown or expired, or if the session has ended or ends now. */
function exchangeToken(
  context: Context,
  parts: TokenParts,
  refreshToken: string,
  successor: Token,
  { log, requestId, userId, countExchange, isBrowser = false }: Caller & { isBrowser?: boolean },
) {
  const hash = hashToken(refreshToken);
  return inTransaction(context.db, async (tx) => {
    const token = await store.lockRefreshToken(tx, hash);
    const now = new Date().toISOString();
    if (!token || token.revoked_at || token.expires_at <= now || token.session_expires_at <= now)
      return undefined;
    const user = await users.getUser(tx, token.user_id);
    const { session_id: sessionId, used_at: usedAt } = token;
    await countExchange?.(sessionId);
    refuseOtherUser(userId, user.id);
    const mayRepeat = usedAt !== null && Date.now() - Date.parse(usedAt) < REPEAT_MS;
    const repeated = mayRepeat ? await findUnused(tx, context, successor) : undefined;
    if ((usedAt !== null && !repeated) || !user.active) {
      const reason = user.active ? 'a refresh token was used twice' : 'the user is disabled';
      const ended = await revoke(tx, { ...SYSTEM, requestId }, user.id, sessionId, reason);
      if (ended) log.warn({ userId: user.id, sessionId }, `Session ended: ${reason}.`);
      return undefined;
    }
    if (!repeated) {
      await store.markRefreshTokenUsed(tx, hash);
      await addRefreshToken(tx, context, sessionId, successor.hash);
    }
    return signedIn(context, parts, user, { sessionId, isBrowser }, (repeated ?? successor).token);
  });
}

export async function endSession(
  context: Context,
  actor: Actor & { userId: number },
  sessionId: string,
): Promise<void> {
  await inTransaction(context.db, (tx) => revoke(tx, actor, actor.userId, sessionId, 'signed out'));
}

/**
 * @param userIdOfPage - see `Caller.userId`.
 * @returns the session and the name of its identity provider, or undefined if no session has the token.
 * @throws AppError VALIDATION_ERROR with status 409 if the token belongs to another user.
 */
export function endBrowserSession(
  context: Context,
  refreshToken: string,
  requestId: string,
  userIdOfPage: number | undefined,
): Promise<{ sessionId: string; identityProvider: string | null } | undefined> {
  return inTransaction(context.db, async (tx) => {
    const token = await store.lockRefreshToken(tx, hashToken(refreshToken));
    if (!token) return undefined;
    refuseOtherUser(userIdOfPage, token.user_id);
    const { id: userId, email, role, employee_id: employeeId } = await users.getUser(tx, token.user_id);
    const actor = { userId, name: email, role, employeeId, requestId };
    await revoke(tx, actor, userId, token.session_id, 'signed out');
    return { sessionId: token.session_id, identityProvider: token.identity_provider };
  });
}

/** All tabs of a browser share one cookie. A page must neither act as another user nor end the session of another user. */
function refuseOtherUser(expected: number | undefined, actual: number): void {
  if (expected === undefined || expected === actual) return;
  const message = 'must be the user of the session cookie: another user has signed in in this browser';
  throw new AppError('VALIDATION_ERROR', `userId: ${message}`, {
    status: 409,
    details: { fields: [{ path: 'userId', message }] },
  });
}

async function addRefreshToken(tx: Tx, context: Context, sessionId: string, hash: Buffer): Promise<void> {
  const expiresAt = refreshExpiry(context);
  await store.insertRefreshToken(tx, { hash, sessionId, expiresAt });
  await store.extendSession(tx, sessionId, expiresAt);
}

async function signedIn(
  { config }: Context,
  { tokens }: TokenParts,
  user: users.UserRow,
  session: { sessionId: string; isBrowser: boolean },
  refreshToken: string,
) {
  const accessToken = await tokens.issue({ userId: user.id, ...session });
  return { accessToken, refreshToken, expiresIn: config.ACCESS_TOKEN_TTL, user };
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
