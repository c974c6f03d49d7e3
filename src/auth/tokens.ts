import { errors, jwtVerify, SignJWT } from 'jose';
import { LRUCache } from 'lru-cache';
import { AppError } from '../core/http/errors.ts';

const ISSUER = 'account-management-service';
const AUDIENCE = 'account-management-service-api';
const HEADER_TYPE = 'at+jwt';
const MAX_TOKEN_LENGTH = 2_048;
const CACHED_TOKENS = 10_000;

interface AccessClaims {
  userId: number;
  sessionId: string;
}

export interface AccessTokens {
  issue(claims: AccessClaims): Promise<string>;
  /** @throws AppError UNAUTHORIZED; the session still has to be checked. */
  verify(token: string): Promise<AccessClaims>;
}

/** JWT with HS256 only. Signing in is a matter of real time, so the business's clock plays no part. */
export function createAccessTokens(secret: string, ttlSeconds: number): AccessTokens {
  const key = new TextEncoder().encode(secret);
  const verified = new LRUCache<string, AccessClaims & { expiresAtMs: number }>({ max: CACHED_TOKENS });

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

export function unauthorized(message: string): AppError {
  return new AppError('UNAUTHORIZED', message);
}
