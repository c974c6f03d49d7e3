import fc from 'fast-check';
import { expect, it } from 'vitest';
import { inSnapshot } from '../../src/core/database/transactions.ts';
import { CASH_CHECKS } from '../../src/reports/proof/cash-checks-store.ts';
import { runCheck } from '../../src/reports/proof/store.ts';
import { newAccount, type TestService, useInstance, useService } from '../support/harness.ts';
import { PROPERTY_RUNS } from '../support/property-runs.ts';

/** Random days of cash on two instances, against sums that the test keeps itself from the acknowledged requests. */

const CASH = 2;
const SETTINGS = { CASH_COUNTS: 'on', APPROVAL_LIMIT: '500' };
const service = useService(SETTINGS);
const second = useInstance(service, SETTINGS);

interface Holder {
  id: number;
  token: string;
  /** The sum of all acknowledged payments, reversals and refunds of the holder, in hundredths. */
  recorded: number;
  /** Acknowledged payments that are not reversed. */
  payments: { id: number; amount: number }[];
}

const holder = fc.nat({ max: 2 });
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('pay'),
      holder,
      amount: fc.integer({ min: 1, max: 90_000 }),
      isLate: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('reverse'), holder, payment: fc.nat({ max: 9 }) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('refund'), holder, amount: fc.integer({ min: 1, max: 90_000 }) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('count'), holder, off: fc.integer({ min: -500, max: 500 }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('handOver'),
      holder,
      amount: fc.integer({ min: 1, max: 50_000 }),
      isSeen: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('deposit'),
      holder,
      amount: fc.integer({ min: 1, max: 50_000 }),
      isFound: fc.boolean(),
    }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/** Steps that run at once, then the next ones. Some cash is recorded before the first counts. */
const day = fc.record({
  before: fc.array(step, { maxLength: 3 }),
  groups: fc.array(fc.array(step, { minLength: 2, maxLength: 6 }), { minLength: 2, maxLength: 4 }),
});

let slips = 0;

/** Sends a request to one of the instances in turn. */
let calls = 0;
function send(token: string, method: string, path: string, body?: unknown) {
  calls += 1;
  const target: Pick<TestService, 'call'> = calls % 2 === 0 ? service : second;
  return target.call(method, path, body, { token });
}

async function newHolder(role: string): Promise<Holder> {
  const token = await service.signInAs(role);
  const me = await send(token, 'GET', '/auth/me');
  return { id: me.body.data.id, token, recorded: 0, payments: [] };
}

/** Closes the open cash-up of a holder, if there is one. */
async function closeOpen(of: Holder, finance: Holder): Promise<void> {
  const { body } = await send(of.token, 'GET', '/cash/counts?filter[status]=open');
  for (const { id, isOpening } of body.data) {
    if (isOpening) await send(finance.token, 'POST', `/cash/counts/${id}/confirm`, { isEarlierCash: true });
    else await send(of.token, 'POST', `/cash/counts/${id}/explain`, { reason: 'random' });
  }
}

async function take(
  one: Step,
  holders: Holder[],
  office: { finance: Holder; approver: Holder; account: number },
) {
  const of = holders[one.holder];
  if (!of) throw new Error('There is no such holder.');
  const { finance, approver, account } = office;
  switch (one.do) {
    case 'pay': {
      const amount = one.amount / 100;
      const paid = await send(of.token, 'POST', '/payments', {
        accountId: account,
        amount,
        paymentMethodId: CASH,
        ...(one.isLate && { paymentDate: today }),
      });
      expect(paid.status, paid.text).toBe(201);
      of.recorded += one.amount;
      of.payments.push({ id: paid.body.data.id, amount: one.amount });
      return;
    }
    case 'reverse': {
      const payment = of.payments.splice(one.payment, 1)[0];
      if (!payment) return;
      const path = `/payments/${payment.id}/reverse`;
      const reversed = await send(finance.token, 'POST', path, { reason: 'random' });
      expect([200, 202], reversed.text).toContain(reversed.status);
      if (reversed.status === 202) {
        const approved = await send(approver.token, 'POST', `/approvals/${reversed.body.data.id}/approve`);
        expect(approved.status, approved.text).toBe(200);
      }
      of.recorded -= payment.amount;
      return;
    }
    case 'refund': {
      const refund = { amount: one.amount / 100, paymentMethodId: CASH, reason: 'random' };
      const asked = await send(of.token, 'POST', `/accounts/${account}/credit/refund`, refund);
      if (asked.status === 201) of.recorded -= one.amount;
      if (asked.status !== 202) return; // Without enough credit, or with another request pending, nothing happens.
      const approved = await send(approver.token, 'POST', `/approvals/${asked.body.data.id}/approve`);
      if (approved.status === 200) of.recorded -= one.amount;
      else await send(of.token, 'POST', `/approvals/${asked.body.data.id}/withdraw`);
      return;
    }
    case 'count': {
      const counted = Math.max(0, one.off) / 100;
      const saved = await send(of.token, 'POST', '/cash/counts', { paymentMethodId: CASH, counted });
      expect([201, 409], saved.text).toContain(saved.status);
      await closeOpen(of, finance);
      return;
    }
    case 'handOver': {
      const to = holders[(one.holder + 1) % holders.length];
      const amount = one.amount / 100;
      const started = await send(of.token, 'POST', '/cash/hand-overs', {
        paymentMethodId: CASH,
        toUserId: to?.id,
        amount,
      });
      if (started.status !== 201 || !to) return; // without an opening count
      const counted = one.isSeen ? amount : amount + 1;
      const received = await send(to.token, 'POST', `/cash/hand-overs/${started.body.data.id}/receive`, {
        counted,
      });
      expect(received.status, received.text).toBe(200);
      return;
    }
    case 'deposit': {
      slips += 1;
      const deposit = { paymentMethodId: CASH, amount: one.amount / 100, slipNumber: `S${slips}` };
      const started = await send(of.token, 'POST', '/cash/hand-overs', deposit);
      if (started.status !== 201) return;
      const path = `/cash/hand-overs/${started.body.data.id}`;
      const ended = one.isFound
        ? await send(finance.token, 'POST', `${path}/confirm`, {
            statementDate: today,
            statementText: 'CASH',
          })
        : await send(finance.token, 'POST', `${path}/reject`, { reason: 'random' });
      expect(ended.status, ended.text).toBe(200);
    }
  }
}
const today = '2026-01-05';

/** The violations of the cash checks in one snapshot. */
async function violations() {
  return inSnapshot(service.context.db, async (tx) => {
    const found = [];
    for (const check of CASH_CHECKS) found.push(...(await runCheck(tx, check, null)).violations);
    return found;
  });
}

it('counts every acknowledged entry once, and holds the equation at each moment', async () => {
  const finance = await newHolder('finance');
  const approver = await newHolder('admin');
  await fc.assert(
    fc.asyncProperty(day, async ({ before, groups }) => {
      const account = await newAccount(service);
      await send(service.adminToken, 'POST', '/payments', {
        accountId: account.id,
        amount: account.total + 5_000,
        paymentMethodId: 1,
      });
      const office = { finance, approver, account: account.id };
      const holders = [await newHolder('finance'), await newHolder('manager'), await newHolder('finance')];
      for (const one of before) await take(one, holders, office);
      for (const of of holders) {
        await send(of.token, 'POST', '/cash/counts', { paymentMethodId: CASH, counted: 100 });
        await closeOpen(of, finance);
      }
      for (const group of groups) {
        let isRunning = true;
        const watch = (async () => {
          while (isRunning) expect(await violations()).toEqual([]);
        })();
        await Promise.all(group.map((one) => take(one, holders, office))).finally(() => {
          isRunning = false;
        });
        await watch;
      }
      for (const of of holders) {
        await closeOpen(of, finance);
        const last = await send(of.token, 'POST', '/cash/counts', { paymentMethodId: CASH, counted: 0 });
        expect(last.status, last.text).toBe(201);
        await closeOpen(of, finance);
        const counts = await send(of.token, 'GET', `/cash/counts?filter[holderId]=${of.id}&limit=100`);
        const posted = counts.body.data.reduce(
          (sum: number, { posted: amount }: { posted: number }) => sum + Math.round(amount * 100),
          0,
        );
        expect(posted).toBe(of.recorded);
      }
      expect(await violations()).toEqual([]);
    }),
    { numRuns: Math.ceil(PROPERTY_RUNS / 10) },
  );
});
