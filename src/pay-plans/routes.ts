import type { Api } from '../core/api.ts';
import type { Context } from '../core/context.ts';
import { ListEnvelope, okList } from '../core/envelope.ts';
import { PayPlan, payPlanList } from './schema.ts';
import { listPayPlans } from './store.ts';

export function payPlanRoutes(api: Api, context: Context): void {
  api.get(
    '/payplans',
    {
      config: { access: 'catalogue:read' },
      schema: {
        tags: ['Pay plans'],
        summary: 'List pay plans',
        querystring: payPlanList.query,
        response: { 200: ListEnvelope(PayPlan) },
      },
    },
    async (request) => {
      const plan = payPlanList.read(request.query, context);
      return okList(await listPayPlans(context.db, context.currency, plan), 'Pay plans found.');
    },
  );
}
