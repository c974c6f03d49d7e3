import type { Context } from '../../core/context.ts';
import { actorOf } from '../../core/http/access.ts';
import type { Api } from '../../core/http/api.ts';
import { Envelope, ListEnvelope, ok, okList } from '../../core/http/envelope.ts';
import { IdParams } from '../../core/http/fields.ts';
import { answerOnce } from '../../core/http/idempotency.ts';
import { confirmCount, explainCount, saveCount } from './count-commands.ts';
import { listCounts } from './count-store.ts';
import {
  confirmDeposit,
  receiveHandover,
  rejectDeposit,
  startHandover,
  withdrawHandover,
} from './handover-commands.ts';
import { listHandovers } from './handover-store.ts';
import { visibleTo } from './rules.ts';
import {
  BankConfirmation,
  CashCount,
  CashOverview,
  CashReason,
  CountConfirmation,
  cashCountList,
  FourthParams,
  Handover,
  handoverList,
  NewCashCount,
  NewHandover,
  NewSettlement,
  OwnCash,
  ReceiverCount,
  SecondParams,
  Settlement,
  settlementList,
  ThirdParams,
} from './schema.ts';
import { confirmSettlement, rejectSettlement, requestSettlement } from './settlement-commands.ts';
import { listSettlements } from './settlement-store.ts';
import {
  readCount,
  readHandover,
  readOverview,
  readOwnCash,
  readSettlement,
  toCashCount,
  toHandover,
  toSettlement,
} from './view.ts';

const OWN_ONLY = 'Callers without `cash:read` see only their own.';

export function cashRoutes(api: Api, context: Context): void {
  const { db, currency } = context;
  const tags = ['Cash'];

  api.get(
    '/cash/own',
    {
      config: { access: 'cash:count' },
      schema: {
        tags,
        operationId: 'getOwnCash',
        summary: 'Get your own cash',
        description:
          'The last count of each method, the open cash-up, and the hand-overs that have not ended. What is expected is not shown.',
        response: { 200: Envelope(OwnCash, 'Cash found.') },
      },
    },
    async (request) => {
      return ok(await readOwnCash(context, actorOf(request)), 'Cash found.');
    },
  );

  api.get(
    '/cash/overview',
    {
      config: { access: 'cash:read' },
      schema: {
        tags,
        operationId: 'getCashOverview',
        summary: 'Show the cash of all holders',
        description:
          'In hand = last counted + what no count has taken. Cash of API keys and imports has no holder and is listed apart.',
        response: { 200: Envelope(CashOverview, 'Cash found.') },
      },
    },
    async (request) => {
      return ok(await readOverview(context, actorOf(request)), 'Cash found.');
    },
  );

  api.post(
    '/cash/counts',
    {
      config: { access: 'cash:count', errors: ['DUPLICATE_ENTRY'], repeatable: true },
      schema: {
        tags,
        operationId: 'saveCashCount',
        summary: 'Count your own cash',
        description:
          'Takes every payment, reversal and refund of the caller that no count has taken. The answer is the first to show what was ' +
          'expected. A difference needs a reason. The first count is the opening count, which finance confirms.',
        body: NewCashCount,
        response: { 201: Envelope(CashCount, 'Count saved.') },
      },
    },
    async (request, reply) =>
      answerOnce(context, request, reply, async (txContext) => {
        const actor = actorOf(request);
        const { id } = await saveCount(txContext, actor, request.body);
        reply.status(201);
        return ok(await readCount(txContext, actor, id), 'Count saved.');
      }),
  );

  api.get(
    '/cash/counts',
    {
      config: { access: 'cash:count' },
      schema: {
        tags,
        operationId: 'listCashCounts',
        summary: 'List cash counts',
        description: OWN_ONLY,
        querystring: cashCountList.query,
        response: { 200: ListEnvelope(CashCount, 'Counts found.') },
      },
    },
    async (request) => {
      const actor = actorOf(request);
      const page = await listCounts(db, request.query, visibleTo(actor));
      return okList(
        { ...page, rows: page.rows.map((row) => toCashCount(row, actor, currency)) },
        'Counts found.',
      );
    },
  );

  api.get(
    '/cash/counts/:id',
    {
      config: { access: 'cash:count', errors: ['NOT_FOUND'] },
      schema: {
        tags,
        operationId: 'getCashCount',
        summary: 'Get a cash count',
        description: OWN_ONLY,
        params: IdParams,
        response: { 200: Envelope(CashCount, 'Count found.') },
      },
    },
    async (request) => ok(await readCount(context, actorOf(request), request.params.id), 'Count found.'),
  );

  api.post(
    '/cash/counts/:id/explain',
    {
      config: { access: 'cash:count', errors: ['NOT_FOUND'], repeatable: true },
      schema: {
        tags,
        operationId: 'explainCashCount',
        summary: 'Give the reason of a difference',
        description: 'Closes the cash-up of the caller. The difference stays with the holder.',
        params: ThirdParams,
        body: CashReason,
        response: { 200: Envelope(CashCount, 'Cash-up closed.') },
      },
    },
    async (request, reply) =>
      answerOnce(context, request, reply, async (txContext) => {
        const actor = actorOf(request);
        const { id } = await explainCount(txContext, actor, request.params.id, request.body);
        return ok(await readCount(txContext, actor, id), 'Cash-up closed.');
      }),
  );

  api.post(
    '/cash/counts/:id/confirm',
    {
      config: { access: 'cash:confirm', errors: ['NOT_FOUND'], repeatable: true },
      schema: {
        tags,
        operationId: 'confirmCashCount',
        summary: 'Confirm an opening count',
        description: 'The caller must not be the holder.',
        params: SecondParams,
        body: CountConfirmation,
        response: { 200: Envelope(CashCount, 'Opening count confirmed.') },
      },
    },
    async (request, reply) =>
      answerOnce(context, request, reply, async (txContext) => {
        const actor = actorOf(request);
        const { id } = await confirmCount(txContext, actor, request.params.id, request.body.isEarlierCash);
        return ok(await readCount(txContext, actor, id), 'Opening count confirmed.');
      }),
  );

  api.post(
    '/cash/hand-overs',
    {
      config: { access: 'cash:count', errors: ['NOT_FOUND', 'DUPLICATE_ENTRY'], repeatable: true },
      schema: {
        tags,
        operationId: 'startCashHandover',
        summary: 'Hand cash over',
        description:
          'To a user: nothing moves before the receiver has counted the same amount. To the bank, with a `slipNumber`: the cash leaves ' +
          'the hand at once, and finance confirms it. Commission is never deducted. Giver and receiver need an opening count.',
        body: NewHandover,
        response: { 201: Envelope(Handover, 'Hand-over started.') },
      },
    },
    async (request, reply) =>
      answerOnce(context, request, reply, async (txContext) => {
        const actor = actorOf(request);
        const { id } = await startHandover(txContext, actor, request.body);
        reply.status(201);
        return ok(await readHandover(txContext, actor, id), 'Hand-over started.');
      }),
  );

  api.get(
    '/cash/hand-overs',
    {
      config: { access: 'cash:count' },
      schema: {
        tags,
        operationId: 'listCashHandovers',
        summary: 'List hand-overs of cash',
        description: OWN_ONLY,
        querystring: handoverList.query,
        response: { 200: ListEnvelope(Handover, 'Hand-overs found.') },
      },
    },
    async (request) => {
      const actor = actorOf(request);
      const page = await listHandovers(db, request.query, visibleTo(actor));
      const rows = page.rows.map((row) => toHandover(row, actor, currency));
      return okList({ ...page, rows }, 'Hand-overs found.');
    },
  );

  api.get(
    '/cash/hand-overs/:id',
    {
      config: { access: 'cash:count', errors: ['NOT_FOUND'] },
      schema: {
        tags,
        operationId: 'getCashHandover',
        summary: 'Get a hand-over of cash',
        description: OWN_ONLY,
        params: IdParams,
        response: { 200: Envelope(Handover, 'Hand-over found.') },
      },
    },
    async (request) =>
      ok(await readHandover(context, actorOf(request), request.params.id), 'Hand-over found.'),
  );

  api.post(
    '/cash/hand-overs/:id/receive',
    {
      config: { access: 'cash:count', errors: ['NOT_FOUND'], repeatable: true },
      schema: {
        tags,
        operationId: 'receiveCashHandover',
        summary: 'Count cash that you receive',
        description:
          'If the count is equal to that of the giver, the cash moves (`received`). Otherwise nothing moves, and the hand-over ends ' +
          '(`unequal`): count together, and start a new one.',
        params: IdParams,
        body: ReceiverCount,
        response: { 200: Envelope(Handover, 'Hand-over counted.') },
      },
    },
    async (request, reply) =>
      answerOnce(context, request, reply, async (txContext) => {
        const actor = actorOf(request);
        const { id } = await receiveHandover(txContext, actor, request.params.id, request.body.counted);
        return ok(await readHandover(txContext, actor, id), 'Hand-over counted.');
      }),
  );

  api.post(
    '/cash/hand-overs/:id/withdraw',
    {
      config: { access: 'cash:count', errors: ['NOT_FOUND'], repeatable: true },
      schema: {
        tags,
        operationId: 'withdrawCashHandover',
        summary: 'Withdraw your own hand-over',
        description: 'Possible until the receiver has counted.',
        params: SecondParams,
        response: { 200: Envelope(Handover, 'Hand-over withdrawn.') },
      },
    },
    async (request, reply) =>
      answerOnce(context, request, reply, async (txContext) => {
        const actor = actorOf(request);
        const { id } = await withdrawHandover(txContext, actor, request.params.id);
        return ok(await readHandover(txContext, actor, id), 'Hand-over withdrawn.');
      }),
  );

  api.post(
    '/cash/hand-overs/:id/confirm',
    {
      config: { access: 'cash:confirm', errors: ['NOT_FOUND'], repeatable: true },
      schema: {
        tags,
        operationId: 'confirmCashDeposit',
        summary: 'Confirm a deposit at the bank',
        description: 'The caller must not be the holder. A confirmed deposit never changes.',
        params: ThirdParams,
        body: BankConfirmation,
        response: { 200: Envelope(Handover, 'Deposit confirmed.') },
      },
    },
    async (request, reply) =>
      answerOnce(context, request, reply, async (txContext) => {
        const actor = actorOf(request);
        const { id } = await confirmDeposit(txContext, actor, request.params.id, request.body);
        return ok(await readHandover(txContext, actor, id), 'Deposit confirmed.');
      }),
  );

  api.post(
    '/cash/hand-overs/:id/reject',
    {
      config: { access: 'cash:confirm', errors: ['NOT_FOUND'], repeatable: true },
      schema: {
        tags,
        operationId: 'rejectCashDeposit',
        summary: 'Reject a deposit at the bank',
        description: 'The holder has the cash again. The caller must not be the holder.',
        params: FourthParams,
        body: CashReason,
        response: { 200: Envelope(Handover, 'Deposit rejected.') },
      },
    },
    async (request, reply) =>
      answerOnce(context, request, reply, async (txContext) => {
        const actor = actorOf(request);
        const { id } = await rejectDeposit(txContext, actor, request.params.id, request.body);
        return ok(await readHandover(txContext, actor, id), 'Deposit rejected.');
      }),
  );

  api.post(
    '/cash/settlements',
    {
      config: { access: 'cash:confirm', errors: ['NOT_FOUND', 'DUPLICATE_ENTRY'], repeatable: true },
      schema: {
        tags,
        operationId: 'requestCashSettlement',
        summary: 'Ask to settle differences of cash',
        description:
          'A second person must confirm it. A settlement posts nothing to the ledger, and changes the balance of no customer.',
        body: NewSettlement,
        response: { 201: Envelope(Settlement, 'Settlement requested.') },
      },
    },
    async (request, reply) =>
      answerOnce(context, request, reply, async (txContext) => {
        const actor = actorOf(request);
        const { id } = await requestSettlement(txContext, actor, request.body);
        reply.status(201);
        return ok(await readSettlement(txContext, actor, id), 'Settlement requested.');
      }),
  );

  api.get(
    '/cash/settlements',
    {
      config: { access: 'cash:read' },
      schema: {
        tags,
        operationId: 'listCashSettlements',
        summary: 'List settlements of cash',
        querystring: settlementList.query,
        response: { 200: ListEnvelope(Settlement, 'Settlements found.') },
      },
    },
    async (request) => {
      const actor = actorOf(request);
      const page = await listSettlements(db, request.query);
      const rows = page.rows.map((row) => toSettlement(row, actor, currency));
      return okList({ ...page, rows }, 'Settlements found.');
    },
  );

  api.get(
    '/cash/settlements/:id',
    {
      config: { access: 'cash:read', errors: ['NOT_FOUND'] },
      schema: {
        tags,
        operationId: 'getCashSettlement',
        summary: 'Get a settlement of cash',
        params: IdParams,
        response: { 200: Envelope(Settlement, 'Settlement found.') },
      },
    },
    async (request) =>
      ok(await readSettlement(context, actorOf(request), request.params.id), 'Settlement found.'),
  );

  api.post(
    '/cash/settlements/:id/confirm',
    {
      config: { access: 'cash:settle', errors: ['NOT_FOUND'], repeatable: true },
      schema: {
        tags,
        operationId: 'confirmCashSettlement',
        summary: 'Confirm a settlement as second person',
        description: 'The caller must be neither the requester nor the holder.',
        params: IdParams,
        response: { 200: Envelope(Settlement, 'Settlement confirmed.') },
      },
    },
    async (request, reply) =>
      answerOnce(context, request, reply, async (txContext) => {
        const actor = actorOf(request);
        const { id } = await confirmSettlement(txContext, actor, request.params.id);
        return ok(await readSettlement(txContext, actor, id), 'Settlement confirmed.');
      }),
  );

  api.post(
    '/cash/settlements/:id/reject',
    {
      config: { access: 'cash:settle', errors: ['NOT_FOUND'], repeatable: true },
      schema: {
        tags,
        operationId: 'rejectCashSettlement',
        summary: 'Reject a settlement',
        description:
          'The caller must not be the holder. The requester can take the settlement back like this.',
        params: SecondParams,
        body: CashReason,
        response: { 200: Envelope(Settlement, 'Settlement rejected.') },
      },
    },
    async (request, reply) =>
      answerOnce(context, request, reply, async (txContext) => {
        const actor = actorOf(request);
        const { id } = await rejectSettlement(txContext, actor, request.params.id, request.body);
        return ok(await readSettlement(txContext, actor, id), 'Settlement rejected.');
      }),
  );
}
