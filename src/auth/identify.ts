import type { FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import type { Actor, Context } from '../core/context.ts';
import type { Identify } from '../core/http/access.ts';
import { findLivingSession } from './store.ts';
import { type AccessTokens, unauthorized } from './tokens.ts';

/** How long an instance believes what it read of a session: sign-out holds everywhere within this. */
const SESSION_CACHE_MS = 3_000;
const CACHED_SESSIONS = 10_000;

type SessionUser = NonNullable<Awaited<ReturnType<typeof findLivingSession>>>;

export interface SessionReader {
  identify: Identify;
  /** The session of the request's token, without asking whether it lives. */
  sessionIdOf(request: FastifyRequest): Promise<string>;
  /** Makes this instance ask the database again. */
  forget(sessionId: string): void;
}

/** Who sends a request: the user of the token's session. Rights come from the user, never from the token. */
export function createSessionReader({ db }: Pick<Context, 'db'>, tokens: AccessTokens): SessionReader {
  const sessions = new LRUCache<string, SessionUser>({ max: CACHED_SESSIONS, ttl: SESSION_CACHE_MS });

  async function identify(request: FastifyRequest): Promise<Actor> {
    const { userId, sessionId } = await tokens.verify(bearerToken(request));
    const seen = sessions.get(sessionId);
    const known = seen?.id === userId ? seen : undefined;
    const user = known ?? (await findLivingSession(db, sessionId, userId, new Date()));
    if (!user) throw unauthorized('The session has ended. Sign in again.');
    if (!known) sessions.set(sessionId, user);
    return {
      userId: user.id,
      name: user.email,
      role: user.role,
      employeeId: user.employee_id,
      requestId: request.id,
    };
  }

  return {
    identify,
    sessionIdOf: async (request) => (await tokens.verify(bearerToken(request))).sessionId,
    forget: (sessionId) => sessions.delete(sessionId),
  };
}

function bearerToken(request: FastifyRequest): string {
  const [scheme, token, ...rest] = (request.headers.authorization ?? '').split(' ');
  if (scheme?.toLowerCase() !== 'bearer' || !token || rest.length > 0) {
    throw unauthorized('Send the header "Authorization: Bearer <access token>".');
  }
  return token;
}
