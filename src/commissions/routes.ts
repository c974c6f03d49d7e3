import type { Actor, Context } from '../core/context.ts';
import { actorOf } from '../core/http/access.ts';
import type { Api } from '../core/http/api.ts';
import { Envelope, ListEnvelope, ok, okList } from '../core/http/envelope.ts';
import { notFound } from '../core/http/errors.ts';
import { IdParams } from '../core/http/fields.ts';
import { repeatable } from '../core/http/idempotency.ts';
import { mayDo } from '../rights.ts';
import { addRule, calculateCommission, changeCommission } from './commands.ts';
import {
  CalculateBody,
  Commission,
  CommissionChanges,
  CommissionSummary,
  commissionList,
  NewRule,
  Rule,
  ruleList,
  UnclaimedSale,
  unclaimedSaleList,
} from './schema.ts';
import { findCommission, listCommissions, listRules, listUnclaimedSales, type Visible } from './store.ts';
import { toCommission, toCommissionSummary, toUnclaimedSale } from './view.ts';

const OWN_ONLY = 'Agents see only the commissions of their own employee (`employeeId` in `GET /auth/me`).';

export function commissionRoutes(api: Api, context: Context): void {
  const { db, currency } = context;
  const tags = ['Commissions'];

  api.post(
    '/commissions/calculate',
    {
      config: { access: 'commissions:calculate', errors: ['NOT_FOUND', 'DUPLICATE_ENTRY'], repeatable: true },
      schema: {
        tags,
        operationId: 'calculateCommission',
        summary: 'Calculate an employee’s commission for a month',
        description:
          'Each sale has one line with rule, base, rate and amount. A new calculation replaces the lines. `leftOut` names the sales that no commission has. If the commission of the month is already paid, the answer is DUPLICATE_ENTRY. A month after the present one is refused.',
        body: CalculateBody,
        response: { 200: Envelope(Commission, 'Commission calculated.') },
      },
    },
    async (request, reply) =>
      repeatable(context, request, reply, async (txContext) => {
        const calculated = await calculateCommission(txContext, actorOf(request), request.body);
        return ok(toCommission(calculated, currency), 'Commission calculated.');
      }),
  );

  api.get(
    '/commissions/payments',
    {
      config: { access: 'commissions:read-own' },
      schema: {
        tags,
        operationId: 'listCommissions',
        summary: 'List commissions',
        description: `Only \`GET /commissions/payments/{id}\` includes the lines of a commission. ${OWN_ONLY}`,
        querystring: commissionList.query,
        response: { 200: ListEnvelope(CommissionSummary, 'Commissions found.') },
      },
    },
    async (request) => {
      const visible = visibleTo(actorOf(request));
      const page = await listCommissions(db, request.query, visible);
      const rows = page.rows.map((row) => toCommissionSummary(row, currency));
      return okList({ ...page, rows }, 'Commissions found.');
    },
  );

  api.get(
    '/commissions/payments/:id',
    {
      config: { access: 'commissions:read-own', errors: ['NOT_FOUND'] },
      schema: {
        tags,
        operationId: 'getCommission',
        summary: 'Get a commission and its sales',
        description: OWN_ONLY,
        params: IdParams,
        response: { 200: Envelope(Commission, 'Commission found.') },
      },
    },
    async (request) => {
      const { id } = request.params;
      const commission = await findCommission(db, visibleTo(actorOf(request)), id);
      if (!commission) throw notFound('commission', id);
      return ok(toCommission(commission, currency), 'Commission found.');
    },
  );

  api.get(
    '/commissions/unclaimed-sales',
    {
      config: { access: 'commissions:read-own' },
      schema: {
        tags,
        operationId: 'listUnclaimedSales',
        summary: 'List sales without commission',
        description:
          'The accounts whose sale has a share that no commission has. Pending and cancelled accounts earn no commission and are not listed. ' +
          OWN_ONLY,
        querystring: unclaimedSaleList.query,
        response: { 200: ListEnvelope(UnclaimedSale, 'Sales found.') },
      },
    },
    async (request) => {
      const page = await listUnclaimedSales(db, request.query, visibleTo(actorOf(request)));
      const rows = page.rows.map((row) => toUnclaimedSale(row, currency));
      return okList({ ...page, rows }, 'Sales found.');
    },
  );

  api.put(
    '/commissions/payments/:id',
    {
      config: { access: 'commissions:approve', errors: ['NOT_FOUND'], confirmable: true },
      schema: {
        tags,
        operationId: 'changeCommissionStatus',
        summary: 'Approve a commission or mark it paid',
        description:
          'Approves a calculated commission, or marks an approved one as paid. To pay a month that has not ended, send a `confirmation`.',
        params: IdParams,
        body: CommissionChanges,
        response: { 200: Envelope(Commission, 'Commission changed.') },
      },
    },
    async (request) => {
      const { status, confirmation } = request.body;
      const { id } = request.params;
      const changed = await changeCommission(context, actorOf(request), id, status, confirmation?.codes);
      return ok(toCommission(changed, currency), 'Commission changed.');
    },
  );

  api.get(
    '/commissions/rules',
    {
      config: { access: 'commissions:read' },
      schema: {
        tags,
        operationId: 'listCommissionRules',
        summary: 'List all versions of commission rules',
        querystring: ruleList.query,
        response: { 200: ListEnvelope(Rule, 'Commission rules found.') },
      },
    },
    async (request) => okList(await listRules(db, request.query), 'Commission rules found.'),
  );

  api.post(
    '/commissions/rules',
    {
      config: { access: 'commission-rules:write', errors: ['DUPLICATE_ENTRY'], repeatable: true },
      schema: {
        tags,
        operationId: 'setCommissionRule',
        summary: 'Set a commission rate',
        description: 'Adds a version of the rule. Earlier calculations keep the version that they used.',
        body: NewRule,
        response: { 201: Envelope(Rule, 'Commission rule added.') },
      },
    },
    async (request, reply) =>
      repeatable(context, request, reply, async (txContext) => {
        const rule = await addRule(txContext, actorOf(request), request.body);
        reply.status(201);
        return ok(rule, 'Commission rule added.');
      }),
  );
}

function visibleTo(actor: Actor): Visible {
  return mayDo(actor, 'commissions:read') ? 'all' : { employeeId: actor.employeeId };
}
