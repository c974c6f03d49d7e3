import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { activateDueAccounts } from '../../src/accounts/activate-due-accounts.ts';
import { EVENT_TYPES, EVENTS, type EventType } from '../../src/changes/events/catalogue-schema.ts';
import { judgePromises } from '../../src/collections/promises/judge-promises.ts';
import { inSnapshot } from '../../src/core/database/transactions.ts';
import { namesWith } from '../../src/core/declared-fields.ts';
import { customerFields } from '../../src/customers/schema.ts';
import { deleteAbandonedFiles } from '../../src/portfolio/import/commands.ts';
import { runChecks } from '../../src/reports/proof/checks-store.ts';
import { USER_ROLES } from '../../src/rights.ts';
import { endOutdatedApprovals } from '../../src/staff/approvals/commands.ts';
import { APPROVABLE_ACTIONS } from '../../src/start/approvable-actions.ts';
import {
  move,
  newAccount,
  newCustomer,
  notify,
  PASSWORD,
  pay,
  reverse,
  setToday,
  useInstance,
  useJobs,
  useService,
} from '../support/harness.ts';
import { type Answer, notification } from '../support/http.ts';
import { importAll, runImportJob, uploadFile } from '../support/imports.ts';
import { REACHED_BY_MOVES, STATUS_MODEL } from '../support/status-model.ts';
import { until } from '../support/waiting.ts';

const service = useService({ CASH_COUNTS: 'on' });
useJobs(service);
const limited = useInstance(service, { APPROVAL_LIMIT: '100' });

/** Personal data that the calls of this file send. No event may contain any of it. */
const PERSONAL = {
  ...Object.fromEntries(
    namesWith(customerFields, 'personal').map((name) => [name, customerFields[name].example]),
  ),
  phone: '+254733123987',
  secondPhone: '+254733123988',
  email: 'achieng.otieno@example.org',
  nationalId: '29384756',
  firstName: 'Achieng',
  lastName: 'Otieno',
};
const PERSONAL_TEXTS = [...Object.values(PERSONAL), '733123987', '@', 'LINET WAMBUI', 'private remark'];

type Data = Answer['body'];

const published = new Set<string>();

async function ok(answer: ReturnType<typeof service.call>): Promise<Data> {
  const { status, body, text } = await answer;
  expect(status, text).toBeLessThan(300);
  return body?.data;
}

async function post(path: string, body: object = {}): Promise<Data> {
  return ok(service.call('POST', path, body));
}

async function put(path: string, body: object): Promise<Data> {
  return ok(service.call('PUT', path, body));
}

let position: number | undefined;

/**
 * The events since the last call, with their data. Waits for all that are committed: a job can show its result just before the feed
 * learns that its transaction has ended.
 */
async function newEvents(): Promise<Data[]> {
  const events: Data[] = [];
  const { lastId } = await service.context.db
    .selectFrom('events')
    .select((eb) => eb.fn.max('id').as('lastId'))
    .executeTakeFirstOrThrow();
  await until('the feed to have every committed event', async () => {
    const after = position === undefined ? '' : `&after=${position}`;
    const page = await ok(service.call('GET', `/events?limit=1000${after}`));
    events.push(...page.events);
    position = page.after;
    return !page.hasMore && page.after >= Number(lastId);
  });
  for (const { type } of events) published.add(type);
  return events;
}

/** Expects that a call publishes these events, in this order. */
async function publishes<T>(expected: [EventType, object?][], call: () => Promise<T>): Promise<T> {
  await newEvents();
  const result = await call();
  const events = await newEvents();
  expect(events.map(({ type, data }) => [type, data])).toEqual(
    expected.map(([type, data]) => [type, data ? expect.objectContaining(data) : expect.anything()]),
  );
  return result;
}

/** A statement of the provider with one payment of 400 for a reference. */
function statement(receipt: string, reference: string): string {
  return [
    'Short Code:,600638',
    'Receipt No.,Completion Time,Initiation Time,Details,Transaction Status,Paid In,Withdrawn,Balance,Balance Confirmed,Reason Type,Other Party Info,Linked Transaction ID,A/C No.',
    `${receipt},20-11-2026 10:15:30,20-11-2026 10:15:28,Pay Bill,Completed,400.00,,1.00,true,Pay Utility,254733123987 - LINET WAMBUI,,${reference}`,
    '',
  ].join('\r\n');
}

async function statementDone(id: number): Promise<void> {
  const statusOf = async () => (await ok(service.call('GET', `/reconciliations/statements/${id}`))).status;
  let status: string;
  await until('the job of the statement', async () => {
    status = await statusOf();
    return status === 'done' || status === 'failed';
  });
  expect(await statusOf()).toBe('done');
}

const walks: (() => Promise<void>)[] = [];

/** A test that publishes events. The tests of all events together need these events, too, and so run it if it has not run. */
function walk(title: string, work: () => Promise<void>): void {
  let walked: Promise<void> | undefined;
  const walkOnce = () => {
    if (!walked) setToday(service, '2026-11-03');
    walked ??= work();
    return walked;
  };
  walks.push(walkOnce);
  it(title, walkOnce);
}

describe('a change publishes', () => {
  walk('customers and their KYC', async () => {
    const customer = await publishes([['customer.created', {}]], () => newCustomer(service, PERSONAL));
    await publishes([['customer.updated', { changedFields: ['email', 'phone'] }]], () =>
      put(`/customers/${customer.id}`, { email: PERSONAL.email, phone: PERSONAL.phone }),
    );
    const kyc = { verificationType: 'national_id', documents: [`number ${PERSONAL.nationalId}`] };
    await publishes([['kyc.submitted', { verificationType: 'national_id', kycStatus: 'pending' }]], () =>
      put(`/customers/${customer.id}/kyc`, { ...kyc, verificationStatus: 'pending' }),
    );
    await publishes([['kyc.decided', { verificationStatus: 'verified', kycStatus: 'verified' }]], () =>
      put(`/customers/${customer.id}/kyc`, { ...kyc, verificationStatus: 'verified' }),
    );
    const customerId = customer.id;
    const text = `Her number is ${PERSONAL.phone}`;
    const note = await publishes([['note.added', { customerId, accountId: null }]], () =>
      post(`/customers/${customerId}/notes`, { text }),
    );
    await publishes([['note.updated', { customerId, changedFields: ['text'] }]], () =>
      put(`/customers/${customerId}/notes/${note.id}`, { text: `${text}.` }),
    );
    await publishes([['note.hidden', { customerId }]], () =>
      post(`/customers/${customerId}/notes/${note.id}/hide`, { reason: 'private remark' }),
    );
  });

  walk('the cash of staff', async () => {
    const cash = 2;
    const [finance, holder] = [await service.signInAs('finance'), await service.signInAs('agent')];
    const as = (token: string, path: string, body: object = {}) =>
      ok(service.call('POST', `/cash${path}`, body, { token }));
    const count = (token: string, counted: number) =>
      as(token, '/counts', { paymentMethodId: cash, counted });
    const handOver = (token: string, fields: object) =>
      as(token, '/hand-overs', { paymentMethodId: cash, ...fields });
    const ofAdmin = { userId: 1, paymentMethodId: cash };
    const opening = await publishes([['cash_count.saved', { ...ofAdmin, counted: 900 }]], () =>
      count(service.adminToken, 900),
    );
    await publishes([['cash_count.confirmed', { ...ofAdmin, counted: 900 }]], () =>
      as(finance, `/counts/${opening.id}/confirm`, { isEarlierCash: true }),
    );
    const first = await count(holder, 100);
    await as(finance, `/counts/${first.id}/confirm`, { isEarlierCash: true });
    const short = await publishes(
      [['cash_count.saved', { counted: 70, expected: 100, differenceOfCount: -30 }]],
      () => count(holder, 70),
    );
    await publishes([['cash_count.explained', { differenceOfCount: -30 }]], () =>
      as(holder, `/counts/${short.id}/explain`, { reason: 'private remark' }),
    );
    const toUserId = short.holderId;
    for (const [counted, outcome] of [
      [50, 'received'],
      [49, 'unequal'],
    ] as const) {
      const sent = await publishes([['cash_handover.started', { ...ofAdmin, toUserId }]], () =>
        handOver(service.adminToken, { toUserId, amount: 50 }),
      );
      await publishes([[`cash_handover.${outcome}`, { ...ofAdmin, toUserId, amount: 50 }]], () =>
        as(holder, `/hand-overs/${sent.id}/receive`, { counted }),
      );
    }
    const sent = await handOver(service.adminToken, { toUserId, amount: 50 });
    await publishes([['cash_handover.withdrawn', ofAdmin]], () =>
      as(service.adminToken, `/hand-overs/${sent.id}/withdraw`),
    );
    for (const [ending, outcome, body] of [
      ['confirm', 'confirmed', { statementDate: '2026-11-03', statementText: 'private remark' }],
      ['reject', 'rejected', { reason: 'private remark' }],
    ] as const) {
      const deposit = await publishes([['cash_handover.deposited', { ...ofAdmin, amount: 20 }]], () =>
        handOver(service.adminToken, { slipNumber: `SLIP ${outcome}`, amount: 20 }),
      );
      await publishes([[`cash_handover.${outcome}`, { ...ofAdmin, amount: 20 }]], () =>
        as(finance, `/hand-overs/${deposit.id}/${ending}`, body),
      );
    }
    const difference = { kind: 'difference', holderId: toUserId, paymentMethodId: cash, amount: -30 };
    for (const [ending, outcome] of [
      ['reject', 'rejected'],
      ['confirm', 'confirmed'],
    ] as const) {
      const settlement = await publishes([['cash_settlement.requested', { userId: toUserId }]], () =>
        as(finance, '/settlements', { ...difference, reason: 'private remark' }),
      );
      await publishes([[`cash_settlement.${outcome}`, { userId: toUserId }]], () =>
        as(
          service.adminToken,
          `/settlements/${settlement.id}/${ending}`,
          ending === 'reject' ? { reason: 'private remark' } : {},
        ),
      );
    }
  });

  walk('calls and promises', async () => {
    const { id } = await newAccount(service, { activationDate: '2026-08-03' });
    const me = await ok(service.call('GET', '/auth/me'));
    const signal = new AbortController().signal;
    const note = 'private remark';
    await publishes([['account.assigned', { userId: me.id }]], () =>
      put('/call-list/assignments', { accountIds: [id], userId: me.id }),
    );
    const dispute = await publishes(
      [['call.recorded', { accountId: id, kind: 'call', result: 'dispute', promiseId: null }]],
      () => post('/calls', { accountId: id, result: 'dispute', note }),
    );
    await publishes([['call.dispute_closed', { accountId: id }]], () =>
      post(`/calls/${dispute.id}/close-dispute`, { reason: note }),
    );
    await publishes([['call.note_hidden', { accountId: id }]], () =>
      post(`/calls/${dispute.id}/hide-note`, { reason: note }),
    );
    await publishes([['call.marked_mistake', { accountId: id }]], () =>
      post(`/calls/${dispute.id}/mark-mistake`),
    );
    const promise = { amount: 400, date: '2026-11-03' };
    await publishes([['call.recorded', { result: 'promise' }]], () =>
      post('/calls', { accountId: id, result: 'promise', promise, note }),
    );
    setToday(service, '2026-11-04');
    const judged = { accountId: id, amount: 400, promiseDate: '2026-11-03' };
    await publishes([['promise.judged', { ...judged, status: 'broken' }]], () =>
      judgePromises(service.context, signal),
    );
    await pay(service, id, 400, { paymentDate: '2026-11-03' });
    service.clock.set(new Date('2026-11-04T12:00:00Z'));
    await publishes(
      [['promise.judgement_changed', { ...judged, previousStatus: 'broken', status: 'kept' }]],
      () => judgePromises(service.context, signal),
    );
    setToday(service, '2026-11-03');
  });

  walk('the activation of an account', async () => {
    setToday(service, '2026-11-02');
    await publishes(
      [['customer.created'], ['account.opened', { status: 'pending', activationDate: '2026-11-03' }]],
      () => newAccount(service, { activationDate: '2026-11-03' }),
    );
    setToday(service, '2026-11-03');
    await publishes([['account.activated', { previousStatus: 'pending', status: 'active' }]], () =>
      activateDueAccounts(service.context, new AbortController().signal),
    );
  });

  walk('every other change of an account', async () => {
    const { id } = await newAccount(service);
    await publishes([['account.suspended']], () => move(service, id, 'suspended'));
    await publishes([['account.reactivated']], () => move(service, id, 'active'));
    for (const status of REACHED_BY_MOVES) {
      const { movesFromActive, ends } = STATUS_MODEL[status];
      const { id } = await newAccount(service);
      for (const step of movesFromActive.slice(0, -1)) await move(service, id, step);
      const type = `account.${status}` as EventType;
      const dueDateEnds: [EventType, object] = ['account.paid_until_changed', { nextDueDate: null }];
      await publishes(ends === null ? [[type]] : [[type], dueDateEnds], () => move(service, id, status));
    }
    const other = await newAccount(service);
    const payment = await publishes(
      [
        ['payment.received', { amount: 22_800, source: 'manual' }],
        ['account.paid_until_changed', { nextDueDate: null }],
        ['account.completed', { status: 'completed' }],
      ],
      () => pay(service, other.id, 22_800),
    );
    await publishes([['payment.reversed'], ['account.paid_until_changed'], ['account.reopened']], () =>
      reverse(service, payment.id),
    );
    await pay(service, other.id, 500);
    const { id: accountId } = await newAccount(service);
    const mistaken = await pay(service, accountId, 40);
    await publishes(
      [
        ['payment.reversed', { accountId, amount: 40 }],
        ['payment.received', { accountId, amount: 50 }],
        ['payment.corrected', { accountId, amount: 40, correctedAmount: 50 }],
      ],
      () => post(`/payments/${mistaken.id}/correct-amount`, { amount: 50, reason: 'private remark' }),
    );
    await publishes(
      [
        ['account.credit_changed', { credit: 500, previousCredit: 0 }],
        ['account.cancelled', { previousStatus: 'active' }],
        ['account.paid_until_changed', { nextDueDate: null }],
      ],
      () => move(service, other.id, 'cancelled'),
    );
  });

  walk('changes of a plan', async () => {
    const { id } = await newAccount(service);
    await pay(service, id, 22_800);
    const change = (body: object, version: number) =>
      post(`/accounts/${id}/plan-changes`, { ...body, reason: 'private remark', confirm: { version } });
    await publishes(
      [
        [
          'account.plan_changed',
          {
            kind: 'price_correction',
            planVersion: 1,
            total: 22_000,
            previousTotal: 22_800,
            nextDueDate: null,
          },
        ],
        ['account.credit_changed', { credit: 800, previousCredit: 0 }],
      ],
      () => change({ kind: 'price_correction', amount: 800 }, 0),
    );
    await post(`/accounts/${id}/credit/refund`, { amount: 800, reason: 'private remark' });
    await newEvents();
    await publishes(
      [
        [
          'account.plan_changed',
          { kind: 'undo', planVersion: 2, total: 22_800, nextDueDate: expect.any(String) },
        ],
        ['account.paid_until_changed', { nextDueDate: expect.any(String), previousNextDueDate: null }],
        ['account.reopened', { status: 'active' }],
      ],
      () => change({ kind: 'undo' }, 1),
    );
  });

  walk('the deferral of many accounts', async () => {
    const metadata = { region: 'private remark' };
    const { id: customerId } = await newCustomer(service, { metadata });
    await newAccount(service, { customerId });
    await newAccount(service, { customerId });
    const body = { filter: { customerMetadata: metadata }, from: '2026-11-16', periods: 1 };
    const prepare = () => post('/plan-changes/bulk-deferrals', { ...body, reason: 'private remark' });
    const discarded = await prepare();
    await publishes([['bulk_deferral.discarded', {}]], () =>
      post(`/plan-changes/bulk-deferrals/${discarded.id}/discard`),
    );
    const { id } = await prepare();
    const path = `/plan-changes/bulk-deferrals/${id}`;
    const untilIs = (status: string) =>
      until(`bulk deferral ${status}`, async () => (await ok(service.call('GET', path))).status === status);
    await untilIs('draft');
    const changed = (kind: string, planVersion: number): [EventType, object] => [
      'account.plan_changed',
      { kind, planVersion },
    ];
    await publishes(
      [
        ['bulk_deferral.started', { accountCount: 2 }],
        changed('deferral', 1),
        changed('deferral', 1),
        ['bulk_deferral.ended', { changedCount: 2, skippedCount: 0 }],
      ],
      async () => {
        await post(`${path}/confirm`);
        await untilIs('done');
      },
    );
    await publishes(
      [
        ['bulk_deferral.undo_started', { accountCount: 2 }],
        changed('undo', 2),
        changed('undo', 2),
        ['bulk_deferral.undo_ended', { changedCount: 2, skippedCount: 0 }],
      ],
      async () => {
        await post(`${path}/undo`, { reason: 'private remark' });
        await untilIs('undone');
      },
    );
  });

  walk('moves of credit', async () => {
    const from = await newAccount(service);
    const to = await newAccount(service);
    await pay(service, from.id, 22_900);
    await publishes(
      [
        ['credit.transferred', { toAccountId: to.id, amount: 40 }],
        ['credit.received', { fromAccountId: from.id, amount: 40 }],
        ['account.credit_changed', { credit: 60, previousCredit: 100 }],
      ],
      () =>
        post(`/accounts/${from.id}/credit/transfer`, {
          toAccountId: to.id,
          amount: 40,
          reason: 'private remark',
        }),
    );
    await publishes(
      [
        ['credit.refunded', { amount: 60 }],
        ['account.credit_changed', { credit: 0 }],
      ],
      () => post(`/accounts/${from.id}/credit/refund`, { amount: 60, reason: 'private remark' }),
    );
  });

  walk('what a provider reports, and what staff do with it', async () => {
    const { id, accountNumber } = await newAccount(service);
    await publishes(
      [
        ['payment.received', { source: 'webhook' }],
        ['payment.matched', { matchMethod: 'account_number' }],
      ],
      () =>
        notify(service, { BillRefNumber: accountNumber, MSISDN: '254733123987', FirstName: 'LINET WAMBUI' }),
    );
    const { body } = await publishes(
      [
        ['payment.received', { status: 'unmatched' }],
        ['payment.unmatched', { amount: 400 }],
      ],
      () => notify(service, { BillRefNumber: 'nobody', MSISDN: '254733123987' }),
    );
    const { paymentId } = body.data;
    await publishes([['payment.assigned', { accountId: id }]], () =>
      post(`/payments/${paymentId}/assign`, { accountId: id }),
    );
    await publishes([['payment.unassigned', { accountId: id }]], () =>
      post(`/payments/${paymentId}/unassign`, { reason: 'private remark' }),
    );
  });

  walk('links and conflicts of manual payments', async () => {
    const { id, accountNumber } = await newAccount(service);
    const linked = notification({ BillRefNumber: accountNumber });
    await pay(service, id, 400, { transactionRef: linked.TransID });
    await publishes([['payment.linked', { accountId: id, amount: 400 }]], () => notify(service, linked));
    const contradicting = notification({ BillRefNumber: accountNumber, TransAmount: '900.00' });
    const manual = await pay(service, id, 400, { transactionRef: contradicting.TransID });
    await newEvents();
    await notify(service, contradicting);
    const [event, ...others] = await newEvents();
    expect(others).toEqual([]);
    expect(event).toMatchObject({
      type: 'notification.conflict',
      resource: 'notification',
      data: { conflictingPaymentId: manual.id, amount: 900 },
    });
    const shown = await ok(service.call('GET', `/notifications?filter[id]=${event.resourceId}`));
    expect(shown).toMatchObject([{ outcome: 'conflict', conflictingPaymentId: manual.id }]);
    await newEvents();
    await post(`/notifications/${event.resourceId}/resolve`, { paymentId: null, reason: 'private remark' });
    expect((await newEvents()).map(({ type }) => type)).toEqual(
      expect.arrayContaining(['payment.reversed', 'payment.received', 'notification.resolved']),
    );
  });

  walk('requests for approval', async () => {
    const token = await service.signInAs('finance');
    const { id: accountId } = await newAccount(service);
    const { id: paymentId } = await pay(service, accountId, 400);
    const request = () =>
      publishes(
        [
          [
            'approval.requested',
            { action: 'reverse_payment', accountId, paymentId, bulkDeferralId: null, amount: 400 },
          ],
        ],
        () =>
          ok(limited.call('POST', `/payments/${paymentId}/reverse`, { reason: 'private remark' }, { token })),
      );
    const first = await request();
    await publishes([['approval.rejected', { action: 'reverse_payment', paymentId }]], () =>
      post(`/approvals/${first.id}/reject`, { reason: 'private remark' }),
    );
    const second = await request();
    await publishes([['approval.withdrawn', { accountId, paymentId }]], () =>
      ok(service.call('POST', `/approvals/${second.id}/withdraw`, undefined, { token })),
    );
    const third = await request();
    await post('/payments/reconcile', { paymentIds: [paymentId] });
    await publishes([['approval.obsolete', { accountId, paymentId }]], () =>
      endOutdatedApprovals(service.context, APPROVABLE_ACTIONS, new AbortController().signal),
    );
    expect(await ok(service.call('GET', `/approvals/${third.id}`))).toMatchObject({ status: 'obsolete' });
    const fourth = await request();
    await publishes(
      [
        ['payment.reversed', { accountId, amount: 400 }],
        ['approval.approved', { action: 'reverse_payment', amount: 400 }],
      ],
      () => post(`/approvals/${fourth.id}/approve`),
    );
  });

  walk('reconciliations', async () => {
    const { id } = await newAccount(service);
    const first = await pay(service, id, 10);
    const second = await pay(service, id, 20);
    await publishes(
      [
        ['reconciliation.created', { paymentCount: 2, total: 30, providerStatementId: null }],
        ['payment.reconciled', { amount: 10 }],
        ['payment.reconciled', { amount: 20 }],
      ],
      () => post('/payments/reconcile', { paymentIds: [first.id, second.id] }),
    );
  });

  walk('statements of the provider', async () => {
    setToday(service, '2026-11-30');
    const { accountNumber } = await newAccount(service);
    await newEvents();
    const answer = await service.call(
      'POST',
      '/reconciliations/statements',
      statement('EVT0000001', accountNumber),
      {
        headers: { 'content-type': 'text/csv' },
      },
    );
    expect(answer.status, answer.text).toBe(201);
    const { id } = answer.body.data;
    await statementDone(id);
    expect((await newEvents()).map(({ type, data }) => [type, data])).toEqual([
      ['statement.received', { lineCount: 1 }],
      ['statement.break_found', { breakCount: 1 }],
    ]);
    for (const stage of ['match', 'import', 'reconcile']) {
      await post(`/reconciliations/statements/${id}/${stage}`, {});
      await statementDone(id);
    }
    expect((await newEvents()).map(({ type }) => type)).toEqual([
      'statement.matching_started',
      'statement.break_found',
      'statement.importing_started',
      'payment.received',
      'payment.matched',
      'statement.reconciling_started',
      'reconciliation.created',
      'payment.reconciled',
    ]);
  });

  walk('invoices', async () => {
    const { id } = await newAccount(service);
    const items = [{ description: `for ${PERSONAL.firstName}`, quantity: 2, unitPrice: 150 }];
    const invoice = await publishes([['invoice.issued', { accountId: id, total: 300 }]], () =>
      post('/invoices', { accountId: id, items }),
    );
    await publishes([['invoice.voided', { accountId: id }]], () =>
      post(`/invoices/${invoice.id}/void`, { reason: 'private remark' }),
    );
  });

  walk('employees and commissions', async () => {
    const employee = await publishes([['employee.created', { active: true }]], () =>
      post('/employees', { name: PERSONAL.lastName, phone: PERSONAL.phone }),
    );
    await publishes([['employee.updated', { changedFields: ['name'] }]], () =>
      put(`/employees/${employee.id}`, { name: PERSONAL.firstName }),
    );
    await publishes([['commission_rule.created', { rateBasisPoints: 300 }]], () =>
      post('/commissions/rules', { category: 'pump', rateBasisPoints: 300 }),
    );
    const employeeId = employee.id;
    const body = { employeeId, period: '2026-10', salesData: [{ productId: 1, amount: 100 }] };
    const commission = await publishes([['commission.calculated', { employeeId, total: 2 }]], () =>
      post('/commissions/calculate', body),
    );
    await publishes([['commission.approved', { employeeId, period: '2026-10', total: 2 }]], () =>
      put(`/commissions/payments/${commission.id}`, { status: 'approved' }),
    );
    await publishes([['commission.paid', { employeeId, period: '2026-10', total: 2 }]], () =>
      put(`/commissions/payments/${commission.id}`, { status: 'paid' }),
    );
  });

  walk('the catalogue', async () => {
    const product = await publishes([['product.created', { price: 500, active: true }]], () =>
      post('/products', { sku: 'EVT-1', name: 'Lamp', category: 'lamp', price: 500 }),
    );
    await publishes([['product.updated', { changedFields: ['price'] }]], () =>
      put(`/products/${product.id}`, { price: 600 }),
    );
    await publishes([['product.configuration_created', { price: null, isDefault: true }]], () =>
      post(`/products/${product.id}/configurations`, { name: 'First', isDefault: true }),
    );
    await publishes(
      [
        ['product.configuration_updated', { isDefault: false }],
        ['product.configuration_created', { isDefault: true }],
      ],
      () => post(`/products/${product.id}/configurations`, { name: 'Second', isDefault: true }),
    );
    const plan = await publishes([['payplan.created', { productId: product.id, active: true }]], () =>
      post('/payplans', {
        name: 'Lamp plan',
        productId: product.id,
        deposit: 100,
        instalmentAmount: 50,
        instalmentCount: 10,
        frequency: 'weekly',
      }),
    );
    await publishes([['payplan.updated', { changedFields: ['active'] }]], () =>
      put(`/payplans/${plan.id}`, { active: false }),
    );
    const method = await publishes([['payment_method.created', { active: true }]], () =>
      post('/payment-methods', { code: 'cheque', name: 'Cheque' }),
    );
    await publishes([['payment_method.updated', { changedFields: ['active'] }]], () =>
      put(`/payment-methods/${method.id}`, { active: false }),
    );
  });

  walk('the file of a list', async () => {
    await publishes([['list.exported', { list: 'customers', rowCount: 0 }]], () =>
      ok(service.call('GET', `/customers.csv?search=${PERSONAL.lastName}x`)),
    );
  });

  walk('external ids', async () => {
    const account = await newAccount(service);
    const payment = await pay(service, account.id, 10);
    const changes = { externalId: 'ours 1' };
    await publishes([['account.updated', { changedFields: ['externalId'] }]], () =>
      put(`/accounts/${account.id}`, changes),
    );
    await publishes([['payment.updated', { changedFields: ['externalId'] }]], () =>
      put(`/payments/${payment.id}`, changes),
    );
  });

  walk('API keys', async () => {
    const { id } = await publishes([['api_key.created', { role: 'viewer' }]], () =>
      post('/api-keys', { name: 'Key', role: 'viewer' }),
    );
    await publishes([['api_key.updated', { changedFields: ['name'] }]], () =>
      put(`/api-keys/${id}`, { name: 'Other name' }),
    );
    await publishes([['api_key.rotated', {}]], () => post(`/api-keys/${id}/rotate`));
    await publishes([['api_key.revoked', {}]], () => post(`/api-keys/${id}/revoke`));
  });

  walk('users, invitations and sessions', async () => {
    const names = { firstName: PERSONAL.firstName, lastName: PERSONAL.lastName };
    const user = await publishes([['user.created', { role: 'viewer', employeeId: null }]], () =>
      post('/users', { ...names, email: PERSONAL.email, password: PASSWORD, role: 'viewer' }),
    );
    await publishes([['user.updated', { changedFields: ['role'] }]], () =>
      put(`/users/${user.id}`, { role: 'finance' }),
    );
    const session = await post('/auth/login', { email: PERSONAL.email, password: PASSWORD });
    const token = session.accessToken;
    await publishes([['user.password_changed', {}]], () =>
      ok(
        service.call(
          'PUT',
          '/auth/password',
          { currentPassword: PASSWORD, newPassword: 'another long password' },
          { token },
        ),
      ),
    );
    await publishes([['session.ended', {}]], () =>
      service.call('POST', '/auth/logout', undefined, { token }),
    );
    const invitation = { email: 'invited.person@example.org', role: 'agent' };
    const first = await publishes([['invitation.created', { purpose: 'sign_up', role: 'agent' }]], () =>
      post('/users/invitations', invitation),
    );
    await publishes([['invitation.revoked', {}]], () => post(`/users/invitations/${first.id}/revoke`));
    const second = await post('/users/invitations', invitation);
    await newEvents();
    await post('/auth/register', {
      ...names,
      email: invitation.email,
      password: PASSWORD,
      invitation: second.token,
    });
    expect((await newEvents()).map(({ type }) => type).sort()).toEqual([
      'invitation.accepted',
      'user.created',
    ]);
  });
});

describe('a portfolio import', () => {
  walk('publishes the start and the result of its check, its run and a refused undo', async () => {
    const { id } = await post('/imports');
    await uploadFile(
      service,
      id,
      'customers',
      `external_id,first_name,last_name,phone\nCRM-7,Achieng,Otieno,${PERSONAL.phone}`,
    );
    const found = { errorCount: 0, warningCount: 0, differenceCount: 0 };
    await publishes(
      [
        ['import.checking_started', { previousStatus: 'uploading' }],
        ['import.checked', found],
      ],
      () => runImportJob(service, id, 'check'),
    );
    const counts = { customerCount: 1, accountCount: 0, paymentCount: 0 };
    await publishes([['import.running_started'], ['import.completed', counts]], () =>
      runImportJob(service, id, 'run'),
    );
    const customer = await ok(service.call('GET', '/customers/by-external-id/CRM-7'));
    const account = await publishes([['account.opened']], () =>
      newAccount(service, { customerId: customer.id }),
    );
    await publishes([['import.undoing_started'], ['import.failed', { previousStatus: 'undoing' }]], () =>
      runImportJob(service, id, 'undo'),
    );
    expect(account.customerId).toBe(customer.id);
  });

  walk('publishes that it was undone, and that its files were deleted', async () => {
    const file = 'external_id,first_name,last_name,phone\nCRM-8,Achieng,Otieno,+254733123988';
    const done = await importAll(service, { customers: file });
    await publishes([['import.undoing_started'], ['import.undone', {}]], () =>
      runImportJob(service, done.id, 'undo'),
    );
    setToday(service, '2026-11-04');
    await uploadFile(service, (await post('/imports')).id, 'customers', file);
    setToday(service, '2026-12-05');
    await publishes([['import.files_deleted', {}]], () =>
      deleteAbandonedFiles(service.context, new AbortController().signal),
    );
  });
});

/** Where the subject of an event is read. */
function pathOf({ type, resource, resourceId, data }: Data): string {
  if (type === 'import.completed' || type === 'import.undone') return '/accounts';
  if (resource === 'note') return `/customers/${data.customerId}/notes/${resourceId}`;
  if (resource === 'payment_method') return '/payment-methods';
  if (resource === 'commission_rule') return '/commissions/rules';
  if (resource === 'configuration') return '/products';
  if (resource === 'promise') return '/promises';
  if (resource === 'bulk_deferral') return `/plan-changes/bulk-deferrals/${resourceId}`;
  if (resource === 'list') return '/audit';
  if (type === 'cash_handover.started') return '/cash/own';
  if (resource === 'cash_handover') return `/cash/hand-overs/${resourceId}`;
  if (resource === 'cash_count' || resource === 'cash_settlement') {
    return `/${resource.replace('_', '/')}s/${resourceId}`;
  }
  if (resource === 'commission') return `/commissions/payments/${resourceId}`;
  if (resource === 'provider_statement') return `/reconciliations/statements/${resourceId}`;
  if (resource === 'invitation') return `/users/invitations/${resourceId}`;
  return `/${resource.replaceAll('_', '-')}s/${resourceId}`;
}

describe('all events together', () => {
  beforeAll(async () => {
    for (const walkOnce of walks) await walkOnce();
  });

  it('are of every type of the catalogue', () => {
    // The tests of webhook endpoints, payment requests, status queries, lost notifications, proofs and identity
    // providers publish the others.
    const missing = EVENT_TYPES.filter(
      (type) =>
        !published.has(type) &&
        !/^(webhook_endpoint|payment_request|status_query|provider|balance_gap|proof)\./.test(type),
    );
    expect(missing).toEqual(['user.identity_linked']);
  });

  it('have exactly the data of their type', async () => {
    const rows = await service.context.db.selectFrom('events').select(['type', 'data', 'version']).execute();
    const shown = rows.map(({ type, data, version }) => [type, version, Object.keys(data as object).sort()]);
    expect(shown).toEqual(rows.map(({ type }) => [type, 1, [...EVENTS[type as EventType].data].sort()]));
  });

  it('contain no personal data', async () => {
    const { rows } = await sql<{ row: string }>`select e::text as row from events e`.execute(
      service.context.db,
    );
    expect(rows.length).toBeGreaterThan(90);
    for (const text of PERSONAL_TEXTS) {
      expect(
        rows.filter(({ row }) => row.includes(text)),
        text,
      ).toEqual([]);
    }
  });

  it.each(USER_ROLES)('are shown to the role %s exactly if the role may read their subject', async (role) => {
    const token = await service.signInAs(role);
    const statuses = new Map<string, number>();
    const { body } = await service.call('GET', '/events?limit=1000');
    const seen = await service.call('GET', '/events?limit=1000', undefined, { token });
    expect(body.data.hasMore).toBe(false);
    const expected: Data[] = [];
    for (const event of body.data.events) {
      const path = pathOf(event);
      // A role may read either all subjects of a kind or none. Exception: its own commissions.
      const kind = event.resource === 'commission' ? path : path.replace(/\d+$/, '');
      if (!statuses.has(kind)) {
        const { status, text } = await service.call('GET', path, undefined, { token });
        // 404: the commission of another employee.
        expect([200, 403, 404], `${path} ${text}`).toContain(status);
        statuses.set(kind, status);
      }
      if (statuses.get(kind) === 200) expected.push(event);
    }
    expect(seen.body.data.events).toEqual(expected);
    expect([...statuses.values()].includes(403)).toBe(role !== 'admin');
  });

  it('are one for each audit entry', async () => {
    const findings = await inSnapshot(service.context.db, (tx) => runChecks(tx));
    const ofEvents = findings.filter(({ check }) => check.startsWith('events_'));
    expect(ofEvents.length).toBeGreaterThan(0);
    expect(ofEvents.filter(({ violationCount }) => violationCount > 0)).toEqual([]);
  });
});
