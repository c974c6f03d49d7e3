import type { Context } from '../../core/context.ts';
import type { Tx } from '../../core/database/db.ts';
import { actorOf } from '../../core/http/access.ts';
import type { Api } from '../../core/http/api.ts';
import { Envelope, ListEnvelope, ok, okList } from '../../core/http/envelope.ts';
import { ifUnchanged } from '../../core/http/etags.ts';
import { IdParams } from '../../core/http/fields.ts';
import { answerOnce } from '../../core/http/idempotency.ts';
import { changeUser, createUser } from './commands.ts';
import { invitePerson, inviteUser, revokeInvitation } from './invitation-commands.ts';
import {
  Invitation,
  IssuedInvitation,
  invitationList,
  NewIdentityInvitation,
  NewInvitation,
} from './invitation-schema.ts';
import { getInvitation, listInvitations } from './invitation-store.ts';
import { NewUserBody, User, UserChanges, userList } from './schema.ts';
import { getUser, listUsers, lockAdmins, lockUser, type UserRow } from './store.ts';
import { toUser } from './view.ts';

type LeavingUser = Pick<UserRow, 'id' | 'role' | 'active'>;

/**
 * @param leftBehind - a sentence about what the user still holds for the company, for a warning when the user was
 *   deactivated or got another role. It is passed, because the features that know it import this one.
 */
export function userRoutes(
  api: Api,
  context: Context,
  leftBehind: (user: LeavingUser) => Promise<string | undefined>,
): void {
  api.get(
    '/users',
    {
      config: { access: 'users:administer' },
      schema: {
        tags: ['Users'],
        operationId: 'listUsers',
        summary: 'List users',
        querystring: userList.query,
        response: { 200: ListEnvelope(User, 'Users found.') },
      },
    },
    async (request) => {
      const page = await listUsers(context.db, request.query);
      return okList({ ...page, rows: page.rows.map(toUser) }, 'Users found.');
    },
  );

  api.post(
    '/users',
    {
      config: { access: 'users:administer', errors: ['NOT_FOUND', 'DUPLICATE_ENTRY'], repeatable: true },
      schema: {
        tags: ['Users'],
        operationId: 'createUser',
        summary: 'Create a user',
        body: NewUserBody,
        response: { 201: Envelope(User, 'User created.') },
      },
    },
    (request, reply) =>
      answerOnce(context, request, reply, async (txContext) => {
        const user = await createUser(txContext, actorOf(request), request.body);
        reply.status(201);
        return ok(toUser(user), 'User created.');
      }),
  );

  api.get(
    '/users/:id',
    {
      config: { access: 'users:administer', errors: ['NOT_FOUND'], editable: UserChanges },
      schema: {
        tags: ['Users'],
        operationId: 'getUser',
        summary: 'Get a user',
        params: IdParams,
        response: { 200: Envelope(User, 'User found.') },
      },
    },
    async (request) => ok(toUser(await getUser(context.db, request.params.id)), 'User found.'),
  );

  api.put(
    '/users/:id',
    {
      config: { access: 'users:administer', errors: ['NOT_FOUND'], editable: UserChanges },
      schema: {
        tags: ['Users'],
        operationId: 'updateUser',
        summary: 'Change a user',
        description:
          'A new password or `active: false` ends all sessions of the user within 5 seconds. A new role applies to ' +
          'existing sessions within 5 seconds, too. The last active admin cannot be disabled or get another role. If a user who is ' +
          'deactivated, or whose new role may not count cash, still holds cash, `message` says so.',
        params: IdParams,
        body: UserChanges,
        response: { 200: Envelope(User, 'User changed.') },
      },
    },
    async (request) => {
      const lock = async (tx: Tx, id: number) => {
        await lockAdmins(tx); // Lock admins before the user, as changeUser does.
        const row = await lockUser(tx, id);
        return row && toUser(row);
      };
      const user = await ifUnchanged(context, request, lock, (txContext) =>
        changeUser(txContext, actorOf(request), request.params.id, request.body),
      );
      const { active, role } = request.body;
      const mayLeaveCash = active === false || role !== undefined;
      const warning = mayLeaveCash ? await leftBehind(user) : undefined;
      return ok(toUser(user), warning === undefined ? 'User changed.' : `User changed. ${warning}`);
    },
  );

  api.get(
    '/users/invitations',
    {
      config: { access: 'users:administer' },
      schema: {
        tags: ['Users'],
        operationId: 'listInvitations',
        summary: 'List invitations',
        querystring: invitationList.query,
        response: { 200: ListEnvelope(Invitation, 'Invitations found.') },
      },
    },
    async (request) => okList(await listInvitations(context.db, request.query), 'Invitations found.'),
  );

  // There is no Idempotency-Key, because the stored answer would contain the token. A repeat only replaces the invitation.
  api.post(
    '/users/invitations',
    {
      config: { access: 'users:administer', errors: ['NOT_FOUND', 'DUPLICATE_ENTRY'], repeatable: false },
      schema: {
        tags: ['Users'],
        operationId: 'invitePerson',
        summary: 'Invite a person to sign up',
        description:
          'Send the `token` to the person. The token works once, for `POST /api/auth/register` with the invited e-mail, or in a browser at ' +
          '`/api/auth/{provider}?invitation=…`, even when registration is closed. A new invitation to the same e-mail revokes the open one.',
        body: NewInvitation,
        response: { 201: Envelope(IssuedInvitation, 'Invitation created.') },
      },
    },
    async (request, reply) => {
      const invitation = await invitePerson(context, actorOf(request), request.body);
      return reply.status(201).send(ok(invitation, 'Invitation created.'));
    },
  );

  api.get(
    '/users/invitations/:id',
    {
      config: { access: 'users:administer', errors: ['NOT_FOUND'] },
      schema: {
        tags: ['Users'],
        operationId: 'getInvitation',
        summary: 'Get an invitation',
        params: IdParams,
        response: { 200: Envelope(Invitation, 'Invitation found.') },
      },
    },
    async (request) => ok(await getInvitation(context.db, request.params.id), 'Invitation found.'),
  );

  api.post(
    '/users/invitations/:id/revoke',
    {
      config: { access: 'users:administer', errors: ['NOT_FOUND'], repeatable: true },
      schema: {
        tags: ['Users'],
        operationId: 'revokeInvitation',
        summary: 'Revoke an invitation',
        params: IdParams,
        response: { 200: Envelope(Invitation, 'Invitation revoked.') },
      },
    },
    (request, reply) =>
      answerOnce(context, request, reply, async (txContext) =>
        ok(await revokeInvitation(txContext, actorOf(request), request.params.id), 'Invitation revoked.'),
      ),
  );

  api.post(
    '/users/:id/invitations',
    {
      config: { access: 'users:administer', errors: ['NOT_FOUND'], repeatable: false },
      schema: {
        tags: ['Users'],
        operationId: 'inviteUser',
        summary: 'Invite a user to link an identity',
        description:
          'Send the `token` to the user, who opens `/api/auth/{provider}?invitation=…` in a browser once. Future sign-ins through ' +
          'that provider need no invitation. The password stays valid.',
        params: IdParams,
        body: NewIdentityInvitation,
        response: { 201: Envelope(IssuedInvitation, 'Invitation created.') },
      },
    },
    async (request, reply) => {
      const invitation = await inviteUser(context, actorOf(request), request.params.id, request.body);
      return reply.status(201).send(ok(invitation, 'Invitation created.'));
    },
  );
}
