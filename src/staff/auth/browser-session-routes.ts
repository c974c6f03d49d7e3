import { Type } from 'typebox';
import type { Context } from '../../core/context.ts';
import { clientKey } from '../../core/http/addresses.ts';
import type { Api } from '../../core/http/api.ts';
import { Envelope, examplesOf, ok } from '../../core/http/envelope.ts';
import { Id } from '../../core/http/fields.ts';
import { announceLimit } from '../../core/http/rate-limit.ts';
import type { SessionReader } from './access-tokens.ts';
import { publicAddress, readSessionCookie, requireSameOrigin, setSessionCookie } from './browser-cookies.ts';
import { type AuthParts, login } from './commands.ts';
import { BODY_LIMIT_BYTES, BrowserSession, LoginBody, NobodySignedIn, SignedOut } from './schema.ts';
import { endBrowserSession, refreshBrowserSession } from './session-commands.ts';
import { toBrowserSession } from './view.ts';

const FOR_PAGES =
  'For pages of this service only: a request from another origin (`Sec-Fetch-Site`, `Origin`) gets FORBIDDEN. Other clients use ';

const PageUser = Type.Object({
  userId: Type.Optional({ ...Id, description: 'The user whom the page shows.' }),
});

/** Sessions whose refresh token is in a cookie that scripts cannot read. */
export function browserSessionRoutes(
  api: Api,
  context: Context,
  { parts, sessions }: { parts: AuthParts; sessions: SessionReader },
): void {
  api.post(
    '/auth/session',
    {
      bodyLimit: BODY_LIMIT_BYTES,
      config: { access: 'public', rate: 'auth', budget: 'login', errors: ['AUTH_FAILED', 'FORBIDDEN'] },
      schema: {
        tags: ['Authentication'],
        operationId: 'startBrowserSession',
        summary: 'Sign in with a session cookie',
        description:
          `The refresh token is in a cookie that scripts cannot read, and not in the answer. ${FOR_PAGES}` +
          '`POST /api/auth/login`.',
        body: LoginBody,
        response: { 200: Envelope(BrowserSession, 'Signed in.') },
      },
    },
    async (request, reply) => {
      requireSameOrigin(request, context);
      const { refreshToken, ...signedIn } = await login(context, parts, request.body, true);
      setSessionCookie(request, reply, context, refreshToken);
      return ok(toBrowserSession(signedIn), 'Signed in.');
    },
  );

  api.post(
    '/auth/session/refresh',
    {
      bodyLimit: BODY_LIMIT_BYTES,
      config: { access: 'public', rate: 'session', errors: ['FORBIDDEN', 'DUPLICATE_ENTRY'] },
      schema: {
        tags: ['Authentication'],
        operationId: 'refreshBrowserSession',
        summary: 'Renew the session of the cookie',
        description:
          'Returns the signed-in user and a new access token, and replaces the cookie. If nobody is signed in, `user` is null. ' +
          'A cookie works once. Using it again within ten seconds returns the newest cookie. Using it again later ends the ' +
          `session. A page names its user in \`userId\`: if the cookie belongs to another user, who has signed in in another tab, ` +
          `the answer is VALIDATION_ERROR with status 409, and the cookie stays as it is. ${FOR_PAGES}\`POST /api/auth/refresh\`.`,
        querystring: PageUser,
        response: {
          200: Envelope(
            Type.Union([BrowserSession, NobodySignedIn], {
              examples: [...examplesOf(BrowserSession), { user: null }],
            }),
            'Session renewed.',
          ),
        },
      },
    },
    async (request, reply) => {
      requireSameOrigin(request, context);
      const token = readSessionCookie(request, context);
      const { general, pages } = parts.limiters;
      // Many people can share one address. So a call with a session counts for its session, and only a call without a session
      // counts for the address.
      const addressKey = `refreshes ${clientKey(request.ip)}`;
      await pages?.check(addressKey);
      const caller = {
        log: request.log,
        requestId: request.id,
        ...request.query,
        async countExchange(id: string) {
          const state = await general?.count(`session ${id}`);
          if (state) announceLimit(reply, 'general', state);
        },
      };
      const renewed =
        token === undefined ? undefined : await refreshBrowserSession(context, parts, token, caller);
      if (!renewed) {
        const state = await pages?.count(addressKey);
        if (state) announceLimit(reply, 'pages', state);
        if (token !== undefined) setSessionCookie(request, reply, context, null);
        return ok({ user: null }, 'Nobody is signed in.');
      }
      const { refreshToken, ...signedIn } = renewed;
      setSessionCookie(request, reply, context, refreshToken);
      return ok(toBrowserSession(signedIn), 'Session renewed.');
    },
  );

  api.delete(
    '/auth/session',
    {
      config: { access: 'public', errors: ['FORBIDDEN', 'DUPLICATE_ENTRY'] },
      schema: {
        tags: ['Authentication'],
        operationId: 'endBrowserSession',
        summary: 'End the session of the cookie',
        description:
          'Deletes the cookie. A page names its user in `userId`: if the cookie belongs to another user, the answer is ' +
          'VALIDATION_ERROR with status 409, and the session continues. If the session began at an identity provider, the person ' +
          'is still signed in there. `providerSignOut` then has the address that ends this, if the provider has one. After ' +
          `opening it, the browser returns to the console. ${FOR_PAGES}\`POST /api/auth/logout\`.`,
        querystring: PageUser,
        response: { 200: Envelope(SignedOut, 'Signed out.') },
      },
    },
    async (request, reply) => {
      requireSameOrigin(request, context);
      const token = readSessionCookie(request, context);
      const ended =
        token === undefined
          ? undefined
          : await endBrowserSession(context, token, request.id, request.query.userId);
      if (ended) sessions.forget(ended.sessionId);
      setSessionCookie(request, reply, context, null);
      const provider = context.config.identityProviders.get(ended?.identityProvider ?? '');
      const { href } = publicAddress(request, context);
      const url = provider && (await parts.providers.signOutUrl(provider, `${href}/`));
      const providerSignOut = url ? { provider: provider.name, url: url.href } : null;
      return ok({ providerSignOut }, 'Signed out.');
    },
  );
}
