import fc from 'fast-check';
import { beforeAll, expect, it } from 'vitest';
import type { AccountStatus } from '../../src/core/database/tables.ts';
import { expectBooksToBalance } from '../support/books.ts';
import { accountNow, newAccount, notify, setToday, useService } from '../support/harness.ts';
import { PROPERTY_RUNS } from '../support/property-runs.ts';
import { GIVEN_BY_STAFF } from '../support/status-model.ts';

const service = useService();
beforeAll(() => setToday(service, '2026-11-02'));

const TOTAL = 22_800;
/** The number of cases. Each takes about a hundred requests. */
const RUNS = Math.ceil(PROPERTY_RUNS / 10);

type Step =
  | { do: 'notify'; account: number; amount: number; named: boolean }
  | { do: 'pay'; account: number; amount: number; daysAgo: number }
  | { do: 'assign' | 'unassign' | 'reverse'; payment: number; account: number }
  | { do: 'move'; account: number; to: AccountStatus };

const account = fc.nat({ max: 2 });
const payment = fc.nat();
/** Amounts that often complete or overpay an account, and small amounts. */
const amount = fc.oneof(fc.constantFrom(TOTAL, TOTAL + 1, TOTAL - 1), fc.integer({ min: 1, max: 12_000 }));
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant('notify' as const), account, amount, named: fc.boolean() }),
  fc.record({ do: fc.constant('pay' as const), account, amount, daysAgo: fc.nat({ max: 400 }) }),
  fc.record({ do: fc.constantFrom('assign', 'unassign', 'unassign', 'reverse'), payment, account }),
  fc.record({
    do: fc.constant('move' as const),
    account,
    to: fc.constantFrom(...GIVEN_BY_STAFF),
  }),
);

/** Does a step through the API. A step that the rules refuse changes nothing. */
async function take(next: Step, accounts: { id: number; accountNumber: string }[], payments: number[]) {
  const on = accounts[next.account] ?? { id: 0, accountNumber: '' };
  const of = 'payment' in next ? payments[next.payment % Math.max(1, payments.length)] : undefined;
  switch (next.do) {
    case 'notify': {
      const BillRefNumber = next.named ? on.accountNumber : `nobody on account ${next.account}`;
      const { body } = await notify(service, { BillRefNumber, TransAmount: String(next.amount) });
      payments.push(body.data.paymentId);
      return;
    }
    case 'pay': {
      const day = new Date(Date.UTC(2026, 10, 2) - next.daysAgo * 86_400_000).toISOString().slice(0, 10);
      const sent = { accountId: on.id, amount: next.amount, paymentMethodId: 2, paymentDate: day };
      payments.push((await service.call('POST', '/payments', sent)).body.data.id);
      return;
    }
    case 'move': {
      const answer = await service.call('PUT', `/accounts/${on.id}`, { status: next.to, reason: 'tried' });
      expect([200, 400], answer.text).toContain(answer.status);
      return;
    }
    default: {
      if (of === undefined) return;
      const body = next.do === 'assign' ? { accountId: on.id } : { reason: 'tried' };
      const answer = await service.call('POST', `/payments/${of}/${next.do}`, body);
      expect([200, 400], answer.text).toContain(answer.status);
    }
  }
}

it('any order of payments, assignments, unassignments and reversals keeps the books consistent', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 14 }), async (steps) => {
      const accounts = [];
      for (let i = 0; i < 3; i++) accounts.push(await newAccount(service, { activationDate: '2026-01-05' }));
      const payments: number[] = [];
      for (const next of steps) await take(next, accounts, payments);
      await expectBooksToBalance(service.context);

      // An account with several payments shows the same figures as an account that got the sum in one payment.
      for (const { id } of accounts) {
        const now = await accountNow(service, id);
        if (now.status !== 'active' && now.status !== 'completed') continue;
        const twin = await newAccount(service, { activationDate: '2026-01-05' });
        if (now.paid > 0) {
          const sum = { accountId: twin.id, amount: now.paid, paymentMethodId: 2 };
          expect((await service.call('POST', '/payments', sum)).status).toBe(201);
        }
        const expected = await accountNow(service, twin.id);
        for (const field of ['balance', 'credit', 'arrears', 'daysPastDue', 'nextDueDate', 'nextDueAmount']) {
          expect(now[field], field).toEqual(expected[field]);
        }
      }
    }),
    { numRuns: RUNS },
  );
});
