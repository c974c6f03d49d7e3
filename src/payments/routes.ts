import type { FastifyRequest } from 'fastify';
import { formatAccountNumber } from '../accounts/account-number-rules.ts';
import { AccountParams } from '../accounts/schema.ts';
import { getAccountRow } from '../accounts/store.ts';
import type { ConcurrencyLimit } from '../core/concurrency-limit.ts';
import type { Actor } from '../core/context.ts';
import type { Tx } from '../core/database/db.ts';
import type { SnapshotReads } from '../core/database/snapshot-reads.ts';
import { actorOf, callerOf } from '../core/http/access.ts';
import type { Api } from '../core/http/api.ts';
import { BULK_DESCRIPTION, bulkRoute } from '../core/http/bulk.ts';
import { Envelope, ListEnvelope, ListWithTotals, ok, okList } from '../core/http/envelope.ts';
import { notFound } from '../core/http/errors.ts';
import { ifUnchanged } from '../core/http/etags.ts';
import { externalIdRoutes } from '../core/http/external-id-routes.ts';
import { type ChoiceText, IdParams } from '../core/http/fields.ts';
import { answerOnce, idempotencyKeyOf, replay } from '../core/http/idempotency.ts';
import type { ListPlan } from '../core/lists/query.ts';
import { totalsOf, withSlowTotals } from '../core/lists/totals.ts';
import { mayDo } from '../rights.ts';
import { Approval } from '../staff/approvals/schema.ts';
import { findPendingApprovals } from '../staff/approvals/store.ts';
import { pendingApprovalsOf, SENT_FOR_APPROVAL, sentForApproval } from '../staff/approvals/view.ts';
import { assignPayment, unassignPayment } from './assign-payment.ts';
import { changePayment, lockPayment } from './change-payment.ts';
import { correctAmount } from './correct-amount.ts';
import { listUnmatched } from './matching/view.ts';
import type { PostingContext } from './posting/post-payments.ts';
import { recordPayment, recordPayments } from './posting/record-payment.ts';
import type { PaymentWarning } from './posting/warning-rules.ts';
import { reversePayment } from './reverse-payment.ts';
import type { PaymentRow } from './rules.ts';
import {
  Assignment,
  Correction,
  CorrectionParams,
  NewPayment,
  NewPayments,
  Payment,
  PaymentChanges,
  type PaymentExpansion,
  PaymentQuery,
  PaymentRecorded,
  PaymentTotals,
  paymentList,
  RecordedPayments,
  Reversal,
  ReversalParams,
  Unassignment,
  UnmatchedParams,
  UnmatchedPayment,
  unmatchedList,
} from './schema.ts';
import { findPaymentRow, listPayments } from './store.ts';
import { showPayments, toPayment } from './view.ts';

export interface PaymentParts {
  /** For recording many payments. */
  slots: ConcurrencyLimit;
  /** For totals. */
  summaries: SnapshotReads;
}

export function paymentRoutes(api: Api, context: PostingContext, { slots, summaries }: PaymentParts): void {
  const { db, currency } = context;

  async function read(actor: Actor, id: number, expand?: ChoiceText<PaymentExpansion>) {
    const [row, approvals] = await Promise.all([
      findPaymentRow(db, id),
      mayDo(actor, 'approvals:read') ? findPendingApprovals(db, { paymentId: id }) : [],
    ]);
    if (!row) throw notFound('payment', id);
    const [payment = toPayment(row, currency)] = await showPayments(context, actor, [row], expand);
    return ok({ ...payment, ...pendingApprovalsOf(approvals) }, 'Payment found.');
  }

  async function list(
    request: FastifyRequest,
    query: ListPlan & { expand?: ChoiceText<PaymentExpansion> },
    accountId?: number,
  ) {
    const plan = withSlowTotals(query, summaries, callerOf(request));
    const page = await listPayments(db, plan, accountId);
    const rows = await showPayments(context, actorOf(request), page.rows, query.expand);
    return okList({ ...page, rows, ...totalsOf(page, currency) }, 'Payments found.');
  }

  api.get(
    '/payments',
    {
      config: { access: 'payments:read', totalsTimeoutMs: context.config.limits.summaryMs },
      schema: {
        tags: ['Payments'],
        operationId: 'listPayments',
        summary: 'List payments',
        querystring: paymentList.query,
        response: { 200: ListWithTotals(Payment, 'Payments found.', PaymentTotals) },
      },
    },
    async (request) => list(request, request.query),
  );

  api.post(
    '/payments',
    {
      config: {
        access: 'payments:record',
        errors: ['NOT_FOUND', 'DUPLICATE_ENTRY'],
        repeatable: true,
        confirmable: true,
      },
      schema: {
        tags: ['Payments'],
        operationId: 'recordPayment',
        summary: 'Record a received payment',
        description:
          'The account can have any status, because the money has moved already. The part of the payment that exceeds the balance becomes ' +
          'credit. A transaction that the provider has reported, by a notification or on an uploaded statement, is refused with DUPLICATE_ENTRY. ' +
          'Exception: if the payment of the transaction was reversed, and no unreversed payment has the reference, users with the permission to ' +
          'assign payments can record the transaction again, with the reported amount. To post a payment that is only on a statement, import it ' +
          'from the statement. An `externalId` of an existing payment, even a reversed one, is refused with DUPLICATE_ENTRY. There is no ' +
          'PUT by external id. To repeat a request safely, send an Idempotency-Key. The answer has `warnings` about what is unusual. To see ' +
          'them before the payment is recorded, send `checks: "confirm"`.',
        body: NewPayment,
        response: { 201: PaymentRecorded },
      },
    },
    async (request, reply) => {
      const key = await idempotencyKeyOf(context, request);
      const answerOf = (payment: PaymentRow, warnings: readonly PaymentWarning[]) => ({
        ...ok(toPayment(payment, currency), 'Payment recorded.'),
        warnings: [...warnings],
      });
      const keep = key && { key, status: 201, answerOf };
      const recorded = await recordPayment(context, actorOf(request), request.body, keep);
      if ('replay' in recorded) return replay<ReturnType<typeof answerOf>>(reply, recorded.replay);
      reply.status(201);
      return answerOf(recorded.payment, recorded.warnings);
    },
  );

  bulkRoute(api, context, slots, '/payments/bulk', {
    access: 'payments:record',
    tag: 'Payments',
    operationId: 'recordPayments',
    summary: 'Record up to 1,000 received payments',
    description:
      `${BULK_DESCRIPTION} Payments are posted in batches of up to 100, each in one database transaction. If the payment with the \`externalId\` ` +
      'of an item has another account, amount or payment method, or was reversed, the item fails with DUPLICATE_ENTRY.',
    item: NewPayment,
    body: NewPayments,
    answer: RecordedPayments,
    create: (actor, items, key) =>
      recordPayments(context, actor, items, {
        key,
        answerOf: (payment, warnings) => ({ ...toPayment(payment, currency), warnings }),
      }),
    // Answers that an earlier version has stored have no warnings.
    itemOf: ({ warnings = [], ...data }) => ({ data, warnings }),
  });

  api.get(
    '/payments/:id',
    {
      config: { access: 'payments:read', errors: ['NOT_FOUND'], editable: PaymentChanges },
      schema: {
        tags: ['Payments'],
        operationId: 'getPayment',
        summary: 'Get a payment',
        params: IdParams,
        querystring: PaymentQuery,
        response: { 200: Envelope(Payment, 'Payment found.') },
      },
    },
    async (request) => read(actorOf(request), request.params.id, request.query.expand),
  );

  api.put(
    '/payments/:id',
    {
      config: {
        access: 'payments:assign',
        errors: ['NOT_FOUND', 'DUPLICATE_ENTRY'],
        editable: PaymentChanges,
      },
      schema: {
        tags: ['Payments'],
        operationId: 'updatePayment',
        summary: 'Change a payment’s external id or metadata',
        description:
          'No other field can be changed. To correct an amount, use `POST /payments/{id}/correct-amount`. To correct another field, reverse the payment, or unassign it and assign it to the right account. A payment that the provider reported has no external id and no metadata at first.',
        params: IdParams,
        body: PaymentChanges,
        response: { 200: Envelope(Payment, 'Payment changed.') },
      },
    },
    async (request) => {
      const { id } = request.params;
      const lock = (tx: Tx) => lockPayment(tx, id, request.body);
      const payment = await ifUnchanged(context, request, lock, (txContext) =>
        changePayment(txContext, actorOf(request), id, request.body),
      );
      return ok(toPayment(payment, currency), 'Payment changed.');
    },
  );

  api.get(
    '/accounts/:accountId/payments',
    {
      config: {
        access: 'payments:read',
        errors: ['NOT_FOUND'],
        totalsTimeoutMs: context.config.limits.summaryMs,
      },
      schema: {
        tags: ['Payments'],
        operationId: 'listAccountPayments',
        summary: 'List the payments of an account',
        params: AccountParams,
        querystring: paymentList.query,
        response: { 200: ListWithTotals(Payment, 'Payments found.', PaymentTotals) },
      },
    },
    async (request) => {
      const { accountId } = request.params;
      await getAccountRow(db, accountId, 'accountId');
      return list(request, request.query, accountId);
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
          'Each payment has up to 10 suggested accounts. The reasons come from the typed reference, the payer’s phone and the payer’s name.',
        querystring: unmatchedList.query,
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
          'After the assignment, the next payment with the same reference from the same payer usually matches this account. The payment must have ' +
          'a reference and the payer’s exact phone number, and must not be for the short code of another business. If the reference leads to ' +
          'another open account by then, the next payment stays unmatched, and both accounts are suggested.',
        params: UnmatchedParams,
        body: Assignment,
        response: { 200: Envelope(Payment, 'Payment assigned.') },
      },
    },
    async (request, reply) =>
      answerOnce(context, request, reply, async (txContext) => {
        const { accountId } = request.body;
        const payment = await assignPayment(txContext, actorOf(request), request.params.id, accountId);
        return ok(toPayment(payment, currency), 'Payment assigned.');
      }),
  );

  api.post(
    '/payments/:id/unassign',
    {
      config: { access: 'payments:assign', errors: ['NOT_FOUND', 'DUPLICATE_ENTRY'], repeatable: true },
      schema: {
        tags: ['Payments'],
        operationId: 'unassignPayment',
        summary: 'Unassign a payment from its account',
        description:
          'The payment is unmatched again and can be assigned to another account, even if it is reconciled. The service no longer matches ' +
          'payments by what it learned from the assignment. Payments that it has already matched in this way stay matched (to find them, ' +
          'use `filter[matchMethod]=learned`). If the amount is above APPROVAL_LIMIT, the request is sent for approval (202).',
        params: UnmatchedParams,
        body: Unassignment,
        response: {
          200: Envelope(Payment, 'Payment unassigned.'),
          202: Envelope(Approval, SENT_FOR_APPROVAL),
        },
      },
    },
    async (request, reply) =>
      answerOnce(context, request, reply, async (txContext) => {
        const { reason } = request.body;
        const outcome = await unassignPayment(txContext, actorOf(request), request.params.id, reason);
        if ('done' in outcome) return ok(toPayment(outcome.done, currency), 'Payment unassigned.');
        reply.status(202);
        return sentForApproval(actorOf(request), outcome.requested, currency, formatAccountNumber);
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
          'The payment stays in the list as reversed, and opposite ledger entries undo it. If a manual payment is reversed, notifications that ' +
          'were linked to it or conflicted with it are reprocessed in the same database transaction. If the amount is above APPROVAL_LIMIT, the request is sent for approval (202).',
        params: ReversalParams,
        body: Reversal,
        response: {
          200: Envelope(Payment, 'Payment reversed.'),
          202: Envelope(Approval, SENT_FOR_APPROVAL),
        },
      },
    },
    async (request, reply) =>
      answerOnce(context, request, reply, async (txContext) => {
        const { reason } = request.body;
        const outcome = await reversePayment(txContext, actorOf(request), request.params.id, reason);
        if ('done' in outcome) return ok(toPayment(outcome.done, currency), 'Payment reversed.');
        reply.status(202);
        return sentForApproval(actorOf(request), outcome.requested, currency, formatAccountNumber);
      }),
  );

  api.post(
    '/payments/:id/correct-amount',
    {
      config: { access: 'payments:reverse', errors: ['NOT_FOUND', 'DUPLICATE_ENTRY'], repeatable: true },
      schema: {
        tags: ['Payments'],
        operationId: 'correctPaymentAmount',
        summary: 'Correct the amount of a payment',
        description:
          'In one database transaction, reverses the payment, and records a payment with the right amount. It has the same account, ' +
          'payment method, date, reference, metadata and recorder, and names the reversed payment in `correctsPaymentId`. Only for payments that ' +
          'staff recorded. Refused, with the way out: a payment that a provider reported, or that is linked to its report; one with which ' +
          'a notification is in conflict; a reconciled, unmatched or reversed payment; and one with a pending request for approval. Needs also ' +
          '`payments:record`. If the old or the new amount is above APPROVAL_LIMIT, the correction is sent for approval (202).',
        params: CorrectionParams,
        body: Correction,
        response: {
          200: Envelope(Payment, 'Amount corrected.'),
          202: Envelope(Approval, SENT_FOR_APPROVAL),
        },
      },
    },
    async (request, reply) =>
      answerOnce(context, request, reply, async (txContext) => {
        const { params, body } = request;
        const outcome = await correctAmount(txContext, actorOf(request), params.id, body);
        if ('done' in outcome) return ok(toPayment(outcome.done, currency), 'Amount corrected.');
        reply.status(202);
        return sentForApproval(actorOf(request), outcome.requested, currency, formatAccountNumber);
      }),
  );

  externalIdRoutes(api, context, 'payment', {
    answer: Payment,
    example: 'ERP-PAY-3001',
    access: 'payments:read',
    editable: PaymentChanges,
    query: PaymentQuery,
    read: (id, actor, { expand }) => read(actor, id, expand),
  });
}
