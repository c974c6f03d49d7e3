import type { Context } from '../../core/context.ts';
import { actorOf } from '../../core/http/access.ts';
import type { Api } from '../../core/http/api.ts';
import { Envelope, ListEnvelope, ok, okList } from '../../core/http/envelope.ts';
import { IdParams } from '../../core/http/fields.ts';
import { answerOnce } from '../../core/http/idempotency.ts';
import { Approval } from '../../staff/approvals/schema.ts';
import { SENT_FOR_APPROVAL, sentForApproval } from '../../staff/approvals/view.ts';
import { formatAccountNumber } from '../account-number-rules.ts';
import {
  discardBulkDeferral,
  prepareBulkDeferral,
  startBulkDeferral,
  stopBulkDeferral,
  undoBulkDeferral,
} from './commands.ts';
import {
  BulkDeferral,
  BulkDeferralAccount,
  BulkDeferralWithProblems,
  bulkDeferralAccountList,
  bulkDeferralList,
  NewBulkDeferral,
  PreviewParams,
  UndoBulkDeferral,
} from './schema.ts';
import { listBulkDeferrals, listSelectedAccounts } from './store.ts';
import { requireBulkDeferral, showBulkDeferral, toBulkDeferral, toSelectedAccount } from './view.ts';

export function bulkDeferralRoutes(api: Api, context: Context): void {
  const { db, currency } = context;

  api.post(
    '/plan-changes/bulk-deferrals',
    {
      config: { access: 'accounts:change-plan', repeatable: true },
      schema: {
        tags: ['Accounts'],
        operationId: 'prepareBulkDeferral',
        summary: 'Preview the deferral of many accounts',
        description:
          'Stores the accounts that the filter selects, at most 20,000, so that later changes select no others. A job then computes what the ' +
          'deferral would do: the status is `previewing`, and then `draft`. No account is changed before the draft is confirmed.',
        body: NewBulkDeferral,
        response: { 201: Envelope(BulkDeferralWithProblems, 'Preview started.') },
      },
    },
    (request, reply) =>
      answerOnce(context, request, reply, async (txContext) => {
        const actor = actorOf(request);
        const id = await prepareBulkDeferral(txContext, actor, request.body);
        reply.status(201);
        return ok(await showBulkDeferral(txContext, actor, id), 'Preview started.');
      }),
  );

  api.get(
    '/plan-changes/bulk-deferrals',
    {
      config: { access: 'accounts:read' },
      schema: {
        tags: ['Accounts'],
        operationId: 'listBulkDeferrals',
        summary: 'List bulk deferrals',
        description:
          'Without the `counts` of their accounts, the `filter` and the `problems`, which only `GET /plan-changes/bulk-deferrals/{id}` has.',
        querystring: bulkDeferralList.query,
        response: { 200: ListEnvelope(BulkDeferral, 'Bulk deferrals found.') },
      },
    },
    async (request) => {
      const page = await listBulkDeferrals(db, request.query);
      const rows = page.rows.map((row) => toBulkDeferral(row, context));
      return okList({ ...page, rows }, 'Bulk deferrals found.');
    },
  );

  api.get(
    '/plan-changes/bulk-deferrals/:id',
    {
      config: { access: 'accounts:read', errors: ['NOT_FOUND'] },
      schema: {
        tags: ['Accounts'],
        operationId: 'getBulkDeferral',
        summary: 'Get a bulk deferral and its progress',
        params: IdParams,
        response: { 200: Envelope(BulkDeferralWithProblems, 'Bulk deferral found.') },
      },
    },
    async (request) =>
      ok(await showBulkDeferral(context, actorOf(request), request.params.id), 'Bulk deferral found.'),
  );

  api.get(
    '/plan-changes/bulk-deferrals/:id/accounts',
    {
      config: { access: 'accounts:read', errors: ['NOT_FOUND'] },
      schema: {
        tags: ['Accounts'],
        operationId: 'listBulkDeferralAccounts',
        summary: 'List the accounts of a bulk deferral',
        params: IdParams,
        querystring: bulkDeferralAccountList.query,
        response: { 200: ListEnvelope(BulkDeferralAccount, 'Accounts found.') },
      },
    },
    async (request) => {
      const { id } = request.params;
      await requireBulkDeferral(db, id);
      const page = await listSelectedAccounts(db, id, request.query);
      const actor = actorOf(request);
      const rows = page.rows.map((row) => toSelectedAccount(actor, row, currency));
      return okList({ ...page, rows }, 'Accounts found.');
    },
  );

  api.post(
    '/plan-changes/bulk-deferrals/:id/confirm',
    {
      config: { access: 'accounts:change-plan', errors: ['NOT_FOUND', 'DUPLICATE_ENTRY'], repeatable: true },
      schema: {
        tags: ['Accounts'],
        operationId: 'confirmBulkDeferral',
        summary: 'Defer the accounts of a preview',
        description:
          'A job defers one account after another. An account is skipped if its plan has changed since the preview or, if the effect depends ' +
          'on it, the sum paid. A preview can be confirmed until the end of its business day. If the sum of the balances is above ' +
          'APPROVAL_LIMIT, the request is sent for approval (202).',
        params: IdParams,
        response: {
          200: Envelope(BulkDeferralWithProblems, 'Deferral started.'),
          202: Envelope(Approval, SENT_FOR_APPROVAL),
        },
      },
    },
    (request, reply) =>
      answerOnce(context, request, reply, async (txContext) => {
        const actor = actorOf(request);
        const outcome = await startBulkDeferral(txContext, actor, request.params.id);
        if ('done' in outcome)
          return ok(await showBulkDeferral(txContext, actor, outcome.done), 'Deferral started.');
        reply.status(202);
        return sentForApproval(actor, outcome.requested, currency, formatAccountNumber);
      }),
  );

  api.post(
    '/plan-changes/bulk-deferrals/:id/discard',
    {
      config: { access: 'accounts:change-plan', errors: ['NOT_FOUND', 'DUPLICATE_ENTRY'], repeatable: true },
      schema: {
        tags: ['Accounts'],
        operationId: 'discardBulkDeferral',
        summary: 'Discard a preview',
        description:
          'The preview is `expired`, and its accounts are deleted. If it is already expired, the answer is the same. If the deferral has been ' +
          'confirmed, the answer is VALIDATION_ERROR with status 409, and nothing is done. A pending request for approval has to be ' +
          'withdrawn or rejected first.',
        params: PreviewParams,
        response: { 200: Envelope(BulkDeferralWithProblems, 'Preview discarded.') },
      },
    },
    (request, reply) =>
      answerOnce(context, request, reply, async (txContext) => {
        const actor = actorOf(request);
        await discardBulkDeferral(txContext, actor, request.params.id);
        return ok(await showBulkDeferral(txContext, actor, request.params.id), 'Preview discarded.');
      }),
  );

  api.post(
    '/plan-changes/bulk-deferrals/:id/stop',
    {
      config: { access: 'accounts:change-plan', errors: ['NOT_FOUND'], repeatable: true },
      schema: {
        tags: ['Accounts'],
        operationId: 'stopBulkDeferral',
        summary: 'Stop a bulk deferral',
        description:
          'The deferral is `done`. The accounts that it has deferred remain deferred, and can be undone. The others are skipped with the ' +
          'problem `stopped`. If it is already done, the answer is the same. If it was not confirmed, or is being undone, the answer is ' +
          'VALIDATION_ERROR with status 409. A new bulk deferral with the same filter defers the deferred accounts once more: undo this one ' +
          'first, or leave out all accounts with a deferral or a revision by `{"restructuredDate": {"isnull": true}}`.',
        params: IdParams,
        response: { 200: Envelope(BulkDeferralWithProblems, 'The bulk deferral is done.') },
      },
    },
    (request, reply) =>
      answerOnce(context, request, reply, async (txContext) => {
        const actor = actorOf(request);
        await stopBulkDeferral(txContext, actor, request.params.id);
        return ok(await showBulkDeferral(txContext, actor, request.params.id), 'The bulk deferral is done.');
      }),
  );

  api.post(
    '/plan-changes/bulk-deferrals/:id/undo',
    {
      config: { access: 'accounts:change-plan', errors: ['NOT_FOUND', 'DUPLICATE_ENTRY'], repeatable: true },
      schema: {
        tags: ['Accounts'],
        operationId: 'undoBulkDeferral',
        summary: 'Undo a bulk deferral',
        description:
          'A job undoes the deferral of each account whose newest change it is. The other accounts stay deferred, and are listed with the ' +
          'state `not_undone`. If the sum of their present balances is above APPROVAL_LIMIT, the request is sent for approval (202).',
        params: IdParams,
        body: UndoBulkDeferral,
        response: {
          200: Envelope(BulkDeferralWithProblems, 'Undo started.'),
          202: Envelope(Approval, SENT_FOR_APPROVAL),
        },
      },
    },
    (request, reply) =>
      answerOnce(context, request, reply, async (txContext) => {
        const actor = actorOf(request);
        const outcome = await undoBulkDeferral(txContext, actor, request.params.id, request.body.reason);
        if ('done' in outcome)
          return ok(await showBulkDeferral(txContext, actor, outcome.done), 'Undo started.');
        reply.status(202);
        return sentForApproval(actor, outcome.requested, currency, formatAccountNumber);
      }),
  );
}
