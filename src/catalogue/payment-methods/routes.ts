import type { Context } from '../../core/context.ts';
import { actorOf } from '../../core/http/access.ts';
import type { Api } from '../../core/http/api.ts';
import { Envelope, ListEnvelope, ok, okList } from '../../core/http/envelope.ts';
import { ifUnchanged } from '../../core/http/etags.ts';
import { IdParams } from '../../core/http/fields.ts';
import { repeatable } from '../../core/http/idempotency.ts';
import { changePaymentMethod, createPaymentMethod } from './commands.ts';
import { NewPaymentMethod, PaymentMethod, PaymentMethodChanges, paymentMethodList } from './schema.ts';
import { listPaymentMethods, lockPaymentMethod } from './store.ts';

export function paymentMethodRoutes(api: Api, context: Context): void {
  api.get(
    '/payment-methods',
    {
      config: { access: 'catalogue:read' },
      schema: {
        tags: ['Payment methods'],
        operationId: 'listPaymentMethods',
        summary: 'List payment methods',
        querystring: paymentMethodList.query,
        response: { 200: ListEnvelope(PaymentMethod, 'Payment methods found.') },
      },
    },
    async (request) => {
      return okList(await listPaymentMethods(context.db, request.query), 'Payment methods found.');
    },
  );

  api.post(
    '/payment-methods',
    {
      config: { access: 'catalogue:write', errors: ['DUPLICATE_ENTRY'], repeatable: true },
      schema: {
        tags: ['Payment methods'],
        operationId: 'createPaymentMethod',
        summary: 'Add a payment method',
        body: NewPaymentMethod,
        response: { 201: Envelope(PaymentMethod, 'Payment method created.') },
      },
    },
    async (request, reply) =>
      repeatable(context, request, reply, async (txContext) => {
        const method = await createPaymentMethod(txContext, actorOf(request), request.body);
        reply.status(201);
        return ok(method, 'Payment method created.');
      }),
  );

  api.put(
    '/payment-methods/:id',
    {
      config: { access: 'catalogue:write', errors: ['NOT_FOUND'], editable: PaymentMethodChanges },
      schema: {
        tags: ['Payment methods'],
        operationId: 'updatePaymentMethod',
        summary: 'Change a payment method',
        description:
          'If the mobile-money method is inactive, the service still posts the payments from providers.',
        params: IdParams,
        body: PaymentMethodChanges,
        response: { 200: Envelope(PaymentMethod, 'Payment method changed.') },
      },
    },
    async (request) =>
      ok(
        await ifUnchanged(context, request, lockPaymentMethod, (txContext) =>
          changePaymentMethod(txContext, actorOf(request), request.params.id, request.body),
        ),
        'Payment method changed.',
      ),
  );
}
