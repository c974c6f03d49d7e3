import type { Context } from '../../core/context.ts';
import { actorOf } from '../../core/http/access.ts';
import type { Api } from '../../core/http/api.ts';
import { Envelope, ListEnvelope, ok, okList } from '../../core/http/envelope.ts';
import { notFound } from '../../core/http/errors.ts';
import { IdParams } from '../../core/http/fields.ts';
import { answerOnce } from '../../core/http/idempotency.ts';
import { findCustomer } from '../store.ts';
import { updateKyc } from './commands.ts';
import { KycRecord, KycUpdate, kycList } from './schema.ts';
import { listKycRecords } from './store.ts';

export function kycRoutes(api: Api, context: Context): void {
  api.put(
    '/customers/:id/kyc',
    {
      config: { access: 'kyc:submit', errors: ['NOT_FOUND'], repeatable: true, confirmable: true },
      schema: {
        tags: ['Customers'],
        operationId: 'updateKyc',
        summary: 'Submit or decide a customer’s verification',
        description:
          'Each call adds a record to the history. If a user can decide (`kyc:decide`), the call sets the customer’s `kycStatus`. ' +
          'Other users can only submit records with the `verificationStatus` `pending`. Such a record does not replace an existing ' +
          '`kycStatus`. `kycReviewPending` is true while the newest record is pending. A document that has expired cannot verify a customer, ' +
          'and one whose number differs from the national id needs a `confirmation`. A decision without documents is about the newest ' +
          'documents of its `verificationType`. On the day `expiresAt` of such a document, the status becomes `expired`. To repeat a call without adding a second ' +
          'record, send an Idempotency-Key.',
        params: IdParams,
        body: KycUpdate,
        response: { 200: Envelope(KycRecord, 'KYC updated.') },
      },
    },
    async (request, reply) =>
      answerOnce(context, request, reply, async (txContext) =>
        ok(await updateKyc(txContext, actorOf(request), request.params.id, request.body), 'KYC updated.'),
      ),
  );

  api.get(
    '/customers/:id/kyc',
    {
      config: { access: 'kyc:read', errors: ['NOT_FOUND'] },
      schema: {
        tags: ['Customers'],
        operationId: 'listKycHistory',
        summary: 'List a customer’s verifications',
        params: IdParams,
        querystring: kycList.query,
        response: { 200: ListEnvelope(KycRecord, 'KYC records found.') },
      },
    },
    async (request) => {
      const { id } = request.params;
      if (!(await findCustomer(context.db, id))) throw notFound('customer', id);
      return okList(await listKycRecords(context.db, request.query, id), 'KYC records found.');
    },
  );
}
