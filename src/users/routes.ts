import type { Api } from '../core/api.ts';
import type { Context } from '../core/context.ts';
import { Envelope, ListEnvelope, ok, okList } from '../core/envelope.ts';
import { notFound } from '../core/errors.ts';
import { IdParams } from '../core/fields.ts';
import { actorOf } from '../core/gate.ts';
import { repeatable } from '../core/idempotency.ts';
import { changeUser, createUser } from './commands.ts';
import { NewUserBody, User, UserChanges, userList } from './schema.ts';
import { findUser, listUsers, toUser } from './store.ts';

export function userRoutes(api: Api, context: Context): void {
  api.get(
    '/users',
    {
      config: { access: 'users:administer' },
      schema: {
        tags: ['Users'],
        summary: 'List users',
        querystring: userList.query,
        response: { 200: ListEnvelope(User, 'Users found.') },
      },
    },
    async (request) =>
      okList(await listUsers(context.db, userList.read(request.query, context)), 'Users found.'),
  );

  api.post(
    '/users',
    {
      config: { access: 'users:administer', errors: ['NOT_FOUND', 'DUPLICATE_ENTRY'], repeatable: true },
      schema: {
        tags: ['Users'],
        summary: 'Create a user',
        body: NewUserBody,
        response: { 201: Envelope(User, 'User created.') },
      },
    },
    (request, reply) =>
      repeatable(context, request, reply, async (once) => {
        const user = await createUser(once, actorOf(request), request.body);
        reply.status(201);
        return ok(user, 'User created.');
      }),
  );

  api.get(
    '/users/:id',
    {
      config: { access: 'users:administer', errors: ['NOT_FOUND'] },
      schema: {
        tags: ['Users'],
        summary: 'One user',
        params: IdParams,
        response: { 200: Envelope(User, 'User found.') },
      },
    },
    async (request) => {
      const user = await findUser(context.db, request.params.id);
      if (!user) throw notFound('user', request.params.id);
      return ok(toUser(user), 'User found.');
    },
  );

  api.put(
    '/users/:id',
    {
      config: { access: 'users:administer', errors: ['NOT_FOUND'] },
      schema: {
        tags: ['Users'],
        summary: 'Change the fields sent',
        description:
          'A new password and `active: false` end all sessions of the user, a new role holds in them, within ' +
          '5 seconds. The last active admin can be neither disabled nor given another role.',
        params: IdParams,
        body: UserChanges,
        response: { 200: Envelope(User, 'User changed.') },
      },
    },
    async (request) =>
      ok(await changeUser(context, actorOf(request), request.params.id, request.body), 'User changed.'),
  );
}
