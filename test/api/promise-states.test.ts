import fc from 'fast-check';
import { expect, it } from 'vitest';
import { addDays, type PlainDate } from '../../src/core/values/dates.ts';
import { dataOf, move, newAccount, pay, reverse, useService } from '../support/harness.ts';
import { PROPERTY_RUNS } from '../support/property-runs.ts';

const service = useService();
const START = '2026-11-02' as PlainDate;
const TOTAL = 22_800;
const MAX_RUNS = 12; // each run sends about forty requests

/** Each step takes a minute. `day` steps end the day. */
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('promise' as const),
      amount: fc.constantFrom(400, 700, 1_200),
      days: fc.nat({ max: 4 }),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('pay' as const),
      amount: fc.constantFrom(100, 300, 400, 700, 100, 300, 400, 700, 100, 300, 400, 700, 21_000),
      daysAgo: fc.constantFrom(0, 0, 0, 1, 2, 4),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('reverse' as const), which: fc.nat({ max: 20 }) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('correct' as const),
      which: fc.nat({ max: 20 }),
      amount: fc.constantFrom(200, 450, 900),
    }),
  },
  // A payment of a relative: first unmatched or on another account, then moved here, perhaps days later.
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('receiveUnmatched' as const),
      amount: fc.constantFrom(300, 400, 700),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('assign' as const), which: fc.nat({ max: 20 }) }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('creditIn' as const), amount: fc.constantFrom(100, 400) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('creditOut' as const), amount: fc.constantFrom(50, 200) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('status' as const),
      to: fc.constantFrom('repossessed', 'active'),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant('day' as const), days: fc.integer({ min: 1, max: 3 }) }),
  },
);

type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/** A history with each state, so that the random ones need not find all of them. */
const EACH_STATE: Step[] = [
  { do: 'promise', amount: 400, days: 1 },
  { do: 'day', days: 2 },
  { do: 'promise', amount: 700, days: 1 },
  { do: 'pay', amount: 300, daysAgo: 0 },
  { do: 'day', days: 2 },
  { do: 'pay', amount: 100, daysAgo: 0 },
  { do: 'promise', amount: 400, days: 1 },
  { do: 'correct', which: 1, amount: 900 },
  { do: 'day', days: 2 },
  { do: 'promise', amount: 400, days: 1 },
  { do: 'pay', amount: 400, daysAgo: 0 },
  { do: 'day', days: 2 },
  { do: 'promise', amount: 400, days: 3 },
  { do: 'promise', amount: 700, days: 2 },
  { do: 'status', to: 'repossessed' },
  { do: 'day', days: 3 },
];

/** A payment counts for the promise that was open when it was first recorded, also if its amount is corrected after the next promise. */
const CORRECTED_AFTER_REPLACEMENT: Step[] = [
  { do: 'promise', amount: 400, days: 4 },
  { do: 'day', days: 1 },
  { do: 'pay', amount: 400, daysAgo: 0 },
  { do: 'day', days: 1 },
  { do: 'promise', amount: 700, days: 4 },
  { do: 'pay', amount: 700, daysAgo: 0 },
  { do: 'day', days: 1 },
  { do: 'correct', which: 0, amount: 450 },
  { do: 'correct', which: 0, amount: 900 },
  { do: 'day', days: 3 },
  { do: 'day', days: 3 },
];

/** A customer who keeps a promise and then moves the next one once has moved one promise, not two. */
const MOVED_AFTER_KEPT: Step[] = [
  { do: 'promise', amount: 400, days: 4 },
  { do: 'pay', amount: 400, daysAgo: 0 },
  { do: 'promise', amount: 700, days: 4 },
  { do: 'promise', amount: 700, days: 4 },
  { do: 'promise', amount: 700, days: 4 },
  { do: 'reverse', which: 0 },
];

interface Money {
  id: number;
  amount: number;
  date: PlainDate;
  recordedAt: number;
  isHere: boolean;
  isReversed: boolean;
}
interface Made {
  id: number;
  amount: number;
  madeOn: PlainDate;
  dueOn: PlainDate;
  madeAt: number;
  replaces: number | undefined;
}

/** What the text of the rule says, computed without the database. */
class Model {
  money: Money[] = [];
  promises: Made[] = [];
  statuses: { status: string; day: PlainDate }[] = [];

  /** The unreversed money of the account until the date of a promise, recorded before the promise was ended by the next one. */
  counted({ id, dueOn }: Made): Money[] {
    const endedAt = this.promises.find(({ replaces }) => replaces === id)?.madeAt ?? Number.POSITIVE_INFINITY;
    return this.money.filter(
      ({ isHere, isReversed, date, recordedAt }) =>
        isHere && !isReversed && date <= dueOn && recordedAt < endedAt,
    );
  }

  isWhole(promise: Made): boolean {
    const paid = this.counted(promise).reduce((sum, { amount }) => sum + amount, 0);
    return this.collected(promise) >= promise.amount || paid >= TOTAL;
  }

  collected(promise: Made): number {
    return this.counted(promise)
      .filter(({ date, recordedAt }) => date >= promise.madeOn && recordedAt >= promise.madeAt)
      .reduce((sum, { amount }) => sum + amount, 0);
  }

  open(day: PlainDate): Made | undefined {
    return this.promises.findLast(
      ({ id, dueOn }) => dueOn >= day && !this.promises.some(({ replaces }) => replaces === id),
    );
  }

  stateOf(promise: Made, day: PlainDate): string {
    if (this.promises.some(({ replaces }) => replaces === promise.id)) {
      if (this.isWhole(promise)) return 'kept';
      const moved = this.promises.find(({ id }) => id === promise.replaces);
      return moved && !this.isWhole(moved) ? 'broken' : 'replaced';
    }
    if (day <= promise.dueOn) return 'open';
    const last = this.statuses.findLast((change) => change.day <= promise.dueOn)?.status ?? 'active';
    if (['cancelled', 'written_off', 'repossessed'].includes(last)) return 'void';
    if (this.isWhole(promise)) return 'kept';
    return this.collected(promise) > 0 ? 'partly_kept' : 'broken';
  }
}

it('gives promises of random histories the states that the rule says', { timeout: 600_000 }, async () => {
  service.clock.set(new Date(`${START}T09:00:00Z`));
  const giver = await newAccount(service, { activationDate: '2026-08-03' });
  await pay(service, giver.id, TOTAL + 100_000);
  const seen = new Set<string>();
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 8, maxLength: 24 }), async (steps) => {
      let day = START;
      let minute = 0;
      const tick = () => {
        minute += 1;
        service.clock.set(new Date(Date.parse(`${day}T06:00:00Z`) + minute * 60_000));
      };
      tick();
      const account = await newAccount(service, { activationDate: '2026-08-03' });
      const model = new Model();
      for (const one of steps) {
        tick();
        await take(one);
        const shown = await dataOf(
          service.call('GET', `/promises?filter[accountId]=${account.id}&sort=id:asc&limit=100`),
        );
        const expected = model.promises.map((promise) => [promise.id, model.stateOf(promise, day)]);
        expect(shown.map(({ id, state }: { id: number; state: string }) => [id, state])).toEqual(expected);
        for (const [, state] of expected) seen.add(String(state));
        expect(expected.filter(([, state]) => state === 'open').length).toBeLessThanOrEqual(1);
      }

      async function take(one: Step): Promise<void> {
        const now = minute;
        switch (one.do) {
          case 'day':
            day = addDays(day, one.days);
            tick();
            return;
          case 'pay': {
            const date = addDays(day, -one.daysAgo);
            const { id } = await pay(service, account.id, one.amount, { paymentDate: date });
            model.money.push({
              id,
              amount: one.amount,
              date,
              recordedAt: now,
              isHere: true,
              isReversed: false,
            });
            return;
          }
          case 'reverse': {
            const payments = model.money.filter(({ id, isReversed }) => id > 0 && !isReversed);
            const chosen = payments[one.which % Math.max(1, payments.length)];
            if (!chosen) return;
            await reverse(service, chosen.id);
            chosen.isReversed = true;
            return;
          }
          case 'correct': {
            const payments = model.money.filter(
              ({ id, isHere, isReversed }) => id > 0 && isHere && !isReversed,
            );
            const chosen = payments[one.which % Math.max(1, payments.length)];
            if (!chosen) return;
            const body = { amount: one.amount, reason: 'typed wrongly' };
            const answer = await service.call('POST', `/payments/${chosen.id}/correct-amount`, body);
            if (answer.status !== 200) return; // the amount is already right
            chosen.isReversed = true;
            // The money was there when the first payment was recorded.
            model.money.push({ ...chosen, id: answer.body.data.id, amount: one.amount, isReversed: false });
            return;
          }
          case 'receiveUnmatched': {
            const here = await pay(service, account.id, one.amount);
            await dataOf(service.call('POST', `/payments/${here.id}/unassign`, { reason: 'of a relative' }));
            const { id, paymentDate: date } = here;
            model.money.push({
              id,
              amount: one.amount,
              date,
              recordedAt: now,
              isHere: false,
              isReversed: false,
            });
            return;
          }
          case 'assign': {
            const waiting = model.money.filter(({ isHere, isReversed }) => !isHere && !isReversed);
            const chosen = waiting[one.which % Math.max(1, waiting.length)];
            if (!chosen) return;
            await dataOf(service.call('POST', `/payments/${chosen.id}/assign`, { accountId: account.id }));
            chosen.isHere = true;
            return;
          }
          case 'creditIn': {
            const body = { toAccountId: account.id, amount: one.amount, reason: 'of a relative' };
            const answer = await service.call('POST', `/accounts/${giver.id}/credit/transfer`, body);
            if (answer.status !== 201) return;
            const { valueDate: date } = answer.body.data;
            model.money.push({
              id: 0,
              amount: one.amount,
              date,
              recordedAt: now,
              isHere: true,
              isReversed: false,
            });
            return;
          }
          case 'creditOut': {
            const body = { amount: one.amount, reason: 'paid too much', paymentMethodId: 2 };
            const answer = await service.call('POST', `/accounts/${account.id}/credit/refund`, body);
            if (answer.status !== 201) return;
            const { valueDate: date } = answer.body.data;
            model.money.push({
              id: 0,
              amount: -one.amount,
              date,
              recordedAt: now,
              isHere: true,
              isReversed: false,
            });
            return;
          }
          case 'status': {
            const { status } = await dataOf(service.call('GET', `/accounts/${account.id}`));
            if (status !== (one.to === 'active' ? 'repossessed' : 'active')) return;
            if (one.to === 'repossessed') await move(service, account.id, 'suspended');
            await move(service, account.id, one.to);
            model.statuses.push({ status: one.to, day });
            return;
          }
          case 'promise': {
            const dueOn = addDays(day, one.days);
            const body = {
              accountId: account.id,
              result: 'promise',
              promise: { amount: one.amount, date: dueOn },
            };
            const answer = await service.call('POST', '/calls', body);
            if (answer.status !== 201) return; // the account is not open, or the amount is above its balance
            const open = model.open(day);
            const replaces = open?.id;
            const id = answer.body.data.promiseId;
            model.promises.push({ id, amount: one.amount, madeOn: day, dueOn, madeAt: now, replaces });
          }
        }
      }
    }),
    {
      examples: [[EACH_STATE], [CORRECTED_AFTER_REPLACEMENT], [MOVED_AFTER_KEPT]],
      numRuns: Math.min(PROPERTY_RUNS, MAX_RUNS),
      endOnFailure: true,
      seed: Number(process.env.PROPERTY_SEED ?? 20_261_102),
    },
  );
  expect([...seen].sort()).toEqual(['broken', 'kept', 'open', 'partly_kept', 'replaced', 'void']);
});
