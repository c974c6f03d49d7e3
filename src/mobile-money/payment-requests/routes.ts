import { AccountParams } from '../../accounts/schema.ts';
import { getAccountRow } from '../../accounts/store.ts';
import { actorOf } from '../../core/http/access.ts';
import type { Api } from '../../core/http/api.ts';
import { Envelope, ListEnvelope, ok } from '../../core/http/envelope.ts';
import { notFound } from '../../core/http/errors.ts';
import { IdParams } from '../../core/http/fields.ts';
import { answerOnce } from '../../core/http/idempotency.ts';
import type { PostingContext } from '../../payments/posting/post-payments.ts';
import { answerRoute } from '../providers/inbound.ts';
import { REQUEST_PROVIDER } from '../providers/registry.ts';
import { receiveAnswer } from './receive-answer.ts';
import { requestPayment } from './request-payment.ts';
import { NewPaymentRequest, PaymentRequest, requestList } from './schema.ts';
import { findRequest, listRequests } from './store.ts';
import { requestsFound, toPaymentRequest } from './view.ts';

export function paymentRequestRoutes(api: Api, context: PostingContext): void {
  const { db, currency } = context;

  api.post(
    '/accounts/:accountId/payment-requests',
    {
      config: {
        access: 'payment-requests:create',
        errors: ['NOT_FOUND', 'DUPLICATE_ENTRY', 'RATE_LIMITED'],
        repeatable: true,
      },
      schema: {
        tags: ['Payment requests'],
        operationId: 'requestPayment',
        summary: 'Ask a phone to pay',
        description:
          'The phone shows a prompt, and the customer confirms with the PIN. The request is stored, and then sent. To see its outcome, ' +
          'read it again or follow the events `payment_request.*`. A second open request to a phone gets DUPLICATE_ENTRY, and ' +
          'too many requests to a phone in a period get RATE_LIMITED. The amount is at most what the account owes, rounded up to whole units. The call gets 409 if the ' +
          'operator has not turned payment requests on (`paymentRequests` in `GET /settings`).',
        params: AccountParams,
        body: NewPaymentRequest,
        response: { 201: Envelope(PaymentRequest, 'Payment requested.') },
      },
    },
    async (request, reply) =>
      answerOnce(context, request, reply, async (txContext) => {
        const { accountId } = request.params;
        const row = await requestPayment(txContext, actorOf(request), accountId, request.body);
        reply.status(201);
        return ok(toPaymentRequest(row, currency), 'Payment requested.');
      }),
  );

  api.get(
    '/accounts/:accountId/payment-requests',
    {
      config: { access: 'payment-requests:read', errors: ['NOT_FOUND'] },
      schema: {
        tags: ['Payment requests'],
        operationId: 'listAccountPaymentRequests',
        summary: 'List the payment requests of an account',
        params: AccountParams,
        querystring: requestList.query,
        response: { 200: ListEnvelope(PaymentRequest, 'Payment requests found.') },
      },
    },
    async (request) => {
      const { accountId } = request.params;
      await getAccountRow(db, accountId, 'accountId');
      return requestsFound(await listRequests(db, request.query, accountId), currency);
    },
  );

  api.get(
    '/payment-requests',
    {
      config: { access: 'payment-requests:read' },
      schema: {
        tags: ['Payment requests'],
        operationId: 'listPaymentRequests',
        summary: 'List payment requests',
        querystring: requestList.query,
        response: { 200: ListEnvelope(PaymentRequest, 'Payment requests found.') },
      },
    },
    async (request) => requestsFound(await listRequests(db, request.query), currency),
  );

  api.get(
    '/payment-requests/:id',
    {
      config: { access: 'payment-requests:read', errors: ['NOT_FOUND'] },
      schema: {
        tags: ['Payment requests'],
        operationId: 'getPaymentRequest',
        summary: 'Get a payment request',
        params: IdParams,
        response: { 200: Envelope(PaymentRequest, 'Payment request found.') },
      },
    },
    async (request) => {
      const row = await findRequest(db, request.params.id);
      if (!row) throw notFound('payment_request', request.params.id);
      return ok(toPaymentRequest(row, currency), 'Payment request found.');
    },
  );

  answerRoute(api, context, REQUEST_PROVIDER, {
    call: 'requests',
    receiver: REQUEST_PROVIDER.requester,
    unreadable: {
      failure: 'the answer to a payment request is unreadable',
      message: 'must be the outcome of a payment request, with Body.stkCallback.ResultCode',
    },
    handle: ({ log }, key, body, answer) => receiveAnswer(context, log, key, body, answer),
  });
}
