import type { Actor, Context } from '../../core/context.ts';
import type { Db } from '../../core/database/db.ts';
import { actorOf } from '../../core/http/access.ts';
import type { Api } from '../../core/http/api.ts';
import { Envelope, ListEnvelope, ok, okList } from '../../core/http/envelope.ts';
import { IdParams } from '../../core/http/fields.ts';
import { answerOnce } from '../../core/http/idempotency.ts';
import {
  type ApprovableActions,
  approve,
  endOutdatedApproval,
  getApproval,
  reject,
  withdraw,
} from './commands.ts';
import { type ApprovalRow, OutdatedRequest } from './rules.ts';
import { Approval, approvalList, Rejection, RejectionParams, WithdrawalParams } from './schema.ts';
import { listApprovals } from './store.ts';
import { type FormatAccount, findAllowedMoves, toApproval } from './view.ts';

interface ApprovalParts {
  actions: ApprovableActions;
  formatAccount: FormatAccount;
}

export function approvalRoutes(api: Api, context: Context, { actions, formatAccount }: ApprovalParts): void {
  async function show(db: Db, actor: Actor, rows: readonly ApprovalRow[]) {
    const allowedMoves = await findAllowedMoves(db, actor, rows);
    return (row: ApprovalRow) => toApproval(row, allowedMoves(row), context.currency, formatAccount);
  }
  async function showOne(db: Db, actor: Actor, row: ApprovalRow) {
    return (await show(db, actor, [row]))(row);
  }

  api.get(
    '/approvals',
    {
      config: { access: 'approvals:read' },
      schema: {
        tags: ['Approvals'],
        operationId: 'listApprovals',
        summary: 'List requests for approval',
        description: 'To list the requests that wait for a decision, use `filter[status]=pending`.',
        querystring: approvalList.query,
        response: { 200: ListEnvelope(Approval, 'Approvals found.') },
      },
    },
    async (request) => {
      const page = await listApprovals(context.db, request.query);
      const rows = page.rows.map(await show(context.db, actorOf(request), page.rows));
      return okList({ ...page, rows }, 'Approvals found.');
    },
  );

  api.get(
    '/approvals/:id',
    {
      config: { access: 'approvals:read', errors: ['NOT_FOUND'] },
      schema: {
        tags: ['Approvals'],
        operationId: 'getApproval',
        summary: 'Get a request for approval',
        params: IdParams,
        response: { 200: Envelope(Approval, 'Approval found.') },
      },
    },
    async (request) => {
      const row = await getApproval(context.db, request.params.id);
      return ok(await showOne(context.db, actorOf(request), row), 'Approval found.');
    },
  );

  api.post(
    '/approvals/:id/approve',
    {
      config: { access: 'approvals:decide', errors: ['NOT_FOUND', 'DUPLICATE_ENTRY'], repeatable: true },
      schema: {
        tags: ['Approvals'],
        operationId: 'approveApproval',
        summary: 'Approve a request and do its action',
        description:
          'The action is done in the same transaction as the approval. The caller also needs the permission of the action, must not be the requester, ' +
          'and must not have created or rotated the API key that sent the request. If a fact has changed ' +
          'since the request (`changedFacts`), nothing is done: the answer is VALIDATION_ERROR with status 409, and `details.fields` ' +
          'names the changed facts. The request is then obsolete, and a new one can be sent.',
        params: IdParams,
        response: { 200: Envelope(Approval, 'Approved and done.') },
      },
    },
    async (request, reply) =>
      answerOnce(context, request, reply, async (txContext) => {
        const row = await approve(txContext, actions, actorOf(request), request.params.id);
        return ok(await showOne(txContext.db, actorOf(request), row), 'Approved and done.');
      }).catch(async (error: unknown) => {
        if (error instanceof OutdatedRequest) await endOutdatedApproval(context, actions, request.params.id);
        throw error;
      }),
  );

  api.post(
    '/approvals/:id/reject',
    {
      config: { access: 'approvals:decide', errors: ['NOT_FOUND'], repeatable: true },
      schema: {
        tags: ['Approvals'],
        operationId: 'rejectApproval',
        summary: 'Reject a request',
        description: 'The action is not done. The caller needs the same rights as for an approval.',
        params: RejectionParams,
        body: Rejection,
        response: { 200: Envelope(Approval, 'Rejected.') },
      },
    },
    async (request, reply) =>
      answerOnce(context, request, reply, async (txContext) => {
        const row = await reject(txContext, actorOf(request), request.params.id, request.body.reason);
        return ok(await showOne(txContext.db, actorOf(request), row), 'Rejected.');
      }),
  );

  api.post(
    '/approvals/:id/withdraw',
    {
      config: { access: 'approvals:read', errors: ['NOT_FOUND'], repeatable: true },
      schema: {
        tags: ['Approvals'],
        operationId: 'withdrawApproval',
        summary: 'Withdraw your own request',
        description: 'Only the user or the API key that sent the request may withdraw it.',
        params: WithdrawalParams,
        response: { 200: Envelope(Approval, 'Withdrawn.') },
      },
    },
    async (request, reply) =>
      answerOnce(context, request, reply, async (txContext) => {
        const row = await withdraw(txContext, actorOf(request), request.params.id);
        return ok(await showOne(txContext.db, actorOf(request), row), 'Withdrawn.');
      }),
  );
}
