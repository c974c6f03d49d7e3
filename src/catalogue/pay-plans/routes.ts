import { type Context, today } from '../../core/context.ts';
import type { Api } from '../../core/http/api.ts';
import { changeRoute, getRoute, listAndCreateRoutes } from '../../core/http/crud.ts';
import { Envelope, ok } from '../../core/http/envelope.ts';
import { notFound } from '../../core/http/errors.ts';
import { IdParams } from '../../core/http/fields.ts';
import { changePayPlan, createPayPlan } from './commands.ts';
import {
  NewPayPlan,
  PayPlan,
  PayPlanChanges,
  PayPlanPreview,
  PayPlanQuery,
  PayPlanSale,
  payPlanList,
} from './schema.ts';
import { findPayPlanRow, listPayPlans, lockPayPlan, type PayPlanRow } from './store.ts';
import { toPayPlan, toPayPlanPreview } from './view.ts';

export function payPlanRoutes(api: Api, context: Context): void {
  const { db, currency } = context;
  const described = { path: '/payplans', noun: 'pay plan', answer: PayPlan };
  const show = (row: PayPlanRow, activationDate = today(context)) => toPayPlan(row, currency, activationDate);

  listAndCreateRoutes(api, context, {
    ...described,
    read: { access: 'catalogue:read', query: payPlanList.query },
    async list(query) {
      const { activationDate = today(context) } = query;
      const page = await listPayPlans(db, query);
      return { ...page, rows: page.rows.map((row) => show(row, activationDate)) };
    },
    creation: { access: 'catalogue:write', body: NewPayPlan, errors: ['NOT_FOUND', 'DUPLICATE_ENTRY'] },
    create: async (txContext, actor, body) => show(await createPayPlan(txContext, actor, body)),
  });

  getRoute(api, {
    ...described,
    resource: 'payplan',
    access: 'catalogue:read',
    query: PayPlanQuery,
    editable: PayPlanChanges,
    async find(id, { activationDate }) {
      const row = await findPayPlanRow(db, id);
      return row && show(row, activationDate);
    },
  });

  api.post(
    '/payplans/:id/preview',
    {
      config: { access: 'catalogue:read', errors: ['NOT_FOUND'] },
      schema: {
        tags: ['Pay plans'],
        operationId: 'previewPayPlan',
        summary: 'Preview the schedule of a sale',
        description:
          'Stores nothing. `POST /api/accounts` with the same dates opens an account with this schedule.',
        params: IdParams,
        body: PayPlanSale,
        response: { 200: Envelope(PayPlanPreview, 'Schedule computed.') },
      },
    },
    async ({ params: { id }, body: { activationDate = today(context), firstDueDate } }) => {
      const row = await findPayPlanRow(db, id);
      if (!row) throw notFound('payplan', id);
      const preview = toPayPlanPreview(row, currency, { activationDate, firstDueDate });
      return ok(preview, 'Schedule computed.');
    },
  );

  changeRoute(api, context, {
    ...described,
    access: 'catalogue:write',
    description:
      'The terms of a plan never change, because accounts were opened with them. Add a new plan instead. A changed `earlyPayoff` applies to all accounts of the plan, from now on.',
    body: PayPlanChanges,
    async lock(tx, id) {
      const row = await lockPayPlan(tx, id);
      return row && show(row);
    },
    change: async (txContext, actor, id, body) => show(await changePayPlan(txContext, actor, id, body)),
  });
}
