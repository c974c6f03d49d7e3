import type { Context } from '../../core/context.ts';
import { actorOf } from '../../core/http/access.ts';
import type { Api } from '../../core/http/api.ts';
import { Envelope, ListEnvelope, ok } from '../../core/http/envelope.ts';
import { IdParams } from '../../core/http/fields.ts';
import { answerOnce } from '../../core/http/idempotency.ts';
import { Approval } from '../../staff/approvals/schema.ts';
import { SENT_FOR_APPROVAL, sentForApproval } from '../../staff/approvals/view.ts';
import { formatAccountNumber } from '../account-number-rules.ts';
import { getAccountRow } from '../store.ts';
import { refundCredit, transferCredit } from './commands.ts';
import { CreditMove, CreditRefund, CreditTransfer, creditMoveList } from './schema.ts';
import { listCreditMoves } from './store.ts';
import { creditMovesFound, toCreditMove } from './view.ts';

const ABOVE_LIMIT =
  'If all transfers and refunds from the account today, including this one, would exceed APPROVAL_LIMIT, the request is sent for approval (202).';

export function creditRoutes(api: Api, context: Context): void {
  const { db, currency } = context;

  api.post(
    '/accounts/:id/credit/transfer',
    {
      config: { access: 'credit:transfer', errors: ['NOT_FOUND', 'DUPLICATE_ENTRY'], repeatable: true },
      schema: {
        tags: ['Accounts'],
        operationId: 'transferCredit',
        summary: 'Transfer credit to another account',
        description:
          'The amount is at most the credit of the account. The receiving account can have any status, as for a payment. ' +
          ABOVE_LIMIT,
        params: IdParams,
        body: CreditTransfer,
        response: {
          201: Envelope(CreditMove, 'Credit transferred.'),
          202: Envelope(Approval, SENT_FOR_APPROVAL),
        },
      },
    },
    async (request, reply) =>
      answerOnce(context, request, reply, async (txContext) => {
        const actor = actorOf(request);
        const outcome = await transferCredit(txContext, actor, request.params.id, request.body);
        reply.status('done' in outcome ? 201 : 202);
        return 'done' in outcome
          ? ok(toCreditMove(outcome.done, actor.name, currency), 'Credit transferred.')
          : sentForApproval(actor, outcome.requested, currency, formatAccountNumber);
      }),
  );

  api.post(
    '/accounts/:id/credit/refund',
    {
      config: { access: 'credit:refund', errors: ['NOT_FOUND', 'DUPLICATE_ENTRY'], repeatable: true },
      schema: {
        tags: ['Accounts'],
        operationId: 'refundCredit',
        summary: 'Record a refund of credit',
        description:
          'The amount is at most the credit of the account. The request only records a refund that was paid. It does not send money. ' +
          ABOVE_LIMIT,
        params: IdParams,
        body: CreditRefund,
        response: {
          201: Envelope(CreditMove, 'Credit refunded.'),
          202: Envelope(Approval, SENT_FOR_APPROVAL),
        },
      },
    },
    async (request, reply) =>
      answerOnce(context, request, reply, async (txContext) => {
        const actor = actorOf(request);
        const outcome = await refundCredit(txContext, actor, request.params.id, request.body);
        reply.status('done' in outcome ? 201 : 202);
        return 'done' in outcome
          ? ok(toCreditMove(outcome.done, actor.name, currency), 'Credit refunded.')
          : sentForApproval(actor, outcome.requested, currency, formatAccountNumber);
      }),
  );

  api.get(
    '/accounts/:id/credit/moves',
    {
      config: { access: 'accounts:read', errors: ['NOT_FOUND'] },
      schema: {
        tags: ['Accounts'],
        operationId: 'listAccountCreditMoves',
        summary: 'List the credit moves of an account',
        description: 'The list contains the transfers from and to the account, and its refunds.',
        params: IdParams,
        querystring: creditMoveList.query,
        response: { 200: ListEnvelope(CreditMove, 'Credit moves found.') },
      },
    },
    async (request) => {
      const { id } = request.params;
      await getAccountRow(db, id);
      return creditMovesFound(await listCreditMoves(db, request.query, id), currency);
    },
  );

  api.get(
    '/credit-moves',
    {
      config: { access: 'accounts:read' },
      schema: {
        tags: ['Accounts'],
        operationId: 'listCreditMoves',
        summary: 'List credit moves',
        description:
          'To list the refunds of a day by a method, use `filter[kind]=refund`, `filter[valueDate]` and `filter[paymentMethodId]`. ' +
          '`accountId` is the account that gave the credit.',
        querystring: creditMoveList.query,
        response: { 200: ListEnvelope(CreditMove, 'Credit moves found.') },
      },
    },
    async (request) => {
      return creditMovesFound(await listCreditMoves(db, request.query), currency);
    },
  );
}
