import { type Context, today } from '../../core/context.ts';
import { actorOf } from '../../core/http/access.ts';
import type { Api } from '../../core/http/api.ts';
import { Envelope, ListEnvelope, ok, okList } from '../../core/http/envelope.ts';
import { IdParams } from '../../core/http/fields.ts';
import { answerOnce } from '../../core/http/idempotency.ts';
import { rolesWith } from '../../rights.ts';
import { assignAccounts } from './assign-accounts.ts';
import {
  Assignment,
  CALL_LIST_DESCRIPTION,
  CallForm,
  CallListEntry,
  callListList,
  NewAssignment,
  Officers,
} from './schema.ts';
import { findOfficers, listEntries } from './store.ts';
import { readForm, toEntries } from './view.ts';

export function callListRoutes(api: Api, context: Context): void {
  const { db, currency } = context;

  api.get(
    '/call-list',
    {
      config: { access: 'calls:read' },
      schema: {
        tags: ['Collections'],
        operationId: 'listAccountsToCall',
        summary: 'List late accounts to call',
        description: CALL_LIST_DESCRIPTION,
        querystring: callListList.query,
        response: { 200: ListEnvelope(CallListEntry, 'Accounts found.') },
      },
    },
    async (request) => {
      const day = today(context);
      const page = await listEntries(db, request.query, day);
      const rows = await toEntries(db, actorOf(request), page.rows, { currency, day });
      return okList({ ...page, rows }, 'Accounts found.');
    },
  );

  api.get(
    '/call-list/:id/form',
    {
      config: { access: 'calls:read', errors: ['NOT_FOUND'] },
      schema: {
        tags: ['Collections'],
        operationId: 'getCallForm',
        summary: 'Get what a call needs',
        description:
          'The id is that of an account. The answer has all late accounts of its phones, what the customer can promise, and the latest calls.',
        params: IdParams,
        response: { 200: Envelope(CallForm, 'Account found.') },
      },
    },
    async (request) => ok(await readForm(context, actorOf(request), request.params.id), 'Account found.'),
  );

  api.get(
    '/call-list/officers',
    {
      config: { access: 'calls:read' },
      schema: {
        tags: ['Collections'],
        operationId: 'listOfficers',
        summary: 'List users who record calls',
        response: { 200: Envelope(Officers, 'Users found.') },
      },
    },
    async () => ok(await findOfficers(db, rolesWith('calls:record')), 'Users found.'),
  );

  api.put(
    '/call-list/assignments',
    {
      config: { access: 'calls:manage', errors: ['NOT_FOUND'], repeatable: true },
      schema: {
        tags: ['Collections'],
        operationId: 'assignAccounts',
        summary: 'Assign accounts to a user',
        description: 'The assignment lasts until it is changed. Other users may still call the customers.',
        body: NewAssignment,
        response: { 200: Envelope(Assignment, 'Accounts assigned.') },
      },
    },
    async (request, reply) =>
      answerOnce(context, request, reply, async (txContext) =>
        ok(await assignAccounts(txContext, actorOf(request), request.body), 'Accounts assigned.'),
      ),
  );
}
