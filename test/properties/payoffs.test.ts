import fc from 'fast-check';
import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { refundCredit } from '../../src/accounts/credit/commands.ts';
import { type Terms, termsOf, totalOf } from '../../src/accounts/schedule/rules.ts';
import { totalOn } from '../../src/accounts/schedule/store.ts';
import { getAccountRow } from '../../src/accounts/store.ts';
import { addDays, later, type PlainDate } from '../../src/core/values/dates.ts';
import { unassignPayment } from '../../src/payments/assign-payment.ts';
import { correctAmount } from '../../src/payments/correct-amount.ts';
import { reversePayment } from '../../src/payments/reverse-payment.ts';
import { expectChecksToPass } from '../support/books.ts';
import { dataOf, useService } from '../support/harness.ts';
import { type Case, inCase, RUNS, START, type Stage, setStage } from './in-process.ts';

// Early payoffs among payments, reversals, corrections, refunds and corrections of the price, compared with a model that shares no code
// with them.

const service = useService();
let stage: Stage;
const planIds: number[] = [];

interface Plan {
  deposit: number;
  dues: number[];
  days: number;
  basisPoints: number;
  minDues: number;
  unit: number;
}

/** Amounts in hundredths. The dues are `days` apart. */
const PLANS: Plan[] = [
  { deposit: 0, dues: Array(10).fill(10_000), days: 7, basisPoints: 1_000, minDues: 2, unit: 100 },
  {
    deposit: 5_000,
    dues: [...Array(8).fill(4_500), 2_710],
    days: 7,
    basisPoints: 1_234,
    minDues: 3,
    unit: 500,
  },
  { deposit: 2_000, dues: Array(12).fill(333), days: 1, basisPoints: 9_999, minDues: 1, unit: 100 },
];

beforeAll(async () => {
  stage = await setStage(service);
  for (const [at, { deposit, dues, days, basisPoints, minDues, unit }] of PLANS.entries()) {
    const [first = 0] = dues;
    const amounts = { deposit: deposit / 100, instalmentAmount: first / 100 };
    const price = dues.reduce((sum, due) => sum + due, deposit) / 100;
    const body = {
      ...{ name: `Offer ${at}`, frequency: days === 1 ? 'daily' : 'weekly', ...amounts },
      ...(at === 1 ? { price, roundingUnit: unit / 100 } : { instalmentCount: dues.length }),
      earlyPayoff: { discountBasisPoints: basisPoints, minDues },
    };
    planIds.push((await dataOf(service.call('POST', '/payplans', body), 201)).id);
  }
});

interface Money {
  id: number;
  date: PlainDate;
  amount: number;
}

interface Change {
  kind: 'payoff' | 'price_correction';
  amount: number;
  from: PlainDate;
  /** The day of its undo. */
  to?: PlainDate;
}

/** The account by the text of the rules. */
class Model {
  readonly plan: Plan;
  money: Money[] = [];
  /** Without payoffs that ended. */
  changes: Change[] = [];
  latestUndo = START;
  payoffs = 0;
  ended = 0;

  constructor(plan: Plan) {
    this.plan = plan;
  }

  get inEffect(): Change[] {
    return this.changes.filter(({ to }) => to === undefined);
  }

  sum(counts: (date: PlainDate) => boolean = () => true): number {
    return this.money.reduce((sum, { date, amount }) => (counts(date) ? sum + amount : sum), 0);
  }

  dues(): { date: PlainDate; amount: number }[] {
    const dues = this.plan.dues.map((amount, i) => ({
      date: addDays(START, (i + 1) * this.plan.days),
      amount,
    }));
    for (const { amount } of this.inEffect) {
      let left = amount;
      while (left > 0) {
        const last = dues.at(-1);
        if (!last) throw new Error('too much was cut');
        const cut = Math.min(left, last.amount);
        last.amount -= cut;
        left -= cut;
        if (last.amount === 0) dues.pop();
      }
    }
    return dues;
  }

  get total(): number {
    return this.dues().reduce((sum, { amount }) => sum + amount, this.plan.deposit);
  }

  totalOn(day: PlainDate): number {
    const all = this.plan.dues.reduce((sum, due) => sum + due, this.plan.deposit);
    return this.changes.reduce(
      (sum, { amount, from, to }) => (from <= day && (to === undefined || day < to) ? sum - amount : sum),
      all,
    );
  }

  offer(day: PlainDate): number {
    const { deposit, basisPoints, minDues, unit } = this.plan;
    const before = this.sum((date) => date < day);
    const dates = [
      ...this.money.map(({ date }) => date),
      ...this.changes.map(({ from }) => from),
      this.latestUndo,
    ];
    if (day < START || before < deposit || dates.some((date) => date > day)) return 0;
    let covered = before - deposit;
    const unpaid = this.dues()
      .map(({ date, amount }) => {
        const paid = Math.min(covered, amount);
        covered -= paid;
        return { date, left: amount - paid };
      })
      .filter(({ date, left }) => date > day && left > 0);
    if (unpaid.length < minDues) return 0;
    const sum = unpaid.reduce((all, { left }) => all + left, 0);
    return Math.floor((sum * basisPoints) / 10_000 / unit) * unit;
  }

  arrives(one: Money, isActive: boolean): void {
    this.money.push(one);
    if (isActive) this.earn();
  }

  /** Whether it is decided again: a correction that leaves a completed account completed changes no price. */
  corrects(one: Money, id: number, amount: number): boolean {
    const wasActive = this.sum() < this.total;
    this.money = [...this.money.filter((other) => other !== one), { ...one, id, amount }];
    const isDecided = wasActive || this.sum() < this.total;
    this.endPayoff();
    if (isDecided) this.earn();
    return isDecided;
  }

  private earn(): void {
    const day = this.money.map(({ date }) => date).reduce(later);
    const discount = this.offer(day);
    if (discount === 0 || this.sum() < this.total - discount) return;
    this.changes.push({ kind: 'payoff', amount: discount, from: day });
    this.payoffs += 1;
  }

  endPayoff(): void {
    const payoff = this.inEffect.find(({ kind }) => kind === 'payoff');
    if (!payoff || this.sum() >= this.total) return;
    this.changes = this.changes.filter((change) => change !== payoff);
    this.ended += 1;
  }
}

type Step =
  | { do: 'pay'; percent: number; daysAgo: number }
  | { do: 'pay off'; extra: number }
  | { do: 'reverse' | 'unassign'; payment: number }
  | { do: 'correct'; payment: number; percent: number }
  | { do: 'correct by little'; payment: number; by: number }
  | { do: 'refund'; percent: number }
  | { do: 'lower'; percent: number }
  | { do: 'undo' }
  | { do: 'wait'; days: number };

const percent = fc.integer({ min: 1, max: 130 });
const payment = fc.nat({ max: 20 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('pay' as const),
      percent,
      daysAgo: fc.constantFrom(0, 0, 0, 1, 3),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('pay off' as const), extra: fc.constantFrom(0, 0, 5, 20) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constantFrom('reverse' as const, 'unassign' as const), payment }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('correct' as const), payment, percent }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('correct by little' as const),
      payment: fc.nat({ max: 2 }),
      by: fc.oneof(fc.integer({ min: -200, max: 200 }), fc.integer({ min: -3_000, max: 0 })),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('refund' as const), percent: fc.integer({ min: 1, max: 100 }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('lower' as const), percent: fc.integer({ min: 1, max: 20 }) }),
  },
  { weight: 1, arbitrary: fc.constant({ do: 'undo' as const }) },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('wait' as const), days: fc.integer({ min: 1, max: 9 }) }),
  },
);

/** A payment before a payoff with credit, and the correction of its amount to one that no longer pays the lowered price. */
const correctedPayoff: fc.Arbitrary<Step[]> = fc.tuple(
  fc.record({
    do: fc.constant('pay' as const),
    percent: fc.integer({ min: 60, max: 130 }),
    daysAgo: fc.constant(0),
  }),
  fc.record({ do: fc.constant('wait' as const), days: fc.integer({ min: 1, max: 9 }) }),
  fc.record({ do: fc.constant('pay off' as const), extra: fc.integer({ min: 1, max: 15 }) }),
  fc.record({
    do: fc.constant('correct by little' as const),
    payment: fc.constant(0),
    by: fc.integer({ min: -2_000, max: -1 }),
  }),
);

const happened = {
  ...{ payoffs: 0, ended: 0, 'ended before a correction': 0, 'corrected and kept': 0 },
  'ended and earned by one correction': 0,
};

/** What an account has after work that is rolled back. */
async function inSavepoint<T>(run: Case, work: () => Promise<T>): Promise<T> {
  await sql`savepoint alternative`.execute(run.tx);
  const result = await work();
  await sql`rollback to savepoint alternative`.execute(run.tx);
  await sql`release savepoint alternative`.execute(run.tx);
  return result;
}

async function figuresOf(run: Case, id: number) {
  const row = await getAccountRow(run.tx, id);
  const { status, credit_minor, next_due_date, original_due_date } = row;
  return { terms: termsOf(row), status, credit_minor, next_due_date, original_due_date };
}

async function openIn(run: Case, at: number): Promise<number> {
  return (await run.open(planIds[at] ?? 0, START)).id;
}

/** Does a step, if it is possible, in the service and in the model. */
async function take(run: Case, id: number, model: Model, next: Step): Promise<void> {
  const isActive = model.sum() < model.total;
  const isPaidOff = model.inEffect.some(({ kind }) => kind === 'payoff');
  const hasCorrection = isPaidOff && model.inEffect.at(-1)?.kind === 'price_correction';
  const endedBefore = model.ended;
  const pay = async (amount: number, daysAgo: number) => {
    if (amount <= 0) return;
    const date = addDays(run.day, -daysAgo);
    const body = { accountId: id, amount: amount / 100, paymentMethodId: 2, paymentDate: date };
    const recorded = await run.attempt((context, actor) => run.record(context, actor, body));
    if (recorded) model.arrives({ id: recorded.id, date, amount }, isActive);
  };
  switch (next.do) {
    case 'pay':
      return pay(Math.round((model.total * next.percent) / 400), next.daysAgo);
    case 'pay off':
      return pay(
        model.total - model.offer(run.day) - model.sum() + Math.round((model.total * next.extra) / 100),
        0,
      );
    case 'reverse':
    case 'unassign': {
      const own = model.money.filter((one) => one.id > 0);
      const one = own[next.payment % Math.max(1, own.length)];
      if (!one) return;
      const command = next.do === 'reverse' ? reversePayment : unassignPayment;
      const done = await run.attempt((context, actor) => command(context, actor, one.id, 'tried'));
      if (done) model.money = model.money.filter((other) => other !== one);
      break;
    }
    case 'correct':
    case 'correct by little': {
      const own = model.money.filter((one) => one.id > 0);
      const one = own[next.payment % Math.max(1, own.length)];
      if (!one) return;
      // By little from the amount with which the account pays just its price, where a payoff can end and be earned at once.
      const to =
        next.do === 'correct'
          ? Math.round((one.amount * next.percent) / 100)
          : one.amount + model.total - model.sum() + next.by;
      const amount = Math.max(1, to);
      if (amount === one.amount) return;
      const otherwise = await inSavepoint(run, async () => {
        const body = { accountId: id, amount: amount / 100, paymentMethodId: 2, paymentDate: one.date };
        await reversePayment(run.context, stage.actor, one.id, 'tried');
        await run.record(run.context, stage.actor, body);
        return figuresOf(run, id);
      });
      const done = await run.attempt((context, actor) =>
        correctAmount(context, actor, one.id, { amount: amount / 100, reason: 'tried' }),
      );
      if (!done || !('done' in done)) return;
      const { ended, payoffs } = model;
      const isDecided = model.corrects(one, done.done.id, amount);
      if (isDecided) expect(await figuresOf(run, id)).toEqual(otherwise);
      if (isPaidOff && !isDecided) happened['corrected and kept'] += 1;
      if (model.payoffs > payoffs && model.ended > ended) happened['ended and earned by one correction'] += 1;
      break;
    }
    case 'refund': {
      const amount = Math.floor(((model.sum() - model.total) * next.percent) / 100);
      if (amount <= 0) return;
      const body = { amount: amount / 100, paymentMethodId: 2, reason: 'tried' };
      const done = await run.attempt((context, actor) => refundCredit(context, actor, id, body));
      expect(done).toBeDefined();
      model.money.push({ id: 0, date: run.day, amount: -amount });
      break;
    }
    case 'lower': {
      const amount = Math.round(((model.total - model.plan.deposit) * next.percent) / 100);
      if (amount <= 0) return;
      expect(await run.changePlan(id, { kind: 'price_correction', amount: amount / 100 })).toBeDefined();
      model.changes.push({ kind: 'price_correction', amount, from: run.day });
      break;
    }
    case 'undo': {
      const newest = model.inEffect.at(-1);
      const done = await run.changePlan(id, { kind: 'undo' });
      expect(done !== undefined).toBe(newest?.kind === 'price_correction');
      if (!newest || !done) return;
      newest.to = run.day;
      model.latestUndo = run.day;
      break;
    }
    case 'wait':
      run.wait(next.days);
  }
  model.endPayoff();
  if (model.ended > endedBefore && hasCorrection) happened['ended before a correction'] += 1;
}

async function expectAgreement(run: Case, id: number, model: Model): Promise<void> {
  const row = await getAccountRow(run.tx, id);
  const terms: Terms = termsOf(row);
  expect({
    ...{ total: Number(totalOf(terms)), paid: row.paid_minor, credit: row.credit_minor },
    isCompleted: row.status === 'completed',
  }).toEqual({
    ...{ total: model.total, paid: model.sum(), credit: Math.max(0, model.sum() - model.total) },
    isCompleted: model.sum() >= model.total,
  });
}

describe('early payoffs', () => {
  it('agree with a model on all figures, also of past days, and keep the books consistent', {
    timeout: 60_000 + RUNS * 1_000,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat({ max: PLANS.length - 1 }),
        fc.oneof({ weight: 2, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: correctedPayoff }),
        fc.array(step, { minLength: 6, maxLength: 25 }),
        async (at, first, others) =>
          inCase(stage, async (run) => {
            const plan = PLANS[at];
            if (!plan) throw new Error('There is no such plan.');
            const model = new Model(plan);
            const id = await openIn(run, at);
            run.wait(3);
            for (const next of [...first, ...others]) {
              await take(run, id, model, next);
              await expectAgreement(run, id, model);
            }
            for (let day = START; day <= run.day; day = addDays(day, 1)) {
              const { rows } = await sql<{ total: number }>`
                select ${totalOn(sql`${day}::date`)} as total from accounts a where id = ${id}`.execute(
                run.tx,
              );
              expect(rows[0]?.total, day).toBe(model.totalOn(day));
            }
            await expectChecksToPass(run.tx);
            happened.payoffs += model.payoffs;
            happened.ended += model.ended;
          }),
      ),
      { numRuns: RUNS },
    );
    if (RUNS >= 200)
      for (const [what, times] of Object.entries(happened)) expect(times, what).toBeGreaterThan(0);
  });

  it('in parts, of which one is reversed and paid again, end like one payment', {
    timeout: 60_000 + RUNS * 1_000,
  }, async () => {
    const parts = fc.array(fc.integer({ min: 1, max: 100 }), { minLength: 2, maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(
        ...[fc.nat({ max: 1 }), parts, fc.nat(), fc.integer({ min: 1, max: 40 })],
        async (at, weights, reversed, days) =>
          inCase(stage, async (run) => {
            const plan = PLANS[at];
            if (!plan) throw new Error('There is no such plan.');
            const [once, inParts] = [await openIn(run, at), await openIn(run, at)];
            const pay = (id: number, amount: number) =>
              run.record(run.context, stage.actor, {
                accountId: id,
                amount: amount / 100,
                paymentMethodId: 2,
              });
            const model = new Model(plan);
            if (plan.deposit > 0)
              for (const id of [once, inParts])
                model.money = [{ ...(await pay(id, plan.deposit)), date: START, amount: plan.deposit }];
            run.wait(days);
            const all = model.total - model.offer(run.day) - model.sum();
            const sum = weights.reduce((one, weight) => one + weight, 0);
            const amounts = weights.map((weight) => Math.max(1, Math.floor((all * weight) / sum)));
            amounts[0] = (amounts[0] ?? 0) + all - amounts.reduce((one, amount) => one + amount, 0);
            await pay(once, all);
            const ids = [];
            for (const amount of amounts) ids.push((await pay(inParts, amount)).id);
            const again = reversed % ids.length;
            await reversePayment(run.context, stage.actor, ids[again] ?? 0, 'tried');
            await pay(inParts, amounts[again] ?? 0);
            expect(await figuresOf(run, inParts)).toEqual(await figuresOf(run, once));
            await expectChecksToPass(run.tx);
          }),
      ),
      { numRuns: Math.ceil(RUNS / 5) },
    );
  });
});
