import { randomBytes } from 'node:crypto';
import { parseCookie, stringifySetCookie } from 'cookie';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Context } from '../../core/context.ts';
import { AppError, invalidField } from '../../core/http/errors.ts';

/** The address of this service for browsers: PUBLIC_URL, or the host of the request if PUBLIC_URL is not set. */
export function publicAddress(
  request: FastifyRequest,
  { config }: Pick<Context, 'config'>,
): { href: string; path: string; isSecure: boolean } {
  const href = config.publicUrl ?? `${request.protocol}://${request.host}`;
  if (!URL.canParse(href)) throw invalidField('Host', 'must be the host name of this service');
  const { pathname, protocol } = new URL(href);
  return { href, path: pathname.replace(/\/$/, ''), isSecure: protocol === 'https:' };
}

/**
 * Refuses a request from a page of another origin. Browsers send Sec-Fetch-Site only over TLS and to localhost. Without this
 * header, Origin must name this service. A request with neither header comes from a program, and is accepted.
 * @throws AppError FORBIDDEN
 */
export function requireSameOrigin(request: FastifyRequest, context: Pick<Context, 'config'>): void {
  const { origin, 'sec-fetch-site': site } = request.headers;
  if (site !== undefined) {
    if (site !== 'same-origin') throw fromElsewhere();
  } else if (origin !== undefined) {
    const hosts = [request.host, new URL(publicAddress(request, context).href).host];
    if (!URL.canParse(origin) || !hosts.includes(new URL(origin).host)) throw fromElsewhere();
  }
}

function fromElsewhere(): AppError {
  return new AppError(
    'FORBIDDEN',
    'Only pages of this service may use its session cookie. Other clients sign in with POST /api/auth/login.',
  );
}

const SIGN_IN = 'ams_sign_in';
const SESSION = 'ams_session';
/** The prefix of the sign-in secret, if the console started the sign-in. The browser then gets a session cookie. */
const CONSOLE_PREFIX = 'console.';

/** A secret for the cookie of one sign-in. A client cannot change the prefix, because the hash of the whole text is stored. */
export function newSignInSecret(isForConsole: boolean): string {
  return `${isForConsole ? CONSOLE_PREFIX : ''}${randomBytes(32).toString('base64url')}`;
}

export function isForConsole(signInSecret: string | undefined): boolean {
  return signInSecret?.startsWith(CONSOLE_PREFIX) === true;
}

/**
 * Binds a sign-in through a provider to the browser that started it, so that an attacker cannot make somebody finish the
 * attacker's sign-in. SameSite is lax, because the provider redirects from another site.
 */
export function setSignInCookie(
  reply: FastifyReply,
  value: string,
  { maxAge, isSecure }: { maxAge: number; isSecure: boolean },
): void {
  const attributes = { path: '/', httpOnly: true, sameSite: 'lax', secure: isSecure, maxAge } as const;
  reply.header('set-cookie', stringifySetCookie(signInCookieName(isSecure), value, attributes));
}

export function readSignInCookie(request: FastifyRequest, isSecure: boolean): string | undefined {
  return readCookie(request, signInCookieName(isSecure));
}

/**
 * Stores the refresh token of a session in a cookie that browsers send only to the session endpoints.
 * @param refreshToken - null deletes the cookie.
 */
export function setSessionCookie(
  request: FastifyRequest,
  reply: FastifyReply,
  context: Pick<Context, 'config'>,
  refreshToken: string | null,
): void {
  const { path, isSecure } = publicAddress(request, context);
  const attributes = {
    path: `${path}${request.server.prefix}/auth/session`,
    httpOnly: true,
    sameSite: 'strict',
    secure: isSecure,
    maxAge: refreshToken === null ? 0 : context.config.REFRESH_TOKEN_TTL_DAYS * 86_400,
  } as const;
  reply.header('set-cookie', stringifySetCookie(sessionCookieName(isSecure), refreshToken ?? '', attributes));
}

export function readSessionCookie(
  request: FastifyRequest,
  context: Pick<Context, 'config'>,
): string | undefined {
  return readCookie(request, sessionCookieName(publicAddress(request, context).isSecure)) || undefined;
}

function readCookie(request: FastifyRequest, name: string): string | undefined {
  return parseCookie(request.headers.cookie ?? '')[name];
}

/** Browsers accept the prefix __Host- only over TLS and for one host, so a neighbouring host cannot set the cookie. */
function signInCookieName(isSecure: boolean): string {
  return isSecure ? `__Host-${SIGN_IN}` : SIGN_IN;
}

/** The prefix __Host- would require the path `/`, but this cookie has a narrower path. */
function sessionCookieName(isSecure: boolean): string {
  return isSecure ? `__Secure-${SESSION}` : SESSION;
}
