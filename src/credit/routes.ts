import { findAccountRow } from '../accounts/store.ts';
import type { Context } from '../core/context.ts';
import { actorOf } from '../core/http/access.ts';
import type { Api } from '../core/http/api.ts';
import { Envelope, ListEnvelope, ok } from '../core/http/envelope.ts';
import { notFound } from '../core/http/errors.ts';
import { IdParams } from '../core/http/fields.ts';
import { repeatable } from '../core/http/idempotency.ts';
import { refundCredit, transferCredit } from './commands.ts';
import { CreditMove, CreditRefund, CreditTransfer, creditMoveList } from './schema.ts';
import { listCreditMoves } from './store.ts';
import { creditMovesFound, toCreditMove } from './view.ts';

export function creditRoutes(api: Api, context: Context): void {
  const { db, currency } = context;

  api.post(
    '/accounts/:id/credit/transfer',
    {
      config: { access: 'credit:transfer', errors: ['NOT_FOUND'], repeatable: true },
      schema: {
        tags: ['Accounts'],
        operationId: 'transferCredit',
        summary: 'Transfer credit to another account',
        description:
          'The amount is at most the credit of the account. The other account accepts the credit in every status, like a payment.',
        params: IdParams,
        body: CreditTransfer,
        response: { 201: Envelope(CreditMove, 'Credit transferred.') },
      },
    },
    async (request, reply) =>
      repeatable(context, request, reply, async (txContext) => {
        const actor = actorOf(request);
        const move = await transferCredit(txContext, actor, request.params.id, request.body);
        reply.status(201);
        return ok(toCreditMove(move, actor.name, currency), 'Credit transferred.');
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
          'The amount is at most the credit of the account. The request only records a refund that was paid. It does not send money.',
        params: IdParams,
        body: CreditRefund,
        response: { 201: Envelope(CreditMove, 'Credit refunded.') },
      },
    },
    async (request, reply) =>
      repeatable(context, request, reply, async (txContext) => {
        const actor = actorOf(request);
        const move = await refundCredit(txContext, actor, request.params.id, request.body);
        reply.status(201);
        return ok(toCreditMove(move, actor.name, currency), 'Credit refunded.');
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
        description: 'Lists transfers from and to the account, and refunds.',
        params: IdParams,
        querystring: creditMoveList.query,
        response: { 200: ListEnvelope(CreditMove, 'Credit moves found.') },
      },
    },
    async (request) => {
      const { id } = request.params;
      if (!(await findAccountRow(db, id))) throw notFound('account', id);
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
