import { ACCOUNT_STATUSES, needsReason } from '../account-status/rules.ts';
import { listStatusChanges } from '../account-status/store.ts';
import { type Context, today } from '../core/context.ts';
import { actorOf } from '../core/http/access.ts';
import type { Api } from '../core/http/api.ts';
import { Envelope, ListEnvelope, ok, okList } from '../core/http/envelope.ts';
import { notFound } from '../core/http/errors.ts';
import { IdParams } from '../core/http/fields.ts';
import { repeatable } from '../core/http/idempotency.ts';
import { changeAccount, openAccount } from './commands.ts';
import {
  Account,
  AccountChanges,
  accountList,
  NewAccount,
  StatusChange,
  statusChangeList,
} from './schema.ts';
import { findAccountRow, listAccounts, type ShownAccountRow } from './store.ts';
import { toAccount } from './view.ts';

export function accountRoutes(api: Api, context: Context): void {
  const answer = (row: ShownAccountRow) => toAccount(row, context.currency, today(context));

  api.get(
    '/accounts',
    {
      config: { access: 'accounts:read' },
      schema: {
        tags: ['Accounts'],
        operationId: 'listAccounts',
        summary: 'List accounts',
        querystring: accountList.query,
        response: { 200: ListEnvelope(Account, 'Accounts found.') },
      },
    },
    async (request) => {
      const page = await listAccounts(context.db, request.query, today(context));
      return okList({ ...page, rows: page.rows.map(answer) }, 'Accounts found.');
    },
  );

  api.post(
    '/accounts',
    {
      config: { access: 'accounts:create', errors: ['NOT_FOUND'], repeatable: true },
      schema: {
        tags: ['Accounts'],
        operationId: 'openAccount',
        summary: 'Open an account',
        description:
          'The account is active from its activation date (default: today) on, and pending until then.',
        body: NewAccount,
        response: { 201: Envelope(Account, 'Account created.') },
      },
    },
    async (request, reply) =>
      repeatable(context, request, reply, async (once) => {
        const account = await openAccount(once, actorOf(request), request.body);
        reply.status(201);
        return ok(answer(account), 'Account created.');
      }),
  );

  api.get(
    '/accounts/:id',
    {
      config: { access: 'accounts:read', errors: ['NOT_FOUND'] },
      schema: {
        tags: ['Accounts'],
        operationId: 'getAccount',
        summary: 'Get an account, its balance and lateness',
        params: IdParams,
        response: { 200: Envelope(Account, 'Account found.') },
      },
    },
    async (request) => {
      const account = await findAccountRow(context.db, request.params.id);
      if (!account) throw notFound('account', request.params.id);
      return ok(answer(account), 'Account found.');
    },
  );

  api.put(
    '/accounts/:id',
    {
      config: { access: 'accounts:change-status', errors: ['NOT_FOUND'] },
      schema: {
        tags: ['Accounts'],
        operationId: 'changeAccountStatus',
        summary: 'Change the status of an account',
        description:
          `A reason is required for ${ACCOUNT_STATUSES.filter(needsReason).join(', ')}. ` +
          'A move that is not allowed answers VALIDATION_ERROR with details {from, to, allowed}.',
        params: IdParams,
        body: AccountChanges,
        response: { 200: Envelope(Account, 'Account changed.') },
      },
    },
    async (request) => {
      const account = await changeAccount(context, actorOf(request), request.params.id, request.body);
      return ok(answer(account), 'Account changed.');
    },
  );

  api.get(
    '/accounts/:id/history',
    {
      config: { access: 'accounts:read', errors: ['NOT_FOUND'] },
      schema: {
        tags: ['Accounts'],
        operationId: 'listAccountStatusChanges',
        summary: 'List the status changes of an account',
        description: 'Shows who made each change, when and why.',
        params: IdParams,
        querystring: statusChangeList.query,
        response: { 200: ListEnvelope(StatusChange, 'Status changes found.') },
      },
    },
    async (request) => {
      const { id } = request.params;
      if (!(await findAccountRow(context.db, id))) throw notFound('account', id);
      return okList(await listStatusChanges(context.db, request.query, id), 'Status changes found.');
    },
  );
}
