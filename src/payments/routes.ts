import { findAccountRow } from '../accounts/store.ts';
import type { Context } from '../core/context.ts';
import { actorOf } from '../core/http/access.ts';
import type { Api } from '../core/http/api.ts';
import { Envelope, ListEnvelope, ok, okList } from '../core/http/envelope.ts';
import { notFound } from '../core/http/errors.ts';
import { IdParams } from '../core/http/fields.ts';
import { idempotencyKeyOf, repeatable, replay } from '../core/http/idempotency.ts';
import { assignPayment, reversePayment, unassignPayment } from './commands.ts';
import { listUnmatched } from './matching/view.ts';
import { type PostingQueue, recordPayment } from './posting/commands.ts';
import type { PaymentRow } from './rules.ts';
import {
  AccountParams,
  Assignment,
  NewPayment,
  Payment,
  paymentList,
  Reversal,
  ReversalParams,
  Unassignment,
  UnmatchedParams,
  UnmatchedPayment,
} from './schema.ts';
import { findPaymentRow, listPayments } from './store.ts';
import { paymentsFound, toPayment } from './view.ts';

export function paymentRoutes(api: Api, context: Context, queue: PostingQueue): void {
  const { db, currency } = context;

  api.get(
    '/payments',
    {
      config: { access: 'payments:read' },
      schema: {
        tags: ['Payments'],
        operationId: 'listPayments',
        summary: 'List payments',
        querystring: paymentList.query,
        response: { 200: ListEnvelope(Payment, 'Payments found.') },
      },
    },
    async (request) => {
      return paymentsFound(await listPayments(db, request.query), currency);
    },
  );

  api.post(
    '/payments',
    {
      config: { access: 'payments:record', errors: ['NOT_FOUND', 'DUPLICATE_ENTRY'], repeatable: true },
      schema: {
        tags: ['Payments'],
        operationId: 'recordPayment',
        summary: 'Record a received payment',
        description:
          'Accepted in every status of the account, because the money has moved already; the amount above the total becomes credit. ' +
          'A transaction that the provider has reported, by a notification or on an uploaded statement, is DUPLICATE_ENTRY; import ' +
          'missing lines with their statement. If the payment of the transaction was reversed, and no other payment has the ' +
          'reference, users who may assign payments can record it again with the reported amount.',
        body: NewPayment,
        response: { 201: Envelope(Payment, 'Payment recorded.') },
      },
    },
    async (request, reply) => {
      const key = idempotencyKeyOf(context, request);
      const answerOf = (payment: PaymentRow) => ok(toPayment(payment, currency), 'Payment recorded.');
      const keep = key && { key, status: 201, answerOf };
      const recorded = await recordPayment(context, queue, actorOf(request), request.body, keep);
      if ('replay' in recorded) return replay<ReturnType<typeof answerOf>>(reply, recorded.replay);
      reply.status(201);
      return answerOf(recorded.payment);
    },
  );

  api.get(
    '/payments/:id',
    {
      config: { access: 'payments:read', errors: ['NOT_FOUND'] },
      schema: {
        tags: ['Payments'],
        operationId: 'getPayment',
        summary: 'Get a payment',
        params: IdParams,
        response: { 200: Envelope(Payment, 'Payment found.') },
      },
    },
    async (request) => {
      const payment = await findPaymentRow(db, request.params.id);
      if (!payment) throw notFound('payment', request.params.id);
      return ok(toPayment(payment, currency), 'Payment found.');
    },
  );

  api.get(
    '/accounts/:accountId/payments',
    {
      config: { access: 'payments:read', errors: ['NOT_FOUND'] },
      schema: {
        tags: ['Payments'],
        operationId: 'listAccountPayments',
        summary: 'List the payments of an account',
        params: AccountParams,
        querystring: paymentList.query,
        response: { 200: ListEnvelope(Payment, 'Payments found.') },
      },
    },
    async (request) => {
      const { accountId } = request.params;
      if (!(await findAccountRow(db, accountId))) throw notFound('account', accountId, 'accountId');
      return paymentsFound(await listPayments(db, request.query, accountId), currency);
    },
  );

  api.get(
    '/payments/unmatched',
    {
      config: { access: 'payers:read' },
      schema: {
        tags: ['Payments'],
        operationId: 'listUnmatchedPayments',
        summary: 'List unmatched payments with suggestions',
        description:
          'Each with at most 10 suggested accounts, by the typed reference, the payer’s phone and the payer’s name, with reasons.',
        querystring: paymentList.query,
        response: { 200: ListEnvelope(UnmatchedPayment, 'Unmatched payments found.') },
      },
    },
    async (request) =>
      okList(await listUnmatched(context, request.log, request.query), 'Unmatched payments found.'),
  );

  api.post(
    '/payments/:id/assign',
    {
      config: { access: 'payments:assign', errors: ['NOT_FOUND'], repeatable: true },
      schema: {
        tags: ['Payments'],
        operationId: 'assignPayment',
        summary: 'Assign an unmatched payment to an account',
        description:
          'If the payer’s exact number is known, the next notification with the same reference from the same payer matches this account. ' +
          'The exception is a reference that is the number of another open account: it stays unmatched, and both are suggested.',
        params: UnmatchedParams,
        body: Assignment,
        response: { 200: Envelope(Payment, 'Payment assigned.') },
      },
    },
    async (request, reply) =>
      repeatable(context, request, reply, async (once) => {
        const { accountId } = request.body;
        const payment = await assignPayment(once, actorOf(request), request.params.id, accountId);
        return ok(toPayment(payment, currency), 'Payment assigned.');
      }),
  );

  api.post(
    '/payments/:id/unassign',
    {
      config: { access: 'payments:assign', errors: ['NOT_FOUND'], repeatable: true },
      schema: {
        tags: ['Payments'],
        operationId: 'unassignPayment',
        summary: 'Unassign a payment from its account',
        description:
          'The payment is unmatched again and can be assigned to another account, even if it is reconciled. The learned reference of the ' +
          'assignment is deleted; payments that it has matched stay matched (`filter[matchMethod]=learned`).',
        params: UnmatchedParams,
        body: Unassignment,
        response: { 200: Envelope(Payment, 'Payment unassigned.') },
      },
    },
    async (request, reply) =>
      repeatable(context, request, reply, async (once) => {
        const { reason } = request.body;
        const payment = await unassignPayment(once, actorOf(request), request.params.id, reason);
        return ok(toPayment(payment, currency), 'Payment unassigned.');
      }),
  );

  api.post(
    '/payments/:id/reverse',
    {
      config: { access: 'payments:reverse', errors: ['NOT_FOUND', 'DUPLICATE_ENTRY'], repeatable: true },
      schema: {
        tags: ['Payments'],
        operationId: 'reversePayment',
        summary: 'Reverse a payment',
        description:
          'The payment stays in the list as reversed; opposite ledger entries undo it. A notification that was linked to a ' +
          'manual payment, or conflicted with it, is posted in the same transaction.',
        params: ReversalParams,
        body: Reversal,
        response: { 200: Envelope(Payment, 'Payment reversed.') },
      },
    },
    async (request, reply) =>
      repeatable(context, request, reply, async (once) => {
        const { reason } = request.body;
        const payment = await reversePayment(once, actorOf(request), request.params.id, reason);
        return ok(toPayment(payment, currency), 'Payment reversed.');
      }),
  );
}
