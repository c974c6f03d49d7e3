import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { Actor, Context } from '../core/context.ts';
import { actorOf } from '../core/http/access.ts';
import type { Api } from '../core/http/api.ts';
import { Envelope, Nothing, ok } from '../core/http/envelope.ts';
import { invalidField } from '../core/http/errors.ts';
import { User } from '../users/schema.ts';
import { getUser, toUser } from '../users/store.ts';
import { browserSecretOf, clearSignInCookie, setSignInCookie } from './browser-cookie.ts';
import * as commands from './commands.ts';
import type { SessionReader } from './identify.ts';
import { finishIdentitySignIn, getIdentityProvider, startIdentitySignIn } from './identity.ts';
import {
  CallbackQuery,
  LoginBody,
  PasswordBody,
  ProviderParams,
  RefreshBody,
  RegisterBody,
  SignedIn,
  SignInQuery,
} from './schema.ts';

/** Anyone may send these bodies, and none of them is longer. */
const BODY_LIMIT_BYTES = 16 * 1024;

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
          'The first user of a new service becomes its admin. An `invitation` decides the role, and is needed where registration is closed.',
        body: RegisterBody,
        response: { 201: Envelope(SignedIn(User), 'Registered.') },
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
        response: { 200: Envelope(SignedIn(User), 'Signed in.') },
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
        description: 'A refresh token works once; using one again ends the session.',
        body: RefreshBody,
        response: { 200: Envelope(SignedIn(User), 'Tokens renewed.') },
      },
    },
    async (request) => {
      const from = { log: request.log, requestId: request.id };
      const signedIn = await commands.refresh(context, parts, request.body.refreshToken, from);
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
      await commands.endSession(context, userOf(request), sessionId);
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
        summary: 'Get the signed-in user',
        response: { 200: Envelope(User, 'User found.') },
      },
    },
    async (request) => ok(toUser(await getUser(context.db, userOf(request).userId)), 'User found.'),
  );

  api.put(
    '/auth/password',
    {
      config: { access: 'signed-in', rate: 'auth', budget: 'password', errors: ['AUTH_FAILED'] },
      schema: {
        tags: ['Authentication'],
        operationId: 'changePassword',
        summary: 'Change your own password',
        description: 'Ends all other sessions of the user. A wrong current password is AUTH_FAILED.',
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

  // The router prefers the addresses above to a parameter. A HEAD would begin or use up a sign-in, too.
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
          'Sends the browser to the provider (OpenID Connect), which sends it back to ' +
          '`/api/auth/{provider}/callback`. Providers come from the settings `OAUTH_<NAME>_…`.',
        params: ProviderParams,
        querystring: SignInQuery,
        response: { 302: Type.Null({ description: 'To the provider.' }) },
      },
    },
    async (request, reply) => {
      const provider = getIdentityProvider(context, request.params.provider);
      const base = publicAddress(request, context);
      const redirectUri = `${base.href}/api/auth/${provider.name}/callback`;
      const { location, browserSecret } = await startIdentitySignIn(
        context,
        parts,
        provider,
        redirectUri,
        request.query.invitation,
      );
      setSignInCookie(reply, browserSecret, base.secure);
      return reply.redirect(location.href);
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
          'Answers as signing in with a password does. An identity that is new becomes a user where ' +
          'registration is open, or by an invitation or the domain of its e-mail; an e-mail that another user has is DUPLICATE_ENTRY.',
        params: ProviderParams,
        querystring: CallbackQuery,
        response: { 200: Envelope(SignedIn(User), 'Signed in.') },
      },
    },
    async (request, reply) => {
      const provider = getIdentityProvider(context, request.params.provider);
      const { secure } = publicAddress(request, context);
      const callback = {
        state: request.query.state,
        browserSecret: browserSecretOf(request, secure),
        query: new URL(request.url, 'http://localhost').search,
      };
      const signedIn = await finishIdentitySignIn(context, parts, provider, callback, request.id);
      clearSignInCookie(reply, secure);
      return ok(toSignedIn(signedIn), 'Signed in.');
    },
  );
}

/** Where browsers reach this service; without the setting, which production demands, where this one did. */
function publicAddress(request: FastifyRequest, { config }: Context): { href: string; secure: boolean } {
  const href = config.publicUrl ?? `${request.protocol}://${request.host}`;
  if (!URL.canParse(href)) throw invalidField('Host', 'must be the name of this service');
  return { href, secure: href.startsWith('https:') };
}

function userOf(request: FastifyRequest): Actor & { userId: number } {
  const { userId, ...actor } = actorOf(request);
  if (userId === null) throw new Error('A signed-in actor is a user.');
  return { ...actor, userId };
}

function toSignedIn({
  accessToken,
  refreshToken,
  expiresIn,
  user,
}: Awaited<ReturnType<typeof commands.login>>) {
  return { accessToken, refreshToken, tokenType: 'Bearer' as const, expiresIn, user: toUser(user) };
}
