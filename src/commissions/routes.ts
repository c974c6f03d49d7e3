import type { Actor, Context } from '../core/context.ts';
import type { Db, Tx } from '../core/database/db.ts';
import type { SnapshotReads } from '../core/database/snapshot-reads.ts';
import { actorOf, callerOf } from '../core/http/access.ts';
import type { Api } from '../core/http/api.ts';
import { Envelope, ListEnvelope, ListWithTotals, ok, okList } from '../core/http/envelope.ts';
import { notFound } from '../core/http/errors.ts';
import { IdParams } from '../core/http/fields.ts';
import { answerOnce } from '../core/http/idempotency.ts';
import { totalsOf, withSlowTotals } from '../core/lists/totals.ts';
import { mayDo } from '../rights.ts';
import { addRule, calculateCommission, changeCommission } from './commands.ts';
import { calculateMonth, changeMonth } from './month-commands.ts';
import {
  CalculateBody,
  Commission,
  CommissionChanges,
  CommissionMonth,
  CommissionSummary,
  CommissionTotals,
  commissionList,
  MonthParams,
  MonthStatusChange,
  NewRule,
  Rule,
  ruleList,
  UnclaimedSale,
  unclaimedSaleList,
} from './schema.ts';
import {
  countKept,
  countUncalculated,
  findCommission,
  listCommissions,
  listRules,
  listUnclaimedSales,
  sumMonth,
  type Visible,
} from './store.ts';
import { toCommission, toCommissionSummary, toMonth, toUnclaimedSale } from './view.ts';

const OWN_ONLY = 'Agents see only the commissions of their own employee (`employeeId` in `GET /auth/me`).';

export function commissionRoutes(api: Api, context: Context, summaries: SnapshotReads): void {
  const {
    db,
    currency,
    config: { limits },
  } = context;
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
      answerOnce(context, request, reply, async (txContext) => {
        const calculated = await calculateCommission(txContext, actorOf(request), request.body);
        return ok(toCommission(calculated, currency), 'Commission calculated.');
      }),
  );

  api.get(
    '/commissions/payments',
    {
      config: { access: 'commissions:read-own', totalsTimeoutMs: context.config.limits.summaryMs },
      schema: {
        tags,
        operationId: 'listCommissions',
        summary: 'List commissions',
        description: `Only \`GET /commissions/payments/{id}\` includes the lines of a commission. ${OWN_ONLY}`,
        querystring: commissionList.query,
        response: { 200: ListWithTotals(CommissionSummary, 'Commissions found.', CommissionTotals) },
      },
    },
    async (request) => {
      const visible = visibleTo(actorOf(request));
      const plan = withSlowTotals(request.query, summaries, callerOf(request));
      const page = await listCommissions(db, plan, visible);
      const rows = page.rows.map((row) => toCommissionSummary(row, currency));
      return okList({ ...page, rows, ...totalsOf(page, currency) }, 'Commissions found.');
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
      config: { access: 'commissions:approve', errors: ['NOT_FOUND', 'DUPLICATE_ENTRY'], confirmable: true },
      schema: {
        tags,
        operationId: 'changeCommissionStatus',
        summary: 'Approve a commission or mark it paid',
        description:
          'Approves a calculated commission, or marks an approved one as paid. To pay a month that has not ended, send a `confirmation`. If ' +
          'APPROVAL_LIMIT is set, a user marks it as paid, but not the user who has calculated it or created the API key that did. A paid commission ' +
          'with another `paymentReference` is DUPLICATE_ENTRY.',
        params: IdParams,
        body: CommissionChanges,
        response: { 200: Envelope(Commission, 'Commission changed.') },
      },
    },
    async (request) => {
      const { id } = request.params;
      const changed = await changeCommission(context, actorOf(request), id, request.body);
      return ok(toCommission(changed, currency), 'Commission changed.');
    },
  );

  api.get(
    '/commissions/months/:period',
    {
      config: { access: 'commissions:read' },
      schema: {
        tags,
        operationId: 'getCommissionMonth',
        summary: 'Count and sum the commissions of a month',
        description: '`GET /commissions/payments` with `period` lists the commissions.',
        params: MonthParams,
        response: { 200: Envelope(CommissionMonth, 'Month found.') },
      },
    },
    async (request) => ok(await readMonth(db, request.params.period), 'Month found.'),
  );

  api.post(
    '/commissions/months/:period/calculate',
    {
      config: {
        access: 'commissions:calculate',
        rate: 'bulk',
        repeatable: true,
        answerTimeoutMs: limits.bulkAnswerMs,
      },
      schema: {
        tags,
        operationId: 'calculateCommissionMonth',
        summary: 'Calculate all commissions of a month',
        description:
          'Calculates the commission of each employee who sold an account in the month, as `POST /commissions/calculate` without `salesData`. ' +
          'Commissions stay as they are if they are approved or paid, or if `salesData` named sales for them. A repeat calculates the others again.',
        params: MonthParams,
        response: { 200: Envelope(CommissionMonth, 'Month calculated.') },
      },
    },
    async (request, reply) =>
      answerOnce(context, request, reply, async (txContext) => {
        const { period } = request.params;
        await calculateMonth(txContext, actorOf(request), period);
        return ok(await readMonth(txContext.db, period), 'Month calculated.');
      }),
  );

  api.post(
    '/commissions/months/:period/status',
    {
      config: {
        access: 'commissions:approve',
        rate: 'bulk',
        repeatable: true,
        confirmable: true,
        answerTimeoutMs: limits.bulkAnswerMs,
      },
      schema: {
        tags,
        operationId: 'changeCommissionMonth',
        summary: 'Approve or pay all commissions of a month',
        description:
          'Approves all calculated commissions of the month, or marks all approved ones as paid, each as `PUT /commissions/payments/{id}`. ' +
          'If one of them cannot change, none does.',
        params: MonthParams,
        body: MonthStatusChange,
        response: { 200: Envelope(CommissionMonth, 'Month changed.') },
      },
    },
    async (request, reply) =>
      answerOnce(context, request, reply, async (txContext) => {
        const { period } = request.params;
        await changeMonth(txContext, actorOf(request), period, request.body);
        return ok(await readMonth(txContext.db, period), 'Month changed.');
      }),
  );

  async function readMonth(from: Db | Tx, period: string) {
    const [sums, uncalculated, kept] = await Promise.all([
      sumMonth(from, period),
      countUncalculated(from, period),
      countKept(from, period),
    ]);
    return toMonth(period, { sums, uncalculated, kept }, currency);
  }

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
      answerOnce(context, request, reply, async (txContext) => {
        const rule = await addRule(txContext, actorOf(request), request.body);
        reply.status(201);
        return ok(rule, 'Commission rule added.');
      }),
  );
}

function visibleTo(actor: Actor): Visible {
  return mayDo(actor, 'commissions:read') ? 'all' : { employeeId: actor.employeeId };
}
