import type { Api } from '../core/api.ts';
import type { Context } from '../core/context.ts';
import { Envelope, ListEnvelope, ok, okList } from '../core/envelope.ts';
import { actorOf } from '../core/gate.ts';
import { repeatable } from '../core/idempotency.ts';
import { createPaymentMethod } from './commands.ts';
import { NewPaymentMethod, PaymentMethod, paymentMethodList } from './schema.ts';
import { listPaymentMethods } from './store.ts';

export function paymentMethodRoutes(api: Api, context: Context): void {
  api.get(
    '/payment-methods',
    {
      config: { access: 'catalogue:read' },
      schema: {
        tags: ['Payment methods'],
        summary: 'List payment methods',
        querystring: paymentMethodList.query,
        response: { 200: ListEnvelope(PaymentMethod, 'Payment methods found.') },
      },
    },
    async (request) => {
      const plan = paymentMethodList.read(request.query, context);
      return okList(await listPaymentMethods(context.db, plan), 'Payment methods found.');
    },
  );

  api.post(
    '/payment-methods',
    {
      config: { access: 'catalogue:write', errors: ['DUPLICATE_ENTRY'], repeatable: true },
      schema: {
        tags: ['Payment methods'],
        summary: 'Add a payment method',
        body: NewPaymentMethod,
        response: { 201: Envelope(PaymentMethod, 'Payment method created.') },
      },
    },
    async (request, reply) =>
      repeatable(context, request, reply, async (once) => {
        const method = await createPaymentMethod(once, actorOf(request), request.body);
        reply.status(201);
        return ok(method, 'Payment method created.');
      }),
  );
}
