import fc from 'fast-check';
import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { activateDueAccounts } from '../../src/accounts/activate-due-accounts.ts';
import type { AccountRow } from '../../src/accounts/ledger/rules.ts';
import { changePlan } from '../../src/accounts/plan-changes/change-plan.ts';
import type { NewPlanChange, RequestedKind } from '../../src/accounts/plan-changes/schema.ts';
import {
  completionDate,
  dueBy,
  itemsWithin,
  lastDayOfGrace,
  recordedTermsOf,
  termsOf,
} from '../../src/accounts/schedule/rules.ts';
import {
  instalmentsDueBy,
  originalInstalmentsDueBy,
  originalTermsOn,
} from '../../src/accounts/schedule/store.ts';
import { suspendLateAccounts } from '../../src/accounts/status/suspend-late-accounts.ts';
import { getAccountRow } from '../../src/accounts/store.ts';
import { toAccount, toSchedule } from '../../src/accounts/view.ts';
import {
  addDays,
  earlier,
  firstOfMonth,
  lastOfMonth,
  later,
  type PlainDate,
} from '../../src/core/values/dates.ts';
import { reversePayment } from '../../src/payments/reverse-payment.ts';
import { summarizeAccounts } from '../../src/reports/summary-view.ts';
import { expectChecksToPass } from '../support/books.ts';
import { dataOf, useService } from '../support/harness.ts';
import { type Case, inCase, RUNS, START, type Stage, setStage } from './in-process.ts';

// What holds for any changes of a plan, whatever is paid and reversed between them.

const service = useService();
const signal = new AbortController().signal;
let stage: Stage;

const PLANS = [
  { price: 110, frequency: 'weekly', instalmentAmount: 4.5, graceDays: 3, autoSuspend: true },
  {
    ...{ price: 131.5, frequency: 'monthly', instalmentCount: 9, monthsWithoutDues: [4, 5] },
    ...{ graceDays: 5, autoSuspend: true },
  },
  {
    ...{ price: 240, graceDays: 10 },
    harvest: {
      entries: [
        { month: 3, day: 15, shareBasisPoints: 6_000 },
        { month: 9, day: 30, shareBasisPoints: 4_000 },
      ],
      ...{ cycles: 2, leadDays: 30 },
    },
  },
  { price: 90, deposit: 0, frequency: 'daily', instalmentAmount: 1.5 },
];
const planIds: number[] = [];

beforeAll(async () => {
  stage = await setStage(service);
  for (const [at, plan] of PLANS.entries()) {
    const body = { name: `Plan ${at}`, deposit: 20, roundingUnit: 0.5, ...plan };
    planIds.push((await dataOf(service.call('POST', '/payplans', body), 201)).id);
  }
});

const cents = (amount: number) => Math.round(amount * 100);

const percent = fc.integer({ min: 1, max: 100 });

/** A change in terms of the account at its time. */
const askedOf = (...kinds: RequestedKind[]) =>
  fc.record({
    kind: fc.constantFrom(...kinds),
    /** Which of the next instalments is the first that moves, or the days until the first new one. */
    first: fc.nat({ max: 3 }),
    size: fc.integer({ min: 1, max: 12 }),
    percent: fc.oneof({ weight: 4, arbitrary: fc.integer({ min: 1, max: 40 }) }, percent),
    movesArrears: fc.boolean(),
    /** By days or periods, by count or amount or after harvests. */
    way: fc.nat({ max: 2 }),
    plan: fc.nat({ max: PLANS.length - 1 }),
  });
const asked = askedOf(
  ...(['deferral', 'deferral', 'deferral', 'revision', 'revision', 'discount', 'price_correction'] as const),
  ...(['price_rise', 'sale_correction', 'undo', 'undo'] as const),
);
type Asked = typeof asked extends fc.Arbitrary<infer A> ? A : never;

const paid = fc.record({
  of: fc.constantFrom('arrears' as const, 'balance' as const),
  percent: fc.oneof({ weight: 5, arbitrary: fc.integer({ min: 1, max: 30 }) }, fc.constantFrom(100, 110)),
  daysAgo: fc.constantFrom(0, 0, 0, 1, 40),
});
type Paid = typeof paid extends fc.Arbitrary<infer P> ? P : never;

type Step =
  | { do: 'pay'; paid: Paid }
  | { do: 'reverse'; payment: number }
  | { do: 'change'; asked: Asked }
  | { do: 'wait'; days: number }
  | { do: 'run the policy' };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('pay' as const), paid }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('reverse' as const), payment: fc.nat({ max: 20 }) }) },
  { weight: 8, arbitrary: fc.record({ do: fc.constant('change' as const), asked }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('wait' as const),
      days: fc.oneof(fc.integer({ min: 1, max: 9 }), fc.constantFrom(30, 45, 70)),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('run the policy' as const) }) },
);

const history = fc.record({
  plan: fc.nat({ max: PLANS.length - 1 }),
  /** Days after the opening. */
  activation: fc.constantFrom(0, 0, 12),
  /** The days before the first step. */
  begin: fc.constantFrom(0, 5, 20, 65),
  steps: fc.array(step, { minLength: 5, maxLength: 12, size: 'max' }),
});
type History = typeof history extends fc.Arbitrary<infer H> ? H : never;

interface Sold {
  id: number;
  /** The index of the plan that was sold. */
  plan: number;
  /** The account before all changes. */
  first: AccountRow;
  /** The ids. */
  payments: number[];
  /** Those that are not undone, with the account before each. */
  changes: { kind: RequestedKind; before: AccountRow; priceChange: number }[];
}

const happened = new Map<string, number>();
const count = (what: string) => happened.set(what, (happened.get(what) ?? 0) + 1);
const WANTED = [
  ...['deferral', 'revision', 'discount', 'price_correction', 'price_rise', 'sale_correction', 'undo'],
  ...[
    'arrears moved',
    'changed while late by the original terms',
    'changed while suspended',
    'changed while completed',
    'changed while pending',
  ],
  ...['undone to the sale after several changes', 'changed and paid in both orders', 'months with changes'],
];

async function open(run: Case, { plan, activation, begin }: History): Promise<Sold> {
  const first = await run.open(planIds[plan] ?? 0, addDays(run.day, activation));
  await wait(run, begin);
  return { id: first.id, plan, first, payments: [], changes: [] };
}

async function wait(run: Case, days: number): Promise<void> {
  run.wait(days);
  await activateDueAccounts(run.context, signal);
}

/** A change with `dues`, which only an account without a rhythm needs. */
function requestOf(
  { kind, first, size, percent: share, movesArrears, way, plan }: Asked,
  row: AccountRow,
  day: PlainDate,
): NewPlanChange {
  const terms = termsOf(row);
  const start = later(day, terms.activationDate);
  const amountOf = (minor: number) => Math.max(1, Math.floor((minor * share) / 100)) / 100;
  const duesOf = (amount: number) => [{ date: addDays(later(start, completionDate(terms)), 30), amount }];
  switch (kind) {
    case 'deferral': {
      const next = itemsWithin(terms, { from: addDays(day, 1), to: completionDate(terms) });
      const from = (next[first] ?? next[0])?.date ?? addDays(day, 1);
      const arrears = Number(dueBy(terms, day)) - Math.max(row.paid_minor, row.deposit_minor);
      return {
        ...{ kind, from, ...(way === 0 ? { days: size * 4 } : { periods: Math.ceil(size / 4) }) },
        ...(movesArrears && { arrears: 'behind', ...(arrears > 0 && { dues: duesOf(arrears / 100) }) }),
      };
    }
    case 'revision': {
      const firstDueDate = addDays(start, 1 + first * 9);
      const arrears = movesArrears ? 'move' : 'stay';
      if (way === 2) {
        const entries = [
          { month: 6, day: 1, shareBasisPoints: 3_000 },
          { month: 12, day: 31, shareBasisPoints: 7_000 },
        ];
        const harvest = { entries, cycles: Math.ceil(size / 4), leadDays: 0 };
        return { kind, firstDueDate, arrears, harvest };
      }
      const nextMonth = 1 + (Number(firstDueDate.slice(5, 7)) % 12);
      return {
        ...{ kind, firstDueDate, arrears },
        ...(size > 6 ? { instalmentAmount: size / 2 } : { instalmentCount: size }),
        ...(way === 0 ? { frequency: 'weekly' } : { frequency: 'monthly', monthsWithoutDues: [nextMonth] }),
      };
    }
    case 'discount':
      return { kind, amount: amountOf(row.total_minor - row.paid_minor) };
    case 'price_correction':
      return { kind, amount: amountOf(row.total_minor) };
    case 'price_rise': {
      const amount = amountOf(row.total_minor);
      return { kind, amount, consent: 'In writing', dues: duesOf(amount) };
    }
    case 'sale_correction':
      return { kind, payplanId: planIds[plan] ?? 0 };
    case 'undo':
      return { kind };
  }
}

/** What the wanted change would do. @returns undefined if it is not possible. */
async function show(run: Case, { id }: Sold, wanted: Asked) {
  const { dues, ...body } = requestOf(wanted, await getAccountRow(run.tx, id), run.day);
  for (const request of dues ? [body, { ...body, dues }] : [body]) {
    const outcome = await run.attempt((context, actor) => changePlan(context, actor, id, request));
    if (outcome && 'shown' in outcome) return { body: request, effect: outcome.shown.effect };
  }
  return undefined;
}

async function paymentOf(run: Case, { id }: Sold, { of, percent: share, daysAgo }: Paid) {
  const row = await getAccountRow(run.tx, id);
  const owed = of === 'balance' ? row.total_minor : Number(dueBy(termsOf(row), run.day));
  const amount = Math.round(((owed - row.paid_minor) * share) / 100);
  if (amount <= 0) return undefined;
  const paymentDate = addDays(run.day, -daysAgo);
  return { accountId: id, amount: amount / 100, paymentMethodId: 2, paymentDate };
}

async function take(run: Case, sold: Sold, next: Step): Promise<void> {
  switch (next.do) {
    case 'pay': {
      const body = await paymentOf(run, sold, next.paid);
      if (body) sold.payments.push((await run.record(run.context, stage.actor, body)).id);
      return;
    }
    case 'reverse': {
      const id = sold.payments[next.payment % Math.max(1, sold.payments.length)];
      if (id === undefined) return;
      await run.attempt((context, actor) => reversePayment(context, actor, id, 'tried'));
      return;
    }
    case 'change':
      return changeAndCompare(run, sold, next.asked);
    case 'wait':
      return wait(run, next.days);
    case 'run the policy':
      await suspendLateAccounts(run.context, run.context.clock.now(), signal);
  }
}

/** The days on which the sums due are compared, also long after the last instalment. */
const daysFrom = (day: PlainDate) => [0, 1, 15, 60, 400, 4_000].map((days) => addDays(day, days));

/** The instalments due by each day by the original terms. */
async function originalDues({ tx, day }: Case, id: number): Promise<number[]> {
  const sums = daysFrom(day).map(
    (by) => sql`coalesce(${originalInstalmentsDueBy(by, 'o')}, ${instalmentsDueBy(by)})::bigint`,
  );
  const { rows } = await sql<{ sums: string[] }>`
    select array[${sql.join(sums)}]::text[] as sums
    from accounts a left join ${originalTermsOn(day)} o on o.account_id = a.id where a.id = ${id}`.execute(
    tx,
  );
  return rows[0]?.sums.map(Number) ?? expect.fail();
}

async function lookAt(run: Case, id: number) {
  const row = await getAccountRow(run.tx, id);
  const account = toAccount(row, run.context.currency, run.day);
  const { deposit_minor: deposit, total_minor: total, paid_minor: paidMinor } = row;
  return {
    row,
    daysPastDue: account.originalTerms?.daysPastDue ?? account.daysPastDue,
    isPaid: paidMinor >= total,
    paidToInstalments: Math.max(0, Math.min(paidMinor, total) - deposit),
    dues: await originalDues(run, id),
  };
}
type Look = Awaited<ReturnType<typeof lookAt>>;

/** Makes a change, if it is possible, and compares the account before and after it. */
async function changeAndCompare(run: Case, sold: Sold, wanted: Asked): Promise<void> {
  const shown = await show(run, sold, wanted);
  if (!shown) return;
  const before = await lookAt(run, sold.id);
  expect(await run.changePlan(sold.id, shown.body), 'the change that was shown').toBeDefined();
  const after = await lookAt(run, sold.id);
  expect(termsOf(after.row), 'the terms that were shown').toEqual(shown.effect.terms);
  const { kind } = wanted;
  const undone = kind === 'undo' ? (sold.changes.pop() ?? expect.fail()) : undefined;
  if (undone) expect(recordedTermsOf(after.row)).toEqual(recordedTermsOf(undone.before));
  else sold.changes.push({ kind, before: before.row, priceChange: priceChangeOf(shown.body, priceOf(sold)) });
  expectSameOriginals(before, after, undone?.kind ?? kind, undone !== undefined);
  count(kind);
  if (shown.effect.arrearsMovedMinor > 0n) count('arrears moved');
  if (before.daysPastDue > before.row.grace_days) count('changed while late by the original terms');
  if (before.row.status !== 'active') count(`changed while ${before.row.status}`);
}

/** In hundredths. */
function priceChangeOf({ kind, amount = 0, payplanId }: NewPlanChange, price: number): number {
  switch (kind) {
    case 'discount':
    case 'price_correction':
      return -cents(amount);
    case 'price_rise':
      return cents(amount);
    case 'sale_correction':
      return (PLANS[planIds.indexOf(payplanId ?? 0)]?.price ?? expect.fail()) * 100 - price;
    default:
      return 0;
  }
}

function priceOf({ plan, changes }: Sold): number {
  const soldAt = (PLANS[plan]?.price ?? expect.fail()) * 100;
  return changes.reduce((price, { priceChange }) => price + priceChange, soldAt);
}

/**
 * A change hides no lateness and improves no rate by the original terms. Corrections may do so, and the undo of a price rise.
 * @param kind - of the change, or of the change that was undone.
 */
function expectSameOriginals(before: Look, after: Look, kind: RequestedKind, isUndone: boolean): void {
  if (kind === 'price_correction' || kind === 'sale_correction' || (kind === 'price_rise' && isUndone))
    return;
  if (kind !== 'price_rise') expect(after.dues, 'originally due').toEqual(before.dues);
  for (const [at, due] of before.dues.entries()) expect(after.dues[at]).toBeGreaterThanOrEqual(due);
  // After the undo of a discount, the credit pays instalments.
  if (!isUndone) expect(after.paidToInstalments).toBeLessThanOrEqual(before.paidToInstalments);
  if (before.isPaid || after.isPaid) return;
  expect(after.daysPastDue, 'days past due by the original terms').toBe(before.daysPastDue);
}

async function expectDuesToSumToPrice(run: Case, sold: Sold): Promise<void> {
  const row = await getAccountRow(run.tx, sold.id);
  const { items } = toSchedule(row, run.context.currency, run.day);
  const dues = items.reduce((sum, { amount }) => sum + cents(amount), 0);
  const price = priceOf(sold);
  expect({ dues, total: row.total_minor }).toEqual({ dues: price, total: price });
}

async function undoAll(run: Case, sold: Sold): Promise<void> {
  if (sold.changes.length > 1) count('undone to the sale after several changes');
  while (sold.changes.length > 0) {
    const left = sold.changes.length;
    await changeAndCompare(run, sold, UNDO);
    expect(sold.changes.length).toBe(left - 1);
    await expectDuesToSumToPrice(run, sold);
  }
  const row = await getAccountRow(run.tx, sold.id);
  expect(recordedTermsOf(row)).toEqual(recordedTermsOf(sold.first));
  expect(row.original_due_date).toBeNull();
}

const UNDO: Asked = { kind: 'undo', first: 0, size: 1, percent: 1, movesArrears: false, way: 0, plan: 0 };

describe('changes of running plans', () => {
  const timeout = 60_000 + RUNS * 1_000;

  it('keep the price, hide no lateness, and are undone to the terms before them', { timeout }, async () => {
    await fc.assert(
      fc.asyncProperty(history, (past) =>
        inCase(stage, async (run) => {
          const sold = await open(run, past);
          for (const next of past.steps) {
            await take(run, sold, next);
            await expectDuesToSumToPrice(run, sold);
          }
          await undoAll(run, sold);
        }),
      ),
      { numRuns: RUNS },
    );
  });

  it('have sums of months that add up to the sum of all months', { timeout }, async () => {
    await fc.assert(
      fc.asyncProperty(history, (past) =>
        inCase(stage, async (run) => {
          const sold = await open(run, past);
          for (const next of past.steps) await take(run, sold, next);
          if (sold.changes.length > 0) count('months with changes');
          const all = await sumsOf(run, START, run.day);
          const [originalDue] = await originalDues(run, sold.id);
          expect(all.originalDue).toBe(originalDue);
          const months = [];
          for (let day = START; day <= run.day; day = addDays(lastOfMonth(day), 1))
            months.push(
              await sumsOf(run, later(START, firstOfMonth(day)), earlier(lastOfMonth(day), run.day)),
            );
          expect(months.reduce(add)).toEqual(all);
          await expectChecksToPass(run.tx);
        }),
      ),
      { numRuns: Math.ceil(RUNS / 3) },
    );
  });

  it('and a payment of the same day lead to the same account in both orders', { timeout }, async () => {
    await fc.assert(
      fc.asyncProperty(
        history,
        fc.array(
          fc.record({
            asked: askedOf('deferral', 'price_correction', 'price_rise', 'sale_correction', 'undo'),
            paid,
          }),
          { minLength: 2, maxLength: 5 },
        ),
        (past, tries) =>
          inCase(stage, async (run) => {
            const sold = await open(run, past);
            for (const next of past.steps) await take(run, sold, next);
            for (const one of tries) await expectSameInBothOrders(run, sold, one);
          }),
      ),
      { numRuns: Math.ceil(RUNS / 3) },
    );
    if (RUNS >= 200) for (const what of WANTED) expect(happened.get(what) ?? 0, what).toBeGreaterThan(0);
  });
});

/** The figures of the summary that are sums over a period. Amounts are in hundredths. */
async function sumsOf({ tx, context }: Case, startDate: PlainDate, endDate: PlainDate) {
  const summary = await summarizeAccounts(tx, context, { startDate, endDate });
  const { opened, activated, collected, collectionRate, byOriginalTerms } = summary;
  return {
    opened: opened.count,
    openedValue: cents(opened.contractValue),
    activated: activated.count,
    activatedValue: cents(activated.contractValue),
    collected: cents(collected),
    collectedInstalments: cents(collectionRate.numerator),
    due: cents(collectionRate.denominator),
    originalDue: cents(byOriginalTerms.collectionRate.denominator),
  };
}
type Sums = Awaited<ReturnType<typeof sumsOf>>;

function add(sums: Sums, others: Sums): Sums {
  const names = Object.keys(sums) as (keyof Sums)[];
  return Object.fromEntries(names.map((name) => [name, sums[name] + others[name]])) as Sums;
}

/** Tries a change that does not read the sum paid, before and after a payment. Both are rolled back. */
async function expectSameInBothOrders(
  run: Case,
  sold: Sold,
  tried: { asked: Asked; paid: Paid },
): Promise<void> {
  const shown = await show(run, sold, tried.asked);
  const payment = await paymentOf(run, sold, tried.paid);
  if (!shown || shown.effect.readsPaid || !payment) return;
  const change = () => run.changePlan(sold.id, shown.body);
  const pay = () => run.record(run.context, stage.actor, payment);
  const { status: statusBefore } = await getAccountRow(run.tx, sold.id);
  // After a payment that makes a suspended account active, an undo restarts its days of grace.
  const canRestartGrace =
    statusBefore === 'suspended' && (tried.asked.kind === 'undo' || tried.asked.kind === 'sale_correction');
  const ends: unknown[] = [];
  for (const isPaidFirst of [false, true]) {
    await sql`savepoint orders`.execute(run.tx);
    if (isPaidFirst) await pay();
    const changed = await change();
    if (!isPaidFirst) await pay();
    const row = await getAccountRow(run.tx, sold.id);
    const { status, allowedMoves, reason, updatedAt, ...account } = toAccount(
      row,
      run.context.currency,
      run.day,
    );
    const ofStatus = { status, allowedMoves, lastDayOfGrace: lastDayOfGrace(row) };
    const dues = await originalDues(run, sold.id);
    if (changed) ends.push({ account, terms: recordedTermsOf(row), dues, ...(!canRestartGrace && ofStatus) });
    else expect({ isPaidFirst, status }).toEqual({ isPaidFirst: true, status: 'completed' });
    await sql`rollback to savepoint orders`.execute(run.tx);
    await sql`release savepoint orders`.execute(run.tx);
  }
  if (ends.length < 2) return;
  count('changed and paid in both orders');
  expect(ends[1]).toEqual(ends[0]);
}
