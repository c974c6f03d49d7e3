import type { FastifyRequest } from 'fastify';
import { errors, jwtVerify, SignJWT } from 'jose';
import { LRUCache } from 'lru-cache';
import type { Actor, Context } from '../core/context.ts';
import type { Identify } from '../core/http/access.ts';
import { AppError } from '../core/http/errors.ts';
import { findLiveSession, type SessionUser } from './store.ts';

const ISSUER = 'account-management-service';
const AUDIENCE = 'account-management-service-api';
const HEADER_TYPE = 'at+jwt';
const MAX_TOKEN_LENGTH = 2_048;
const MAX_CACHED_TOKENS = 10_000;
const MAX_CACHED_SESSIONS = 10_000;
/** An instance reads a session again after this time, so that a sign-out takes effect everywhere. */
const SESSION_CACHE_MS = 3_000;

interface AccessClaims {
  userId: number;
  sessionId: string;
}

export interface AccessTokens {
  issue(claims: AccessClaims): Promise<string>;
  /**
   * Checks the signature and the expiry, not the session.
   * @throws AppError UNAUTHORIZED
   */
  verify(token: string): Promise<AccessClaims>;
}

/** Access tokens are JWTs with HS256 only. They expire by real time, not by the business clock. */
export function createAccessTokens(secret: string, ttlSeconds: number): AccessTokens {
  const key = new TextEncoder().encode(secret);
  const verified = new LRUCache<string, AccessClaims & { expiresAtMs: number }>({ max: MAX_CACHED_TOKENS });

  return {
    issue: ({ userId, sessionId }) =>
      new SignJWT({ sid: sessionId, typ: 'access' })
        .setProtectedHeader({ alg: 'HS256', typ: HEADER_TYPE })
        .setIssuer(ISSUER)
        .setAudience(AUDIENCE)
        .setSubject(String(userId))
        .setIssuedAt()
        .setExpirationTime(`${ttlSeconds}s`)
        .sign(key),

    async verify(token) {
      const known = verified.get(token);
      if (known && known.expiresAtMs > Date.now()) return known;
      if (token.length > MAX_TOKEN_LENGTH) throw unauthorized('The access token is not valid.');
      const claims = await verifySignature(token, key);
      verified.set(token, claims);
      return claims;
    },
  };
}

export interface SessionReader {
  /** Finds the user of the request's session. Rights come from the user, never from the token. */
  identify: Identify;
  /** Returns the session of the request's token without checking that it is live. */
  sessionIdOf(request: FastifyRequest): Promise<string>;
  /** Removes a session from the cache of this instance. */
  forget(sessionId: string): void;
}

export function createSessionReader({ db }: Pick<Context, 'db'>, tokens: AccessTokens): SessionReader {
  const sessions = new LRUCache<string, SessionUser>({ max: MAX_CACHED_SESSIONS, ttl: SESSION_CACHE_MS });

  async function identify(request: FastifyRequest): Promise<Actor> {
    const { userId, sessionId } = await tokens.verify(bearerToken(request));
    const seen = sessions.get(sessionId);
    const known = seen?.id === userId ? seen : undefined;
    const user = known ?? (await findLiveSession(db, sessionId, userId, new Date()));
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

export function unauthorized(message: string): AppError {
  return new AppError('UNAUTHORIZED', message);
}

function bearerToken(request: FastifyRequest): string {
  const [scheme, token, ...rest] = (request.headers.authorization ?? '').split(' ');
  if (scheme?.toLowerCase() !== 'bearer' || !token || rest.length > 0) {
    throw unauthorized('Send the header "Authorization: Bearer <access token>".');
  }
  return token;
}

async function verifySignature(token: string, key: Uint8Array) {
  try {
    const { payload } = await jwtVerify(token, key, {
      algorithms: ['HS256'],
      issuer: ISSUER,
      audience: AUDIENCE,
      typ: HEADER_TYPE,
      requiredClaims: ['exp', 'iat', 'sub', 'sid', 'typ'],
    });
    const userId = Number(payload.sub);
    const { sid: sessionId, typ, exp = 0 } = payload;
    if (typ !== 'access' || !isUuid(sessionId) || !Number.isSafeInteger(userId)) {
      throw unauthorized('The access token is not valid.');
    }
    return { userId, sessionId, expiresAtMs: exp * 1000 };
  } catch (error) {
    if (error instanceof errors.JWTExpired) throw unauthorized('The access token has expired.');
    if (error instanceof errors.JOSEError) throw unauthorized('The access token is not valid.');
    throw error;
  }
}

function isUuid(value: unknown): value is string {
  return typeof value === 'string' && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value);
}
