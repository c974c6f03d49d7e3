import type { Api } from '../core/api.ts';
import type { Context } from '../core/context.ts';
import { ListEnvelope, okList } from '../core/envelope.ts';
import { PaymentMethod, paymentMethodList } from './schema.ts';
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
        response: { 200: ListEnvelope(PaymentMethod) },
      },
    },
    async (request) => {
      const plan = paymentMethodList.read(request.query, context);
      return okList(await listPaymentMethods(context.db, plan), 'Payment methods found.');
    },
  );
}
