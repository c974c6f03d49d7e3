import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { endOutdatedApprovals } from '../../src/staff/approvals/commands.ts';
import { APPROVABLE_ACTIONS } from '../../src/start/approvable-actions.ts';
import { send } from '../security/wire.ts';
import { expectBooksToBalance } from '../support/books.ts';
import {
  accountNow,
  dataOf,
  move,
  newAccount,
  newApiKey,
  newCustomer,
  notify,
  pay,
  paymentNow,
  setToday,
  startInstanceForTest,
  useInstance,
  useService,
  wrongFields,
} from '../support/harness.ts';
import { type Answer, type Caller, notification } from '../support/http.ts';
import { useQueuedJobs } from '../support/queued-jobs.ts';

const LIMIT = 1_000;
const TOTAL = 22_800; // of the weekly demo plan
const CASH = 2;
const ROLES = ['admin', 'manager', 'finance', 'agent', 'collector', 'viewer'];
const service = useService({ APPROVAL_LIMIT: String(LIMIT) });
const runQueue = useQueuedJobs(service);

/** The same service without the limit, where one person does everything. */
const unlimited = useInstance(service, {});
let customerId: number;

beforeAll(async () => {
  setToday(service, '2026-11-02');
  customerId = (await newCustomer(service)).id;
});
afterAll(() => expectBooksToBalance(service.context));

const openAccount = () => newAccount(service, { customerId });

/** A call as the user of a role. Without a role: as the first admin, who sends the requests. */
async function call(method: string, path: string, body?: unknown, role?: string): Promise<Answer> {
  return service.call(method, path, body, role === undefined ? {} : { token: await service.tokenOf(role) });
}

const approve = (id: number, role = 'manager') => call('POST', `/approvals/${id}/approve`, undefined, role);
const approval = (id: number) => dataOf(call('GET', `/approvals/${id}`));
const endOutdated = () =>
  endOutdatedApprovals(service.context, APPROVABLE_ACTIONS, new AbortController().signal);

async function accountWithCredit(credit: number) {
  const account = await openAccount();
  return { ...account, payment: await pay(service, account.id, TOTAL + credit) };
}

/** A payment of 5,000 whose reversal was requested. */
async function requestedReversal(send: Caller = service.call, token = service.adminToken) {
  const account = await openAccount();
  const payment = await pay(service, account.id, 5_000);
  const path = `/payments/${payment.id}/reverse`;
  const requestAgain = () => dataOf(send('POST', path, { reason: 'entered twice' }, { token }), 202);
  return { account, payment, request: await requestAgain(), requestAgain };
}

async function requested<T extends object>(method: string, path: string, body: object, facts: T) {
  const requestAgain = () => dataOf(call(method, path, body), 202);
  return { request: await requestAgain(), requestAgain, ...facts };
}

function requestedStatus(accountId: number, body: { status: string; reason: string }) {
  const done = () => accountNow(service, accountId);
  return requested('PUT', `/accounts/${accountId}`, body, { accountId, done, expected: body });
}

/** The deferral of the accounts of a customer, above the limit. */
async function requestedBulkDeferral() {
  const metadata = { region: `region ${++regions}` };
  const { id: customerId } = await newCustomer(service, { metadata });
  await newAccount(service, { customerId });
  const body = { filter: { customerMetadata: metadata }, from: '2026-11-16', periods: 1, reason: 'hail' };
  const { id } = await dataOf(call('POST', '/plan-changes/bulk-deferrals', body), 201);
  await runQueue();
  return requested(
    'POST',
    `/plan-changes/bulk-deferrals/${id}/confirm`,
    {},
    {
      accountId: null,
      done: () => dataOf(call('GET', `/plan-changes/bulk-deferrals/${id}`)),
      expected: { status: 'running' },
    },
  );
}

let regions = 0;

/** Each action above the limit, with the call that requests it and what it leaves after its approval. */
const ACTIONS = {
  reverse_payment: async () => {
    const { account, payment, ...requested } = await requestedReversal();
    const expected = { status: 'reversed', reversalReason: 'entered twice' };
    return { accountId: account.id, ...requested, done: () => paymentNow(service, payment.id), expected };
  },
  correct_payment: async () => {
    const account = await openAccount();
    const payment = await pay(service, account.id, 300);
    const body = { amount: 5_000, reason: 'a zero was missing' };
    const corrected = async () =>
      (await dataOf(call('GET', `/payments?filter[correctsPaymentId]=${payment.id}`)))[0];
    return requested('POST', `/payments/${payment.id}/correct-amount`, body, {
      accountId: account.id,
      done: corrected,
      expected: { amount: 5_000, status: 'matched', accountId: account.id, correctsPaymentId: payment.id },
    });
  },
  unassign_payment: async () => {
    const account = await openAccount();
    const { paymentId } = await dataOf(
      notify(service, { BillRefNumber: account.accountNumber, TransAmount: '5000.00' }),
    );
    return requested(
      'POST',
      `/payments/${paymentId}/unassign`,
      { reason: 'of somebody else' },
      {
        accountId: account.id,
        done: () => paymentNow(service, paymentId),
        expected: { status: 'unmatched', accountId: null },
      },
    );
  },
  refund_credit: async () => {
    const account = await accountWithCredit(5_000);
    const body = {
      amount: 3_000,
      reason: 'paid too much',
      paymentMethodId: CASH,
      transactionRef: `R${account.id}`,
    };
    return requested('POST', `/accounts/${account.id}/credit/refund`, body, {
      accountId: account.id,
      done: async () => (await dataOf(call('GET', `/accounts/${account.id}/credit/moves`)))[0],
      expected: {
        kind: 'refund',
        amount: 3_000,
        transactionRef: `R${account.id}`,
        paymentMethodId: CASH,
      },
    });
  },
  transfer_credit: async () => {
    const [account, other] = [await accountWithCredit(5_000), await openAccount()];
    const body = { toAccountId: other.id, amount: 2_000, reason: 'of the same family' };
    return requested('POST', `/accounts/${account.id}/credit/transfer`, body, {
      accountId: account.id,
      done: () => accountNow(service, other.id),
      expected: { paid: 2_000 },
    });
  },
  write_off_account: async () => {
    const account = await openAccount();
    await move(service, account.id, 'suspended');
    return requestedStatus(account.id, { status: 'written_off', reason: 'moved away' });
  },
  cancel_account: async () => {
    const account = await openAccount();
    return requestedStatus(account.id, { status: 'cancelled', reason: 'never installed' });
  },
  change_plan: async () => {
    const { id } = await openAccount();
    const body = {
      kind: 'price_correction',
      amount: 3_000,
      reason: 'sold too high',
      confirm: { version: 0 },
    };
    return requested('POST', `/accounts/${id}/plan-changes`, body, {
      accountId: id,
      done: () => accountNow(service, id),
      expected: { planVersion: 1, total: TOTAL - 3_000 },
    });
  },
  start_bulk_deferral: () => requestedBulkDeferral(),
  undo_bulk_deferral: async () => {
    const { request, done } = await requestedBulkDeferral();
    await dataOf(approve(request.id));
    await runQueue();
    const { id } = await done();
    return requested(
      'POST',
      `/plan-changes/bulk-deferrals/${id}/undo`,
      { reason: 'the wrong region' },
      { accountId: null, done, expected: { status: 'undoing' } },
    );
  },
} satisfies Record<
  keyof typeof APPROVABLE_ACTIONS,
  () => Promise<{
    accountId: number | null;
    request: Answer['body'];
    /** Requests the action again, after the first request has ended without it. */
    requestAgain: () => Promise<Answer['body']>;
    done: () => Promise<unknown>;
    expected: object;
  }>
>;

describe.each(Object.keys(APPROVABLE_ACTIONS) as (keyof typeof APPROVABLE_ACTIONS)[])(
  '%s above the limit',
  (action) => {
    it('changes nothing before its approval, and is done by it', async () => {
      const { accountId, request, done, expected } = await ACTIONS[action]();
      expect(request).toMatchObject({
        action,
        status: 'pending',
        accountId,
        requestedBy: 'admin@example.com',
      });
      expect(await done()).not.toEqual(expect.objectContaining(expected));
      expect(await approval(request.id)).toEqual(request);
      const approved = await dataOf(approve(request.id));
      expect(approved).toMatchObject({
        status: 'approved',
        decidedBy: expect.stringMatching(/^user/),
        changedFacts: [],
      });
      expect(await done()).toMatchObject(expected);
    });

    it('is audited with both people', async () => {
      const { request } = await ACTIONS[action]();
      await dataOf(approve(request.id));
      const entries = await dataOf(call('GET', '/audit?sort=id:desc&limit=100'));
      const own = entries.filter(
        (entry: Answer['body']) => entry.resource === 'approval' && entry.resourceId === request.id,
      );
      expect(own.map((entry: Answer['body']) => [entry.action, entry.actor])).toEqual([
        ['approval.approve', approverOf(entries, request.id)],
        ['approval.request', 'admin@example.com'],
      ]);
      const executed = entries.filter((entry: Answer['body']) => entry.after.approvalId === request.id);
      expect(executed.length).toBeGreaterThan(0);
      for (const entry of executed) {
        expect(entry.after.requestedBy).toBe('admin@example.com');
        expect(entry.actor).toBe(approverOf(entries, request.id));
      }
    });
  },
);

/** The e-mail of the manager who approved. */
function approverOf(entries: Answer['body'][], id: number): string {
  const entry = entries.find(({ action, resourceId }) => action === 'approval.approve' && resourceId === id);
  expect(entry.actor).not.toBe('admin@example.com');
  return entry.actor;
}

describe('an amount up to the limit', () => {
  it('needs no approval', async () => {
    const account = await openAccount();
    const payment = await pay(service, account.id, LIMIT);
    const reversed = await dataOf(
      call('POST', `/payments/${payment.id}/reverse`, { reason: 'entered twice' }),
    );
    expect(reversed.status).toBe('reversed');
  });

  it('needs approval together with the other credit that left the account on the day', async () => {
    const { id } = await accountWithCredit(5_000);
    const refund = (amount: number) =>
      call('POST', `/accounts/${id}/credit/refund`, { amount, reason: 'in parts' });
    await dataOf(refund(600), 201);
    await dataOf(refund(400), 201);
    const request = await dataOf(refund(0.01), 202);
    expect(request).toMatchObject({ amount: 0.01, countedAmount: 1_000.01 });
    await dataOf(call('POST', `/approvals/${request.id}/withdraw`));
    setToday(service, '2026-11-03');
    await dataOf(refund(1_000), 201);
    setToday(service, '2026-11-02');
  });

  it('of ten concurrent refunds passes without approval only while their sum is within the limit', async () => {
    const { id } = await accountWithCredit(5_000);
    const body = { amount: 400, reason: 'in parts' };
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => call('POST', `/accounts/${id}/credit/refund`, body)),
    );
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).toEqual([201, 201, 202, 409, 409, 409, 409, 409, 409, 409]);
  });
});

describe('the rights', () => {
  const MAY: Record<keyof typeof APPROVABLE_ACTIONS, string[]> = {
    reverse_payment: ['admin', 'manager', 'finance'],
    correct_payment: ['admin', 'manager', 'finance'],
    unassign_payment: ['admin', 'manager', 'finance'],
    refund_credit: ['admin', 'manager', 'finance'],
    transfer_credit: ['admin', 'manager', 'finance'],
    write_off_account: ['admin', 'manager'],
    cancel_account: ['admin', 'manager'],
    change_plan: ['admin', 'manager', 'finance'],
    start_bulk_deferral: ['admin', 'manager', 'finance'],
    undo_bulk_deferral: ['admin', 'manager', 'finance'],
  };

  it.each(Object.entries(MAY))(
    'to approve and reject %s need the right of the action',
    async (action, may) => {
      const make = ACTIONS[action as keyof typeof ACTIONS];
      const reject = (id: number, role: string) =>
        call('POST', `/approvals/${id}/reject`, { reason: 'not agreed' }, role);
      let { request, requestAgain } = await make();
      for (const role of ROLES.filter((one) => !may.includes(one))) {
        const answers = [await approve(request.id, role), await reject(request.id, role)];
        expect(
          answers.map(({ status }) => status),
          `${role}: ${answers[0]?.text}`,
        ).toEqual([403, 403]);
        expect((await approval(request.id)).status).toBe('pending');
      }
      for (const [n, role] of may.entries()) {
        if (n > 0) ({ request, requestAgain } = await make());
        const rejected = await reject(request.id, role);
        expect(rejected.status, `${role}: ${rejected.text}`).toBe(200);
        const approved = await approve((await requestAgain()).id, role);
        expect(approved.status, `${role}: ${approved.text}`).toBe(200);
      }
    },
  );

  it('do not let anybody decide on their own request', async () => {
    const { request, payment } = await requestedReversal();
    for (const answer of [
      await call('POST', `/approvals/${request.id}/approve`),
      await call('POST', `/approvals/${request.id}/reject`, { reason: 'changed my mind' }),
    ]) {
      expect(answer.status).toBe(403);
      expect(answer.body.error.message).toMatch(/your own request/);
    }
    expect((await paymentNow(service, payment.id)).status).toBe('matched');
  });

  it('do not let an admin approve a request of an API key that the admin created or rotated', async () => {
    const own = await newApiKey(service, 'finance');
    const other = await dataOf(call('POST', '/api-keys', { name: 'Rotated', role: 'finance' }, 'admin'), 201);
    const rotated = await dataOf(call('POST', `/api-keys/${other.id}/rotate`));
    for (const { key } of [own, rotated]) {
      const { request } = await requestedReversal(service.call, key);
      expect(request).toMatchObject({
        requestedByUserId: null,
        requestedBy: expect.stringMatching(/^api key /),
      });
      const answer = await call('POST', `/approvals/${request.id}/approve`);
      expect(answer.status, answer.text).toBe(403);
      expect(answer.body.error.message).toMatch(/API key that you created or rotated/);
      await dataOf(approve(request.id, 'finance'));
    }
  });

  it('do not let an API key decide, whatever its role', async () => {
    const { request } = await requestedReversal();
    const { key } = await newApiKey(service, 'admin');
    for (const [path, body] of [['approve'], ['reject', { reason: 'no' }]] as const) {
      const answer = await service.call('POST', `/approvals/${request.id}/${path}`, body, { token: key });
      expect(answer.status).toBe(403);
      expect(answer.body.error.message).toMatch(/No API key may do this/);
    }
  });

  it('are named by the request, for each caller', async () => {
    const { request } = await requestedReversal();
    const { key } = await newApiKey(service, 'finance');
    const ofKey = await requestedReversal(service.call, key);
    expect([request.allowedMoves, ofKey.request.allowedMoves]).toEqual([['withdrawn'], ['withdrawn']]);
    const decider = ['approved', 'rejected'];
    for (const [token, own, ofTheKey] of [
      [service.adminToken, ['withdrawn'], []], // The admin has created the key.
      [key, [], ['withdrawn']],
      [await service.tokenOf('finance'), decider, decider],
      [await service.tokenOf('viewer'), [], []],
    ] as const) {
      const path = `/approvals?filter[id][in]=${request.id},${ofKey.request.id}&sort=id:asc`;
      const listed = await dataOf(service.call('GET', path, undefined, { token }));
      expect(listed.map((row: Answer['body']) => row.allowedMoves)).toEqual([own, ofTheKey]);
      const one = await dataOf(service.call('GET', `/approvals/${ofKey.request.id}`, undefined, { token }));
      expect(one.allowedMoves).toEqual(ofTheKey);
    }
    const { id } = await openAccount();
    const cancelled = { status: 'cancelled', reason: 'given back' };
    const cancellation = await dataOf(call('PUT', `/accounts/${id}`, cancelled), 202);
    const mayCancel = async (role: string) =>
      (await dataOf(call('GET', `/approvals/${cancellation.id}`, undefined, role))).allowedMoves;
    expect([await mayCancel('finance'), await mayCancel('manager')]).toEqual([[], decider]);
    expect((await dataOf(approve(cancellation.id))).allowedMoves).toEqual([]);
  });

  it('are kept by the database, too', async () => {
    const { request } = await requestedReversal();
    const { pool } = service.parts;
    const { rows } = await pool.query('select requested_by from approvals where id = $1', [request.id]);
    const decide = `update approvals set status = 'approved', ended_at = now(), decided_by = $2 where id = $1`;
    await expect(pool.query(decide, [request.id, rows[0].requested_by])).rejects.toThrow(
      'approvals_two_people',
    );
    await expect(pool.query(decide, [request.id, null])).rejects.toThrow('approvals_decided');
    await dataOf(call('POST', `/approvals/${request.id}/withdraw`));
    await expect(
      pool.query(`update approvals set status = 'pending', ended_at = null where id = $1`, [request.id]),
    ).rejects.toThrow('only once');
    await expect(pool.query('delete from approvals where id = $1', [request.id])).rejects.toThrow(
      'never edited',
    );
  });

  it('let the requester alone withdraw a request', async () => {
    const { request, payment } = await requestedReversal();
    expect((await call('POST', `/approvals/${request.id}/withdraw`, undefined, 'finance')).status).toBe(403);
    expect(await dataOf(call('POST', `/approvals/${request.id}/withdraw`))).toMatchObject({
      status: 'withdrawn',
      decidedBy: null,
    });
    expect((await approve(request.id)).body.error.details).toEqual({
      from: 'withdrawn',
      to: 'approved',
      allowed: [],
    });
    expect((await paymentNow(service, payment.id)).status).toBe('matched');
    const { key } = await newApiKey(service, 'finance');
    const ofKey = await requestedReversal(service.call, key);
    const answer = await service.call('POST', `/approvals/${ofKey.request.id}/withdraw`, undefined, {
      token: key,
    });
    expect(answer.body.data.status).toBe('withdrawn');
  });
});

describe('concurrent decisions', () => {
  it('do the action once: one of ten approvals succeeds', async () => {
    const { request, payment, account } = await requestedReversal();
    const tokens = await Promise.all(['admin', 'manager', 'finance'].map((role) => service.tokenOf(role)));
    const deciders = Array.from({ length: 10 }, (_, n) => ({ token: tokens[n % tokens.length] as string }));
    const answers = await Promise.all(
      deciders.map((as) => service.call('POST', `/approvals/${request.id}/approve`, undefined, as)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(400)]);
    for (const { status, body } of answers.filter((answer) => answer.status !== 200))
      expect([status, body.error.details]).toEqual([400, { from: 'approved', to: 'approved', allowed: [] }]);
    expect((await paymentNow(service, payment.id)).status).toBe('reversed');
    expect((await accountNow(service, account.id)).paid).toBe(0);
  });

  it('refund credit once, also when approvals, rejections and withdrawals meet', async () => {
    for (let round = 0; round < 5; round++) {
      const { request, accountId } = await ACTIONS.refund_credit();
      const answers = await Promise.all([
        approve(request.id),
        call('POST', `/approvals/${request.id}/reject`, { reason: 'no' }, 'finance'),
        call('POST', `/approvals/${request.id}/withdraw`),
        approve(request.id, 'finance'),
      ]);
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
      const { status } = await approval(request.id);
      const { credit } = await accountNow(service, accountId);
      expect(credit).toBe(status === 'approved' ? 2_000 : 5_000);
    }
  });

  it('approve requests about two accounts in opposite directions without a deadlock', async () => {
    const [one, two] = [await accountWithCredit(5_000), await accountWithCredit(5_000)];
    const request = async (from: number, to: number) => {
      const body = { toAccountId: to, amount: 2_000, reason: 'exchanged' };
      return dataOf(call('POST', `/accounts/${from}/credit/transfer`, body), 202);
    };
    const requests = [await request(one.id, two.id), await request(two.id, one.id)];
    const answers = await Promise.all(requests.map(({ id }) => approve(id)));
    // The first approval changes the credit that the second request was based on.
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
  });
});

describe('what a request shows', () => {
  it('has the payment method and the reference of a refund', async () => {
    const { request } = await ACTIONS.refund_credit();
    expect(await approval(request.id)).toMatchObject({
      paymentMethodName: 'Cash',
      transactionRef: expect.stringMatching(/^R\d+$/),
    });
  });

  it('is all that its approval does: external fields cannot be part of the request', async () => {
    const account = await openAccount();
    const body = { status: 'cancelled', reason: 'never installed', metadata: { case: '7' } };
    const answer = await call('PUT', `/accounts/${account.id}`, body);
    expect(answer.status, answer.text).toBe(400);
    expect(answer.body.error.details.fields[0].path).toBe('metadata');
    await dataOf(call('PUT', `/accounts/${account.id}`, { metadata: { case: '7' } }));
    await dataOf(
      call('PUT', `/accounts/${account.id}`, { status: 'cancelled', reason: 'never installed' }),
      202,
    );
  });
});

describe('a request whose facts have changed', () => {
  async function withoutLimit(work: (call: Caller) => Promise<void>): Promise<void> {
    await work((method, path, body) => unlimited.call(method, path, body, { token: service.adminToken }));
  }

  /** Expects that the request cannot be approved because of these facts, and ends. */
  async function expectOutdated(id: number, changed: string[]): Promise<void> {
    expect(await approval(id)).toMatchObject({ status: 'pending', changedFacts: changed });
    const answer = await approve(id);
    expect(answer.status, answer.text).toBe(409);
    expect(answer.body.error).toMatchObject({
      code: 'VALIDATION_ERROR',
      message: expect.stringMatching(/out of date/),
    });
    expect(answer.body.error.details.fields.map(({ path }: { path: string }) => path)).toEqual(changed);
    expect(await endOutdated()).toBe(0);
    expect(await approval(id)).toMatchObject({ status: 'obsolete', decidedBy: null, changedFacts: changed });
    expect((await approve(id)).body.error.details).toEqual({ from: 'obsolete', to: 'approved', allowed: [] });
  }

  beforeEach(async () => {
    await endOutdated(); // Requests of other tests.
  });

  it('is refused if the payment was reversed', async () => {
    const { request, payment } = await requestedReversal();
    await withoutLimit(async (send) => {
      await dataOf(send('POST', `/payments/${payment.id}/reverse`, { reason: 'seen first' }));
    });
    await expectOutdated(request.id, ['paymentStatus']);
  });

  it('is refused if the payment was reconciled', async () => {
    const { request, payment } = await requestedReversal();
    await dataOf(call('POST', '/payments/reconcile', { paymentIds: [payment.id] }));
    await expectOutdated(request.id, ['reconciliationId']);
    expect((await paymentNow(service, payment.id)).status).toBe('matched');
  });

  it('is refused if the payment is on another account', async () => {
    const { request, payment } = await requestedReversal();
    const other = await openAccount();
    await withoutLimit(async (send) => {
      await dataOf(send('POST', `/payments/${payment.id}/unassign`, { reason: 'wrong account' }));
      await dataOf(send('POST', `/payments/${payment.id}/assign`, { accountId: other.id }));
    });
    await expectOutdated(request.id, ['paymentAccountId']);
    expect((await accountNow(service, other.id)).paid).toBe(5_000);
  });

  it('is refused if the credit was spent', async () => {
    const { request, accountId } = await ACTIONS.refund_credit();
    await dataOf(
      call('POST', `/accounts/${accountId}/credit/refund`, { amount: 500, reason: 'at the office' }),
      201,
    );
    await expectOutdated(request.id, ['credit']);
    expect((await accountNow(service, accountId)).credit).toBe(4_500);
  });

  it('is refused if the balance to write off is another one', async () => {
    const { request, accountId } = await ACTIONS.write_off_account();
    await pay(service, accountId, 100);
    await expectOutdated(request.id, ['balance']);
  });

  it('is refused if the account has another status', async () => {
    const { request, accountId } = await ACTIONS.write_off_account();
    await move(service, accountId, 'defaulted');
    await expectOutdated(request.id, ['accountStatus']);
  });

  it('is not refused because the customer of a reversed payment has paid again', async () => {
    const { request, account } = await requestedReversal();
    await pay(service, account.id, 300);
    expect(await endOutdated()).toBe(0);
    await dataOf(approve(request.id));
    expect((await accountNow(service, account.id)).paid).toBe(300);
  });

  it('becomes obsolete within a minute if nobody decides', async () => {
    const { request, accountId } = await ACTIONS.write_off_account();
    await pay(service, accountId, 100);
    expect(await endOutdated()).toBe(1);
    expect(await approval(request.id)).toMatchObject({ status: 'obsolete', changedFacts: ['balance'] });
  });

  it('becomes obsolete by an approval with an Idempotency-Key, too', async () => {
    const { request, accountId } = await ACTIONS.write_off_account();
    await pay(service, accountId, 100);
    const path = `/approvals/${request.id}/approve`;
    const headers = { 'idempotency-key': `approve-${request.id}` };
    const answer = await service.call('POST', path, undefined, {
      token: await service.tokenOf('manager'),
      headers,
    });
    expect(answer.status, answer.text).toBe(409);
    expect((await approval(request.id)).status).toBe('obsolete');
  });

  it('allows a new request', async () => {
    const { request, accountId } = await ACTIONS.refund_credit();
    await pay(service, accountId, 10);
    await expectOutdated(request.id, ['credit']);
    const again = await dataOf(
      call('POST', `/accounts/${accountId}/credit/refund`, { amount: 3_000, reason: 'paid too much' }),
      202,
    );
    await dataOf(approve(again.id));
  });
});

describe('the limit', () => {
  it('can be turned off and on while requests are pending', async () => {
    const { request, payment } = await requestedReversal();
    const zero = await startInstanceForTest(service, { APPROVAL_LIMIT: '0' });
    const large = await pay(service, payment.accountId, 9_000);
    const path = `/payments/${large.id}/reverse`;
    const token = service.adminToken;
    expect((await unlimited.call('POST', path, { reason: 'entered twice' }, { token })).status).toBe(200);
    const decide = { token: await service.tokenOf('finance') };
    expect((await unlimited.call('POST', `/approvals/${request.id}/approve`, undefined, decide)).status).toBe(
      200,
    );
    const small = await pay(service, payment.accountId, 0.01);
    const answer = await zero.call('POST', `/payments/${small.id}/reverse`, { reason: 'x' }, { token });
    expect(answer.status).toBe(202);
    const settings = await Promise.all([service, unlimited, zero].map((one) => one.call('GET', '/settings')));
    expect(settings.map(({ body }) => body.data.approvalLimit)).toEqual([LIMIT, null, 0]);
  });

  it.each([
    ['written_off', 'reverse'],
    ['cancelled', 'reverse'],
    ['written_off', 'unassign'],
  ])(
    'cannot be passed by payments that lower the balance until the account is %s (%s)',
    async (status, action) => {
      const { id, accountNumber } = await openAccount();
      const amounts = [20_000, LIMIT, LIMIT, 300];
      for (const amount of amounts)
        await dataOf(notify(service, { BillRefNumber: accountNumber, TransAmount: String(amount) }));
      await dataOf(call('PUT', `/accounts/${id}`, { status: 'suspended', reason: 'a test' }));
      await dataOf(call('PUT', `/accounts/${id}`, { status, reason: 'a small balance' }));
      const payments = await dataOf(call('GET', `/accounts/${id}/payments?limit=100&sort=amount:asc`));
      const take = (at: number) =>
        call('POST', `/payments/${payments[at].id}/${action}`, { reason: 'entered twice' });
      await dataOf(take(0)); // Without this payment, 800 are unpaid.
      const request = await dataOf(take(1), 202);
      expect(request).toMatchObject({ amount: LIMIT, countedAmount: LIMIT + 800 });
      await dataOf(approve(request.id));
    },
  );

  it('cannot be passed by resolving a conflict, and the reversal resolves it', async () => {
    const { id, accountNumber } = await openAccount();
    const reported = notification({ BillRefNumber: accountNumber, TransAmount: '5500.00' });
    const manual = await pay(service, id, 5_000, { transactionRef: reported.TransID });
    await notify(service, reported);
    const [conflict] = await dataOf(call('GET', '/notifications?filter[outcome]=conflict'));
    const path = `/notifications/${conflict.id}/resolve`;
    const refused = await call('POST', path, { paymentId: null, reason: 'the provider is right' });
    expect(wrongFields(refused)).toEqual(['paymentId']);
    expect(refused.body.error.message).toContain(`POST /api/payments/${manual.id}/reverse`);
    const request = await dataOf(
      call('POST', `/payments/${manual.id}/reverse`, { reason: 'the provider is right' }),
      202,
    );
    await dataOf(approve(request.id));
    expect((await accountNow(service, id)).paid).toBe(5_500);
    expect((await dataOf(call('GET', `/notifications/${conflict.id}`))).outcome).toBe('matched');
  });
});

describe('a repeated request', () => {
  it('with the same Idempotency-Key gets the same answer, also after the approval', async () => {
    const account = await openAccount();
    const payment = await pay(service, account.id, 5_000);
    const headers = { 'idempotency-key': 'one reversal' };
    const [path, body] = [`/payments/${payment.id}/reverse`, { reason: 'entered twice' }];
    const repeat = () => service.call('POST', path, body, { headers });
    const first = await repeat();
    expect(first.status).toBe(202);
    await dataOf(approve(first.body.data.id));
    const again = await repeat();
    expect(again.status).toBe(202);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(again.body).toEqual(first.body);
    // An earlier version stored answers without this field.
    await service.parts.pool.query(
      "update idempotency_keys set answer = (answer::jsonb #- '{data,allowedMoves}')::text where key = 'one reversal'",
    );
    const { allowedMoves: _added, ...data } = first.body.data;
    const sent = { method: 'POST', path: `/api${path}`, body: JSON.stringify(body), headers };
    const earlier = await send(service.origin, { ...sent, token: service.adminToken });
    expect([earlier.status, JSON.parse(earlier.text)]).toEqual([202, { ...first.body, data }]);
  });

  it('by POST gets 409 that names the pending request', async () => {
    const { request, payment } = await requestedReversal();
    const again = await call('POST', `/payments/${payment.id}/reverse`, { reason: 'again' }, 'finance');
    expect(again.status).toBe(409);
    expect(again.body.error.details).toEqual({ resource: 'approval', field: 'id', id: request.id });
    await dataOf(call('POST', `/approvals/${request.id}/reject`, { reason: 'it was right' }, 'finance'));
    await dataOf(call('POST', `/payments/${payment.id}/reverse`, { reason: 'again' }, 'finance'), 202);
  });

  it('is shown by the payment and its account until it has ended', async () => {
    const { request, payment, account } = await requestedReversal();
    const pending = [{ id: request.id, action: 'reverse_payment', paymentId: payment.id }];
    const paths = [`/payments/${payment.id}`, `/accounts/${account.id}`];
    for (const path of paths)
      expect(await dataOf(call('GET', path, undefined, 'viewer'))).toMatchObject({
        pendingApprovals: pending,
      });
    const other = await pay(service, account.id, 10);
    expect(await dataOf(call('GET', `/payments/${other.id}`))).not.toHaveProperty('pendingApprovals');
    await dataOf(approve(request.id));
    for (const path of paths) expect(await dataOf(call('GET', path))).not.toHaveProperty('pendingApprovals');
  });

  it('is shown only to callers who may read approvals', async () => {
    const { payment, account } = await requestedReversal();
    const key = await newApiKey(service, ['payments:read', 'accounts:read']);
    for (const path of [`/payments/${payment.id}`, `/accounts/${account.id}`]) {
      expect(await dataOf(call('GET', path))).toHaveProperty('pendingApprovals');
      for (const token of [await service.tokenOf('agent'), key.key])
        expect(await dataOf(service.call('GET', path, undefined, { token }))).not.toHaveProperty(
          'pendingApprovals',
        );
    }
  });

  it('by PUT gets its pending request again, and another user or body gets 409', async () => {
    const { request, accountId } = await ACTIONS.cancel_account();
    const path = `/accounts/${accountId}`;
    const body = { status: 'cancelled', reason: 'never installed' };
    expect((await dataOf(call('PUT', path, body), 202)).id).toBe(request.id);
    for (const answer of [
      await call('PUT', path, body, 'manager'),
      await call('PUT', path, { ...body, reason: 'another one' }),
    ])
      expect([answer.status, answer.body.error.details.id]).toEqual([409, request.id]);
    expect(await dataOf(call('GET', `/approvals?filter[accountId]=${accountId}`))).toHaveLength(1);
  });

  it('of ten sent at once leaves one pending request', async () => {
    const account = await openAccount();
    const payment = await pay(service, account.id, 5_000);
    const answers = await Promise.all(
      Array.from({ length: 10 }, () =>
        call('POST', `/payments/${payment.id}/reverse`, { reason: 'at once' }),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([202, ...Array(9).fill(409)]);
    expect(await dataOf(call('GET', `/approvals?filter[paymentId]=${payment.id}`))).toHaveLength(1);
  });

  it('of an approval with the same Idempotency-Key approves once and gets the same answer', async () => {
    const { request } = await requestedReversal();
    const send = async () =>
      service.call('POST', `/approvals/${request.id}/approve`, undefined, {
        token: await service.tokenOf('finance'),
        headers: { 'idempotency-key': 'approve it' },
      });
    const first = await send();
    const again = await send();
    expect([first.status, again.status]).toEqual([200, 200]);
    expect(again.body).toEqual(first.body);
  });
});

describe('what cannot be done', () => {
  it('is refused at once, and not requested', async () => {
    const { id } = await accountWithCredit(2_000);
    const refund = await call('POST', `/accounts/${id}/credit/refund`, { amount: 2_001, reason: 'too much' });
    expect(wrongFields(refund)).toEqual(['amount']);
    const written = await call('PUT', `/accounts/${id}`, { status: 'written_off', reason: 'no' });
    expect(written.status).toBe(400);
    expect(await dataOf(call('GET', `/approvals?filter[accountId]=${id}`))).toEqual([]);
  });

  it('at its approval leaves the request pending', async () => {
    const { request } = await ACTIONS.refund_credit();
    const { pool } = service.parts;
    await pool.query('update payment_methods set active = false where id = $1', [CASH]);
    try {
      const answer = await approve(request.id);
      expect(wrongFields(answer)).toEqual(['paymentMethodId']);
      expect((await approval(request.id)).status).toBe('pending');
    } finally {
      await pool.query('update payment_methods set active = true where id = $1', [CASH]);
    }
    await dataOf(approve(request.id));
  });
});

it('the list of requests can be filtered and sorted, and is for all but agents', async () => {
  await requestedReversal();
  await ACTIONS.refund_credit();
  const pending = await dataOf(
    call('GET', '/approvals?filter[status]=pending&sort=amount:desc&limit=5', undefined, 'viewer'),
  );
  expect(pending.length).toBeGreaterThan(1);
  const amounts = pending.map(({ amount }: { amount: number }) => amount);
  expect(amounts).toEqual([...amounts].sort((a, b) => b - a));
  const unmatched = await dataOf(notify(service, { TransAmount: '7000.00' }));
  const request = await dataOf(
    call('POST', `/payments/${unmatched.paymentId}/reverse`, { reason: 'sent back' }),
    202,
  );
  expect(request).toMatchObject({ accountId: null, accountNumber: null, customerName: null, amount: 7_000 });
  expect(
    await dataOf(
      call('GET', '/approvals?filter[accountId][isnull]=true&filter[bulkDeferralId][isnull]=true'),
    ),
  ).toEqual([request]);
  await dataOf(approve(request.id));
  expect((await call('GET', '/approvals', undefined, 'agent')).status).toBe(403);
});

it('the events name the action and never a person', async () => {
  const start = (await dataOf(call('GET', '/events?from=latest'))).after;
  const { request, payment, account } = await requestedReversal();
  await dataOf(approve(request.id));
  const { events } = await dataOf(call('GET', `/events?after=${start}&limit=1000`));
  expect(events.map(({ type }: { type: string }) => type)).toEqual(
    expect.arrayContaining(['approval.requested', 'payment.reversed', 'approval.approved']),
  );
  const requested = events.find(({ type }: { type: string }) => type === 'approval.requested');
  expect(requested).toMatchObject({
    resource: 'approval',
    resourceId: request.id,
    data: { action: 'reverse_payment', accountId: account.id, paymentId: payment.id, amount: 5_000 },
  });
  expect(JSON.stringify(events)).not.toContain('@');
});

it('are counted in the work of today for each user who may decide on them, and not for the requester', async () => {
  const waiting = async (token: string) =>
    (await dataOf(service.call('GET', '/reports/today', undefined, { token }))).pendingApprovals;
  const manager = await service.tokenOf('manager');
  const [own, ofOther] = [await waiting(service.adminToken), await waiting(manager)];
  await requestedReversal();
  expect(await waiting(service.adminToken)).toBe(own);
  expect(await waiting(manager)).toBe(ofOther + 1);
  expect(await waiting(await service.tokenOf('viewer'))).toBeNull();
  const { key } = await newApiKey(service, ['payments:reverse', 'accounts:read']);
  await requestedReversal(service.call, key);
  expect(await waiting(service.adminToken)).toBe(own); // The admin has created the key.
  expect(await waiting(manager)).toBe(ofOther + 2);
});

it('that were decided are counted in the work of today of the requester, and found in the list by requester', async () => {
  const ofToday = async (token: string) =>
    (await dataOf(service.call('GET', '/reports/today', undefined, { token }))).ownDecisions.count;
  const manager = await service.tokenOf('manager');
  const [own, ofOther] = [await ofToday(service.adminToken), await ofToday(manager)];
  const { request } = await requestedReversal();
  expect(await ofToday(service.adminToken)).toBe(own);
  const reason = { reason: 'It is right' };
  await dataOf(service.call('POST', `/approvals/${request.id}/reject`, reason, { token: manager }));
  expect([await ofToday(service.adminToken), await ofToday(manager)]).toEqual([own + 1, ofOther]);
  const me = await dataOf(service.call('GET', '/auth/me'));
  const query = `/approvals?filter[requestedByUserId]=${me.id}&sort=endedAt:desc&filter[id]=${request.id}`;
  expect(await dataOf(service.call('GET', query))).toMatchObject([
    { id: request.id, status: 'rejected', decisionReason: reason.reason, decidedBy: expect.any(String) },
  ]);
});
