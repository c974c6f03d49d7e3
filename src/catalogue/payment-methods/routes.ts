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
import { toPaymentMethod } from './view.ts';

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
      const page = await listPaymentMethods(context.db, request.query);
      const rows = page.rows.map((row) => toPaymentMethod(context, actorOf(request), row));
      return okList({ ...page, rows }, 'Payment methods found.');
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
        return ok(toPaymentMethod(context, actorOf(request), method), 'Payment method created.');
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
    async (request) => {
      const method = await ifUnchanged(context, request, lockPaymentMethod, (txContext) =>
        changePaymentMethod(txContext, actorOf(request), request.params.id, request.body),
      );
      return ok(toPaymentMethod(context, actorOf(request), method), 'Payment method changed.');
    },
  );
}
