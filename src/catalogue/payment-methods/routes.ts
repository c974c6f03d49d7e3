import type { Context } from '../../core/context.ts';
import type { Api } from '../../core/http/api.ts';
import { changeRoute, listAndCreateRoutes } from '../../core/http/crud.ts';
import { changePaymentMethod, createPaymentMethod } from './commands.ts';
import { NewPaymentMethod, PaymentMethod, PaymentMethodChanges, paymentMethodList } from './schema.ts';
import { listPaymentMethods, lockPaymentMethod } from './store.ts';
import { toPaymentMethod } from './view.ts';

export function paymentMethodRoutes(api: Api, context: Context): void {
  const described = { path: '/payment-methods', noun: 'payment method', answer: PaymentMethod };

  listAndCreateRoutes(api, context, {
    ...described,
    read: { access: 'catalogue:read', query: paymentMethodList.query },
    async list(query, actor) {
      const page = await listPaymentMethods(context.db, query);
      return { ...page, rows: page.rows.map((row) => toPaymentMethod(context, actor, row)) };
    },
    creation: { access: 'catalogue:write', body: NewPaymentMethod },
    create: async (txContext, actor, body) =>
      toPaymentMethod(context, actor, await createPaymentMethod(txContext, actor, body)),
  });

  changeRoute(api, context, {
    ...described,
    access: 'catalogue:write',
    errors: ['NOT_FOUND'],
    description:
      'If the mobile-money method is inactive, the service still posts the payments from providers.',
    body: PaymentMethodChanges,
    lock: lockPaymentMethod,
    change: async (txContext, actor, id, body) =>
      toPaymentMethod(context, actor, await changePaymentMethod(txContext, actor, id, body)),
  });
}
