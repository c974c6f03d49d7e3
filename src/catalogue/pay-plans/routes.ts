import { type Context, today } from '../../core/context.ts';
import type { Tx } from '../../core/database/db.ts';
import { actorOf } from '../../core/http/access.ts';
import type { Api } from '../../core/http/api.ts';
import { Envelope, ListEnvelope, ok, okList } from '../../core/http/envelope.ts';
import { notFound } from '../../core/http/errors.ts';
import { ifUnchanged } from '../../core/http/etags.ts';
import { IdParams } from '../../core/http/fields.ts';
import { repeatable } from '../../core/http/idempotency.ts';
import { changePayPlan, createPayPlan } from './commands.ts';
import { NewPayPlan, PayPlan, PayPlanChanges, PayPlanQuery, payPlanList } from './schema.ts';
import { findPayPlanRow, listPayPlans, lockPayPlan } from './store.ts';
import { toPayPlan } from './view.ts';

export function payPlanRoutes(api: Api, context: Context): void {
  const { db, currency } = context;
  const tags = ['Pay plans'];

  api.get(
    '/payplans',
    {
      config: { access: 'catalogue:read' },
      schema: {
        tags,
        operationId: 'listPayPlans',
        summary: 'List pay plans',
        querystring: payPlanList.query,
        response: { 200: ListEnvelope(PayPlan, 'Pay plans found.') },
      },
    },
    async (request) => {
      const { activationDate = today(context) } = request.query;
      const page = await listPayPlans(db, request.query);
      const rows = page.rows.map((row) => toPayPlan(row, currency, activationDate));
      return okList({ ...page, rows }, 'Pay plans found.');
    },
  );

  api.post(
    '/payplans',
    {
      config: { access: 'catalogue:write', errors: ['NOT_FOUND', 'DUPLICATE_ENTRY'], repeatable: true },
      schema: {
        tags,
        operationId: 'createPayPlan',
        summary: 'Add a pay plan',
        body: NewPayPlan,
        response: { 201: Envelope(PayPlan, 'Pay plan created.') },
      },
    },
    async (request, reply) =>
      repeatable(context, request, reply, async (txContext) => {
        const plan = await createPayPlan(txContext, actorOf(request), request.body);
        reply.status(201);
        return ok(toPayPlan(plan, currency, today(context)), 'Pay plan created.');
      }),
  );

  api.get(
    '/payplans/:id',
    {
      config: { access: 'catalogue:read', errors: ['NOT_FOUND'], editable: PayPlanChanges },
      schema: {
        tags,
        operationId: 'getPayPlan',
        summary: 'Get a pay plan',
        params: IdParams,
        querystring: PayPlanQuery,
        response: { 200: Envelope(PayPlan, 'Pay plan found.') },
      },
    },
    async (request) => {
      const plan = await findPayPlanRow(db, request.params.id);
      if (!plan) throw notFound('payplan', request.params.id);
      return ok(toPayPlan(plan, currency, request.query.activationDate ?? today(context)), 'Pay plan found.');
    },
  );

  api.put(
    '/payplans/:id',
    {
      config: {
        access: 'catalogue:write',
        errors: ['NOT_FOUND', 'DUPLICATE_ENTRY'],
        editable: PayPlanChanges,
      },
      schema: {
        tags,
        operationId: 'updatePayPlan',
        summary: 'Change a pay plan',
        description:
          'The terms of a plan never change, because accounts were opened with them. Add a new plan instead.',
        params: IdParams,
        body: PayPlanChanges,
        response: { 200: Envelope(PayPlan, 'Pay plan changed.') },
      },
    },
    async (request) => {
      const lock = async (tx: Tx, id: number) => {
        const row = await lockPayPlan(tx, id);
        return row && toPayPlan(row, currency, today(context));
      };
      const plan = await ifUnchanged(context, request, lock, (txContext) =>
        changePayPlan(txContext, actorOf(request), request.params.id, request.body),
      );
      return ok(toPayPlan(plan, currency, today(context)), 'Pay plan changed.');
    },
  );
}
