import { Type } from 'typebox';
import type { Api } from '../core/api.ts';
import type { Context } from '../core/context.ts';
import { Envelope, ok } from '../core/envelope.ts';
import { actorOf } from '../core/gate.ts';
import * as commands from './commands.ts';
import type { SessionReader } from './identify.ts';
import { LoginBody, PasswordBody, RefreshBody, RegisterBody, SignedIn, User } from './schema.ts';
import { getUser, revokeSession, type UserRow } from './store.ts';

interface AuthOptions {
  parts: commands.AuthParts;
  sessions: SessionReader;
}

export function authRoutes(api: Api, context: Context, { parts, sessions }: AuthOptions): void {
  api.post(
    '/auth/register',
    {
      config: { access: 'public', rate: 'auth', budget: 'register', errors: [403, 409] },
      schema: {
        tags: ['Authentication'],
        summary: 'Register a user and sign in',
        description: 'The first user of a new service becomes its admin.',
        body: RegisterBody,
        response: { 201: Envelope(SignedIn) },
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
      config: { access: 'public', rate: 'auth', budget: 'login', errors: [401] },
      schema: {
        tags: ['Authentication'],
        summary: 'Sign in with e-mail and password',
        body: LoginBody,
        response: { 200: Envelope(SignedIn) },
      },
    },
    async (request) => ok(toSignedIn(await commands.login(context, parts, request.body)), 'Signed in.'),
  );

  api.post(
    '/auth/refresh',
    {
      config: { access: 'public', errors: [401] },
      schema: {
        tags: ['Authentication'],
        summary: 'Exchange a refresh token for new tokens',
        description: 'A refresh token works once; using one again ends the session.',
        body: RefreshBody,
        response: { 200: Envelope(SignedIn) },
      },
    },
    async (request) =>
      ok(toSignedIn(await commands.refresh(context, parts, request.body.refreshToken)), 'Tokens renewed.'),
  );

  api.post(
    '/auth/logout',
    {
      config: { access: 'signed-in' },
      schema: {
        tags: ['Authentication'],
        summary: 'End this session',
        response: { 200: Envelope(Type.Object({})) },
      },
    },
    async (request) => {
      const sessionId = await sessions.sessionIdOf(request);
      await revokeSession(context.db, sessionId);
      sessions.forget(sessionId);
      return ok({}, 'Signed out.');
    },
  );

  api.get(
    '/auth/me',
    {
      config: { access: 'signed-in' },
      schema: { tags: ['Authentication'], summary: 'The signed-in user', response: { 200: Envelope(User) } },
    },
    async (request) => ok(toUser(await getUser(context.db, userIdOf(request))), 'User found.'),
  );

  api.put(
    '/auth/password',
    {
      config: { access: 'signed-in', rate: 'auth', budget: 'password' },
      schema: {
        tags: ['Authentication'],
        summary: 'Change the own password',
        description: 'Ends all other sessions of the user. A wrong current password is AUTH_FAILED.',
        body: PasswordBody,
        response: { 200: Envelope(Type.Object({})) },
      },
    },
    async (request) => {
      const actor = { ...actorOf(request), userId: userIdOf(request) };
      await commands.changePassword(context, actor, await sessions.sessionIdOf(request), request.body);
      return ok({}, 'Password changed.');
    },
  );
}

function userIdOf(request: Parameters<typeof actorOf>[0]): number {
  const { userId } = actorOf(request);
  if (userId === null) throw new Error('A signed-in actor is a user.');
  return userId;
}

function toSignedIn({
  accessToken,
  refreshToken,
  expiresIn,
  user,
}: Awaited<ReturnType<typeof commands.login>>) {
  return { accessToken, refreshToken, tokenType: 'Bearer' as const, expiresIn, user: toUser(user) };
}

export function toUser(row: UserRow) {
  return {
    id: row.id,
    email: row.email,
    firstName: row.first_name,
    lastName: row.last_name,
    role: row.role,
    active: row.active,
    employeeId: row.employee_id,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  };
}
