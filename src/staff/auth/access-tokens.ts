import type { FastifyRequest } from 'fastify';
import { errors, jwtVerify, SignJWT } from 'jose';
import { LRUCache } from 'lru-cache';
import type { Actor, Context } from '../../core/context.ts';
import type { Identify } from '../../core/http/access.ts';
import { readAddress } from '../../core/http/addresses.ts';
import { AppError } from '../../core/http/errors.ts';
import type { Stopwatch } from '../../core/values/dates.ts';
import { API_KEY_FORMAT, hashToken, isApiKey, isWellFormedApiKey } from '../../core/values/secret.ts';
import type { UseRecorder } from '../api-keys/commands.ts';
import { apiKeyActor, type ParsedKey, parseKey, refusalOfUse } from '../api-keys/rules.ts';
import { findKeyBySecret } from '../api-keys/store.ts';
import { findUserOfLiveSession, type SessionUser } from './store.ts';

const ISSUER = 'account-management-service';
const AUDIENCE = 'account-management-service-api';
const HEADER_TYPE = 'at+jwt';
const MAX_TOKEN_LENGTH = 2_048;
const MAX_CACHED_TOKENS = 10_000;
/** After a session ends or a key is revoked, an instance can accept its cached copy for at most `ttl` milliseconds. */
export const CREDENTIAL_CACHE = { max: 10_000, ttl: 3_000, ttlResolution: 0 }; // 0: without a timer for each read

interface AccessClaims {
  userId: number;
  sessionId: string;
  /** Whether the refresh token of the session is in a cookie. */
  isBrowser: boolean;
}

export interface AccessTokens {
  issue(claims: AccessClaims): Promise<string>;
  /**
   * Checks the signature and the expiry of a token, but not its session.
   * @throws AppError UNAUTHORIZED
   */
  verify(token: string): Promise<AccessClaims>;
}

/** Access tokens are JWTs with HS256 only. They expire by real time, not by the business clock. */
export function createAccessTokens(secret: string, ttlSeconds: number): AccessTokens {
  const key = new TextEncoder().encode(secret);
  const verified = new LRUCache<string, AccessClaims & { expiresAtMs: number }>({ max: MAX_CACHED_TOKENS });

  return {
    issue: ({ userId, sessionId, isBrowser }) =>
      new SignJWT({ sid: sessionId, typ: 'access', ...(isBrowser && { browser: true }) })
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
      if (token.length > MAX_TOKEN_LENGTH) throw unauthorized(NOT_VALID);
      const claims = await verifySignature(token, key);
      verified.set(token, claims);
      return claims;
    },
  };
}

export interface SessionReader {
  /** Finds the user of the session, or the API key. Rights come from the database, never from the token. */
  identify: Identify;
  /** Returns the session of the request's token, without checking that the session is live. */
  sessionIdOf(request: FastifyRequest): Promise<string>;
  /** Removes a session from the cache of this instance. */
  forget(sessionId: string): void;
}

export function createSessionReader(
  { db }: Pick<Context, 'db'>,
  tokens: AccessTokens,
  uses: UseRecorder,
  stopwatch: Stopwatch,
): SessionReader {
  const options = { ...CREDENTIAL_CACHE, perf: stopwatch };
  const sessions = new LRUCache<string, SessionUser>(options);
  const apiKeys = new LRUCache<string, ParsedKey>(options);
  // A separate cache, so that unknown keys do not remove valid keys from the cache.
  const unknownKeys = new LRUCache<string, true>(options);

  async function identify(request: FastifyRequest): Promise<Actor> {
    const token = bearerToken(request);
    return isApiKey(token) ? identifyApiKey(request, token) : identifyUser(request, token);
  }

  async function identifyUser(request: FastifyRequest, token: string): Promise<Actor> {
    const { userId, sessionId, isBrowser } = await tokens.verify(token);
    const seen = sessions.get(sessionId);
    const known = seen?.id === userId ? seen : undefined;
    const user = known ?? (await findUserOfLiveSession(db, sessionId, userId, new Date()));
    if (!user) throw unauthorized('The session has ended. Sign in again.');
    if (!known) sessions.set(sessionId, user);
    return {
      userId: user.id,
      name: user.email,
      role: user.role,
      employeeId: user.employee_id,
      requestId: request.id,
      ...(isBrowser && { isBrowser }),
    };
  }

  async function identifyApiKey(request: FastifyRequest, token: string): Promise<Actor> {
    const key = isWellFormedApiKey(token) ? await findApiKey(hashToken(token)) : undefined;
    if (!key) throw unauthorized(`The API key is not valid. An API key is ${API_KEY_FORMAT}.`);
    const address = readAddress(request.ip) ?? request.ip;
    const refusal = refusalOfUse(key, address, new Date().toISOString());
    if (refusal) throw refusal;
    uses.record(key.id, address);
    return apiKeyActor(key, request.id);
  }

  /** Also caches unknown keys, because a program with a wrong key sends it again and again. */
  async function findApiKey(hash: Buffer): Promise<ParsedKey | undefined> {
    const cacheKey = hash.toString('base64');
    const seen = apiKeys.get(cacheKey);
    if (seen || unknownKeys.has(cacheKey)) return seen;
    const found = await findKeyBySecret(db, hash);
    const key = found && parseKey(found);
    if (key) apiKeys.set(cacheKey, key);
    else unknownKeys.set(cacheKey, true);
    return key;
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
    throw unauthorized('Send the header "Authorization: Bearer <access token or API key>".');
  }
  return token;
}

const NOT_VALID = `The token is neither a valid access token nor an API key. An API key is ${API_KEY_FORMAT}.`;

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
    const { sid: sessionId, typ, exp = 0, browser } = payload;
    if (typ !== 'access' || !isUuid(sessionId) || !Number.isSafeInteger(userId)) {
      throw unauthorized(NOT_VALID);
    }
    return { userId, sessionId, isBrowser: browser === true, expiresAtMs: exp * 1000 };
  } catch (error) {
    if (error instanceof errors.JWTExpired) throw unauthorized('The access token has expired.');
    if (error instanceof errors.JOSEError) throw unauthorized(NOT_VALID);
    throw error;
  }
}

function isUuid(value: unknown): value is string {
  return typeof value === 'string' && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value);
}
