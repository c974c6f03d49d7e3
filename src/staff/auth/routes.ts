import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { Actor, Context } from '../../core/context.ts';
import { actorOf } from '../../core/http/access.ts';
import type { Api } from '../../core/http/api.ts';
import { Envelope, Nothing, ok } from '../../core/http/envelope.ts';
import { knownError } from '../../core/http/server.ts';
import { getUser } from '../users/store.ts';
import type { SessionReader } from './access-tokens.ts';
import {
  isForConsole,
  newSignInSecret,
  publicAddress,
  readSignInCookie,
  setSessionCookie,
  setSignInCookie,
} from './browser-cookies.ts';
import * as commands from './commands.ts';
import {
  finishProviderSignIn,
  getIdentityProvider,
  SIGN_IN_SECONDS,
  startProviderSignIn,
} from './identity-provider-commands.ts';
import {
  BODY_LIMIT_BYTES,
  CallbackQuery,
  LoginBody,
  PasswordBody,
  ProviderParams,
  RefreshBody,
  RegisterBody,
  SignedIn,
  SignedInUser,
  SignInQuery,
} from './schema.ts';
import { endSession, refreshSession } from './session-commands.ts';
import { toSignedIn, toSignedInUser } from './view.ts';

interface AuthOptions {
  parts: commands.AuthParts;
  sessions: SessionReader;
}

export function authRoutes(api: Api, context: Context, { parts, sessions }: AuthOptions): void {
  api.post(
    '/auth/register',
    {
      bodyLimit: BODY_LIMIT_BYTES,
      config: {
        access: 'public',
        rate: 'auth',
        budget: 'register',
        errors: ['FORBIDDEN', 'DUPLICATE_ENTRY'],
      },
      schema: {
        tags: ['Authentication'],
        operationId: 'registerUser',
        summary: 'Register a user and sign in',
        description:
          'Outside production, a person who registers while there is no admin becomes the admin. An `invitation` sets the role, and is required when registration is closed.',
        body: RegisterBody,
        response: { 201: Envelope(SignedIn, 'Registered.') },
      },
    },
    async (request, reply) => {
      const signedIn = await commands.register(context, parts, request.body, request.id);
      return reply.status(201).send(ok(toSignedIn(signedIn), 'Registered.'));
    },
  );

  api.post(
    '/auth/login',
    {
      bodyLimit: BODY_LIMIT_BYTES,
      config: { access: 'public', rate: 'auth', budget: 'login', errors: ['AUTH_FAILED'] },
      schema: {
        tags: ['Authentication'],
        operationId: 'signIn',
        summary: 'Sign in with e-mail and password',
        body: LoginBody,
        response: { 200: Envelope(SignedIn, 'Signed in.') },
      },
    },
    async (request) => ok(toSignedIn(await commands.login(context, parts, request.body)), 'Signed in.'),
  );

  api.post(
    '/auth/refresh',
    {
      bodyLimit: BODY_LIMIT_BYTES,
      config: { access: 'public', errors: ['UNAUTHORIZED'] },
      schema: {
        tags: ['Authentication'],
        operationId: 'refreshTokens',
        summary: 'Exchange a refresh token for new tokens',
        description: 'A refresh token works once. Using it again ends the session.',
        body: RefreshBody,
        response: { 200: Envelope(SignedIn, 'Tokens renewed.') },
      },
    },
    async (request) => {
      const from = { log: request.log, requestId: request.id };
      const signedIn = await refreshSession(context, parts, request.body.refreshToken, from);
      return ok(toSignedIn(signedIn), 'Tokens renewed.');
    },
  );

  api.post(
    '/auth/logout',
    {
      config: { access: 'signed-in' },
      schema: {
        tags: ['Authentication'],
        operationId: 'signOut',
        summary: 'End this session',
        response: { 200: Envelope(Nothing, 'Signed out.') },
      },
    },
    async (request) => {
      const sessionId = await sessions.sessionIdOf(request);
      await endSession(context, userOf(request), sessionId);
      sessions.forget(sessionId);
      return ok({}, 'Signed out.');
    },
  );

  api.get(
    '/auth/me',
    {
      config: { access: 'signed-in' },
      schema: {
        tags: ['Authentication'],
        operationId: 'getSignedInUser',
        summary: 'Get the signed-in user and permissions',
        response: { 200: Envelope(SignedInUser, 'User found.') },
      },
    },
    async (request) => ok(toSignedInUser(await getUser(context.db, userOf(request).userId)), 'User found.'),
  );

  api.put(
    '/auth/password',
    {
      config: { access: 'signed-in', rate: 'auth', budget: 'password', errors: ['AUTH_FAILED'] },
      schema: {
        tags: ['Authentication'],
        operationId: 'changePassword',
        summary: 'Change your own password',
        description: 'Ends all other sessions of the user. A wrong current password gets AUTH_FAILED.',
        body: PasswordBody,
        response: { 200: Envelope(Nothing, 'Password changed.') },
      },
    },
    async (request) => {
      const sessionId = await sessions.sessionIdOf(request);
      await commands.changePassword(context, parts, userOf(request), sessionId, request.body);
      return ok({}, 'Password changed.');
    },
  );

  // The router tries the fixed paths above before this parameter. HEAD is not served: it would start or use up a sign-in.
  api.get(
    '/auth/:provider',
    {
      exposeHeadRoute: false,
      config: { access: 'public', rate: 'auth', budget: 'provider', errors: ['NOT_FOUND'] },
      schema: {
        tags: ['Authentication'],
        operationId: 'startProviderSignIn',
        summary: 'Sign in through an identity provider',
        description:
          'Redirects the browser to the provider (OpenID Connect). The provider redirects the browser to ' +
          '`/api/auth/{provider}/callback`. The settings `OAUTH_<NAME>_…` define the providers.',
        params: ProviderParams,
        querystring: SignInQuery,
        response: { 302: Type.Null({ description: 'Redirect to the provider.' }) },
      },
    },
    async (request, reply) => {
      const { mode, invitation } = request.query;
      const provider = getIdentityProvider(context, request.params.provider);
      const { href, path, isSecure } = publicAddress(request, context);
      const redirectUri = `${href}/api/auth/${provider.name}/callback`;
      const browserSecret = newSignInSecret(mode === 'browser');
      const start = { redirectUri, browserSecret, invitation };
      try {
        const location = await startProviderSignIn(context, parts, provider, start);
        setSignInCookie(reply, browserSecret, { isSecure, maxAge: SIGN_IN_SECONDS });
        return reply.redirect(location.href);
      } catch (error) {
        const forConsole = mode === 'browser';
        return redirectAfterFailure(error, request, reply, { forConsole, home: `${path}/` });
      }
    },
  );

  api.get(
    '/auth/:provider/callback',
    {
      exposeHeadRoute: false,
      config: { access: 'public', errors: ['AUTH_FAILED', 'FORBIDDEN', 'NOT_FOUND', 'DUPLICATE_ENTRY'] },
      schema: {
        tags: ['Authentication'],
        operationId: 'finishProviderSignIn',
        summary: 'Receive the answer of an identity provider',
        description:
          'Returns the same as a sign-in with a password. A new identity becomes a user if registration is open, if the ' +
          'sign-in has an invitation, or if the verified e-mail is in one of `OAUTH_<NAME>_DOMAINS`. If another user has the ' +
          'e-mail, the error is DUPLICATE_ENTRY.',
        params: ProviderParams,
        querystring: CallbackQuery,
        response: {
          200: Envelope(SignedIn, 'Signed in.'),
          302: Type.Null({ description: 'Redirect to the console, if it started the sign-in.' }),
        },
      },
    },
    async (request, reply) => {
      const provider = getIdentityProvider(context, request.params.provider);
      const { path, isSecure } = publicAddress(request, context);
      const browserSecret = readSignInCookie(request, isSecure);
      const callback = {
        state: request.query.state,
        browserSecret,
        query: new URL(request.url, 'http://localhost').search,
      };
      const forConsole = isForConsole(browserSecret);
      try {
        const signedIn = await finishProviderSignIn(context, parts, provider, callback, request.id);
        setSignInCookie(reply, '', { isSecure, maxAge: 0 });
        if (!forConsole) return ok(toSignedIn(signedIn), 'Signed in.');
        setSessionCookie(request, reply, context, signedIn.refreshToken);
        return reply.redirect(`${path}/`);
      } catch (error) {
        return redirectAfterFailure(error, request, reply, { forConsole, home: `${path}/` });
      }
    },
  );
}

/**
 * Redirects to the console with the code of the error.
 * @throws the error if the console did not start the sign-in, or if the error is unexpected.
 */
function redirectAfterFailure(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  { forConsole, home }: { forConsole: boolean; home: string },
): FastifyReply {
  const known = knownError(error);
  if (!forConsole || !known) throw error;
  request.log.warn({ err: known.cause ?? known }, 'sign-in through a provider failed');
  return reply.redirect(`${home}?signInError=${known.code}`);
}

function userOf(request: FastifyRequest): Actor & { userId: number } {
  const { userId, ...actor } = actorOf(request);
  if (userId === null) throw new Error('The signed-in actor has no user id.');
  return { ...actor, userId };
}
