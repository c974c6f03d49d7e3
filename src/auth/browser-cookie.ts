import type { FastifyReply, FastifyRequest } from 'fastify';
import { SIGN_IN_SECONDS } from './identity.ts';

/**
 * The cookie that binds a sign-in through a provider to the browser that began it: a callback with
 * somebody else's state is refused. Lax, because the provider's redirect comes from another site.
 */
const NAME = 'ams_sign_in';
/** Browsers take this prefix over TLS only, for one host, so that no neighbouring host can set it. */
const SECURE_NAME = `__Host-${NAME}`;
const ATTRIBUTES = 'Path=/; HttpOnly; SameSite=Lax';

/** @param secure whether the browser reaches this service over TLS. */
export function setSignInCookie(reply: FastifyReply, secret: string, secure: boolean): void {
  reply.header('set-cookie', cookie(secret, SIGN_IN_SECONDS, secure));
}

export function clearSignInCookie(reply: FastifyReply, secure: boolean): void {
  reply.header('set-cookie', cookie('', 0, secure));
}

/** The secret as the browser brought it, not checked in any way. */
export function browserSecretOf(request: FastifyRequest, secure: boolean): string | undefined {
  const cookies = (request.headers.cookie ?? '').split(';').map((pair) => pair.trim().split('='));
  return cookies.find(([name]) => name === nameOf(secure))?.[1];
}

function cookie(value: string, maxAgeSeconds: number, secure: boolean): string {
  return `${nameOf(secure)}=${value}; Max-Age=${maxAgeSeconds}; ${ATTRIBUTES}${secure ? '; Secure' : ''}`;
}

function nameOf(secure: boolean): string {
  return secure ? SECURE_NAME : NAME;
}
