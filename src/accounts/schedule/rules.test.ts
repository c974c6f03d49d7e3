import fc from 'fast-check';
import { Temporal } from 'temporal-polyfill';
import { describe, expect, it } from 'vitest';
import { accountRow } from '../../../test/support/account-row.ts';
import { PROPERTY_RUNS } from '../../../test/support/property-runs.ts';
import { type Run, totalMinor } from '../../catalogue/pay-plans/rules.ts';
import { FREQUENCIES } from '../../catalogue/pay-plans/schema.ts';
import { type PlainDate, parsePlainDate } from '../../core/values/dates.ts';
import { minMinor } from '../../core/values/money.ts';
import {
  allocate,
  dueBy,
  hasEqualInstalments,
  itemOf,
  itemsBy,
  nextItem,
  type Position,
  paymentStates,
  position,
  rhythmOf,
  type ScheduledPayment,
  type Slice,
  type Standing,
  scheduleItems,
  scheduleRuns,
  type Terms,
  termsOf,
  termsOfRuns,
} from './rules.ts';

const RUNS = { numRuns: PROPERTY_RUNS };

function date(text: string): PlainDate {
  const parsed = parsePlainDate(text);
  if (parsed === undefined) throw new Error(`${text} is not a date`);
  return parsed;
}

function plus(d: PlainDate, days: number): PlainDate {
  return date(Temporal.PlainDate.from(d).add({ days }).toString());
}

// Half of the dates are month ends and leap days.
const activationArb = fc
  .record({
    year: fc.oneof(fc.integer({ min: 2000, max: 2040 }), fc.constantFrom(2023, 2024, 2096, 2099, 2100)),
    month: fc.oneof(fc.integer({ min: 1, max: 12 }), fc.constantFrom(1, 2, 12)),
    day: fc.oneof(fc.integer({ min: 1, max: 28 }), fc.integer({ min: 28, max: 31 })),
  })
  .map((fields) => date(Temporal.PlainDate.from(fields).toString()));

const termsArb: fc.Arbitrary<Terms> = fc.record({
  depositMinor: fc.oneof(fc.constant(0n), fc.bigInt({ min: 0n, max: 300n })),
  instalmentMinor: fc.oneof({ arbitrary: fc.bigInt({ min: 1n, max: 60n }), weight: 9 }, fc.constant(0n)),
  instalmentCount: fc.integer({ min: 0, max: 26 }),
  frequency: fc.constantFrom(...FREQUENCIES),
  graceDays: fc.integer({ min: 0, max: 10 }),
  activationDate: activationArb,
});

/** Accounts whose instalments are not equal, or not one frequency apart. */
const runTermsArb: fc.Arbitrary<Terms> = fc
  .record({
    terms: termsArb,
    gaps: fc.array(
      fc.record({
        gap: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 70 })),
        unit: fc.constantFrom('day' as const, 'month' as const),
        every: fc.integer({ min: 1, max: 12 }),
        place: fc.integer({ min: 0, max: 2 }),
        count: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 8 })),
        amountMinor: fc.bigInt({ min: 1n, max: 60n }),
      }),
      { minLength: 1, maxLength: 5 },
    ),
  })
  .map(({ terms, gaps }) => {
    let last = plus(terms.activationDate, -1);
    const runs = gaps.map(({ gap, ...rhythm }) => {
      const run: Run = { anchor: plus(last, gap), ...rhythm };
      last = naiveDate(run, run.count - 1);
      return run;
    });
    return termsOfRuns(terms, runs);
  });

function naiveDate({ anchor, unit, every, place }: Run, j: number): PlainDate {
  const periods = (place + j) * every;
  const span = unit === 'month' ? { months: periods } : { days: periods };
  return date(Temporal.PlainDate.from(anchor).add(span).toString());
}

const caseArb = fc.oneof(termsArb, runTermsArb).chain((terms) => {
  const items = naiveItems(terms);
  const total = priceOf(items);
  const days = Temporal.PlainDate.from(terms.activationDate).until(items.at(-1)?.date ?? '').days;
  const boundary = fc.integer({ min: 1, max: items.length }).map((length) => priceOf(items.slice(0, length)));
  return fc.record({
    terms: fc.constant(terms),
    // Negative if a payment was reversed after its credit had left the account.
    paidMinor: fc.oneof(
      { weight: 4, arbitrary: boundary },
      { weight: 4, arbitrary: fc.bigInt({ min: 0n, max: total + total / 4n + 3n }) },
      { weight: 1, arbitrary: fc.bigInt({ min: -200n, max: -1n }) },
    ),
    today: fc.oneof(
      fc.integer({ min: -40, max: days + 40 }).map((n) => plus(terms.activationDate, n)),
      fc.constantFrom(...items.map((item) => item.date)),
    ),
    closed: fc.integer({ min: 0, max: 7 }).map((n) => n === 0),
    activated: fc.integer({ min: 0, max: 7 }).map((n) => n !== 0),
  });
});

interface NaiveItem {
  index: number;
  date: PlainDate;
  amountMinor: bigint;
}

function priceOf(items: readonly NaiveItem[]): bigint {
  return items.reduce((sum, { amountMinor }) => sum + amountMinor, 0n);
}

/** Every item with its date, computed with Temporal. */
function naiveItems(terms: Terms): NaiveItem[] {
  const unit = { daily: 'days', weekly: 'weeks', monthly: 'months' }[terms.frequency];
  const start = Temporal.PlainDate.from(terms.activationDate);
  const items = [{ index: 0, date: terms.activationDate, amountMinor: terms.depositMinor }];
  for (const run of terms.runs ?? []) {
    for (let j = 0; j < run.count; j += 1)
      items.push({ index: items.length, date: naiveDate(run, j), amountMinor: run.amountMinor });
  }
  if (terms.runs) return items;
  for (let k = 1; k <= terms.instalmentCount; k += 1) {
    items.push({
      index: k,
      date: date(start.add({ [unit]: k }).toString()),
      amountMinor: terms.instalmentMinor,
    });
  }
  return items;
}

/** The sum that has fallen due by the end of today, counted day by day. */
function naiveDueBy(terms: Terms, today: PlainDate): bigint {
  const items = naiveItems(terms);
  let due = 0n;
  const end = Temporal.PlainDate.from(today);
  let day = Temporal.PlainDate.from(terms.activationDate);
  while (Temporal.PlainDate.compare(day, end) <= 0) {
    const text = day.toString();
    for (const item of items) if (item.date === text) due += item.amountMinor;
    day = day.add({ days: 1 });
  }
  return due;
}

/** The formulas of `position`, computed item by item and day by day. */
function naivePosition(terms: Terms, { paidMinor, today, closed, activated }: Standing): Position {
  const items = naiveItems(terms);
  const total = items.reduce((sum, item) => sum + item.amountMinor, 0n);
  let left = paidMinor;
  let next: NaiveItem | undefined;
  for (const item of items) {
    if (left < item.amountMinor) {
      next = item;
      break;
    }
    left -= item.amountMinor;
  }
  let daysPastDue = 0;
  if (next !== undefined) {
    for (let d = next.date; d < today; d = plus(d, 1)) daysPastDue += 1;
  }
  const due = naiveDueBy(terms, today);
  let arrearsMinor = due > paidMinor ? due - paidMinor : 0n;
  const firstAfterToday = items.find((item) => item.date > today);

  let paymentState: Position['paymentState'];
  if (paidMinor >= total) paymentState = 'paid_off';
  else if (closed) paymentState = 'closed';
  else if (!activated || today < terms.activationDate) paymentState = 'not_due';
  else if (daysPastDue > terms.graceDays) paymentState = 'late';
  else if (daysPastDue > 0) paymentState = 'in_grace';
  else if (next && firstAfterToday && next.date > firstAfterToday.date) paymentState = 'paid_ahead';
  else paymentState = 'current';

  if (paymentState === 'closed' || paymentState === 'not_due') {
    daysPastDue = 0;
    arrearsMinor = 0n;
  }
  return {
    paymentState,
    daysPastDue,
    paidUntil: closed || next === undefined || next.index === 0 ? null : plus(next.date, -1),
    nextDueDate: closed ? null : (next?.date ?? null),
    nextDueAmountMinor: closed || !next ? null : next.amountMinor - left,
    arrearsMinor,
  };
}

const MONTHLY: Terms = {
  depositMinor: 5_000n,
  instalmentMinor: 1_000n,
  instalmentCount: 12,
  frequency: 'monthly',
  graceDays: 3,
  activationDate: date('2024-01-31'),
};
const OPEN = { closed: false, activated: true };

describe('the terms of an account', () => {
  it('are its columns, with amounts in minor units', () => {
    expect(termsOf(accountRow({ grace_days: 5 }))).toEqual({
      depositMinor: 2000n,
      instalmentMinor: 400n,
      instalmentCount: 4,
      frequency: 'weekly',
      graceDays: 5,
      activationDate: '2026-10-19',
    });
  });
});

describe('termsOf', () => {
  it('refuses runs that lack a value, or have an unknown unit', () => {
    const run = {
      ...{
        run_anchor: [date('2026-10-19')],
        run_unit: ['day'],
        run_every: [7],
        run_place: [1],
        run_count: [4],
      },
      run_amount_minor: [400],
    };
    expect(termsOf(accountRow(run)).runs).toHaveLength(1);
    for (const name of ['run_unit', 'run_every', 'run_place', 'run_count', 'run_amount_minor'])
      expect(() => termsOf(accountRow({ ...run, [name]: [] }))).toThrow('Run 1 of an account');
    expect(() => termsOf(accountRow({ ...run, run_unit: ['week'] }))).toThrow('has the unit week');
  });
});

describe('the rhythm', () => {
  const run = (anchor: string, unit: Run['unit'], every: number, count = 1): Run => ({
    ...{ anchor: date(anchor), unit, every, place: 0, count, amountMinor: 1_000n },
  });
  const rhythm = (...runs: Run[]) => rhythmOf({ ...MONTHLY, runs });

  it('of equal instalments is the frequency', () => {
    expect(rhythmOf({ ...MONTHLY, instalmentCount: 1 })).toEqual({
      frequency: 'monthly',
      every: 1,
      days: [],
    });
  });

  it('is that of the last run with several instalments', () => {
    expect(rhythm(run('2024-01-01', 'day', 7, 9), run('2024-06-03', 'day', 14, 5))).toEqual({
      ...{ frequency: 'weekly', every: 2, days: [] },
    });
    expect(rhythm(run('2024-01-01', 'day', 10, 2), run('2024-06-03', 'month', 12))).toEqual({
      ...{ frequency: 'daily', every: 10, days: [] },
    });
    expect(rhythm(run('2024-01-31', 'month', 3, 2))).toEqual({ frequency: 'monthly', every: 3, days: [] });
  });

  it('of instalments on the same days each year is yearly, also after harvests of other amounts', () => {
    expect(rhythm(run('2024-03-15', 'month', 24, 3))).toEqual({
      ...{ frequency: 'yearly', every: 2, days: [{ month: 3, day: 15 }] },
    });
    const harvests = ['2027-02-28', '2027-09-30', '2028-02-28', '2028-09-30'];
    expect(rhythm(...harvests.map((day) => run(day, 'month', 12)))).toEqual({
      ...{ frequency: 'yearly', every: 1 },
      days: [
        { month: 2, day: 28 },
        { month: 9, day: 30 },
      ],
    });
  });

  it('is missing if single instalments do not return each year', () => {
    const dates = ['2027-02-28', '2027-09-30', '2028-02-28'];
    expect(rhythm(...dates.map((day) => run(day, 'month', 12)))).toBe(null);
    expect(rhythm(run('2027-02-28', 'month', 12))).toBe(null);
    expect(rhythm()).toBe(null);
  });
});

describe('equal instalments', () => {
  const month = (anchor: string, place: number, count: number, more: Partial<Run> = {}): Run => ({
    ...{ anchor: date(anchor), unit: 'month', every: 1, place, count, amountMinor: 1_000n, ...more },
  });
  const isEqual = (runs: Run[], terms = MONTHLY) => hasEqualInstalments(termsOfRuns(terms, runs));

  it('are recognised in runs with other anchors, and in runs that continue each other', () => {
    expect(isEqual([month('2024-01-31', 1, 12)])).toBe(true);
    expect(isEqual([month('2023-12-31', 2, 12)])).toBe(true);
    expect(isEqual([month('2024-01-31', 1, 5), month('2024-01-31', 6, 7)])).toBe(true);
    expect(isEqual([month('2024-02-29', 0, 1), month('2024-03-31', 0, 11)])).toBe(true);
    const weekly = (anchor: string, place: number, count: number) =>
      month(anchor, place, count, { unit: 'day', every: 7 });
    expect(isEqual([weekly('2024-02-07', 0, 3)], { ...MONTHLY, frequency: 'weekly' })).toBe(true);
  });

  it('are no runs with other dates or amounts', () => {
    // Due on 29 February as in equal instalments, but on 29 March instead of 31 March.
    expect(isEqual([month('2024-02-29', 0, 12)])).toBe(false);
    expect(isEqual([month('2024-01-31', 2, 12)])).toBe(false);
    expect(isEqual([month('2024-01-31', 1, 12, { every: 2 })])).toBe(false);
    expect(isEqual([month('2024-02-29', 0, 2, { unit: 'day', every: 1 })])).toBe(false);
    expect(isEqual([month('2024-01-31', 1, 5), month('2024-01-31', 7, 7)])).toBe(false);
    // One instalment, on the ordinary day, after which others would be a year apart.
    expect(isEqual([month('2024-02-29', 0, 1, { every: 12 })])).toBe(false);
    expect(isEqual([month('2024-01-31', 1, 11), month('2024-01-31', 12, 1, { amountMinor: 9n })])).toBe(
      false,
    );
  });

  it('are never stored as runs', () => {
    fc.assert(
      fc.property(runTermsArb, (terms) => {
        // A last instalment of its own can be on an ordinary day, and continue in another rhythm.
        if (terms.runs && terms.runs.at(-1)?.count !== 1)
          expect(naiveItems(terms)).not.toEqual(naiveItems({ ...terms, runs: undefined }));
      }),
      RUNS,
    );
  });
});

describe('the schedule', () => {
  it('uses the last day of months without a 31st, and the 31st of other months', () => {
    expect([0, 1, 2, 3, 12].map((k) => itemOf(MONTHLY, k).date)).toEqual([
      '2024-01-31',
      '2024-02-29',
      '2024-03-31',
      '2024-04-30',
      '2025-01-31',
    ]);
    expect(itemOf({ ...MONTHLY, frequency: 'daily' }, 1).date).toBe('2024-02-01');
    expect(itemOf({ ...MONTHLY, frequency: 'weekly' }, 2).date).toBe('2024-02-14');
  });

  it('counts what is due at month ends', () => {
    expect(dueBy(MONTHLY, date('2024-01-30'))).toBe(0n);
    expect(dueBy(MONTHLY, date('2024-01-31'))).toBe(5_000n);
    expect(dueBy(MONTHLY, date('2024-02-28'))).toBe(5_000n);
    expect(dueBy(MONTHLY, date('2024-02-29'))).toBe(6_000n);
    expect(dueBy(MONTHLY, date('2024-03-30'))).toBe(6_000n);
    expect(dueBy(MONTHLY, date('2024-03-31'))).toBe(7_000n);
    expect(dueBy(MONTHLY, date('2999-12-31'))).toBe(totalMinor(MONTHLY));
  });

  it('counts no item before the activation date, and the deposit from then on', () => {
    const weekly: Terms = { ...MONTHLY, frequency: 'weekly' };
    const days = ['2023-01-01', '2024-01-30', '2024-01-31', '2024-02-06', '2024-02-07'].map(date);
    expect(days.map((day) => itemsBy(weekly, day))).toEqual([0, 0, 1, 1, 2]);
  });

  it.each([-1, 13, 0.5, NaN])('has no item %d of 12', (k) => {
    expect(() => itemOf(MONTHLY, k)).toThrow(RangeError);
  });

  it('agrees with the enumeration of every item', () => {
    fc.assert(
      fc.property(termsArb, (terms) => {
        const items = naiveItems(terms);
        expect(items.map((item) => itemOf(terms, item.index).date)).toEqual(items.map((item) => item.date));
        expect(totalMinor(terms)).toBe(items.reduce((sum, item) => sum + item.amountMinor, 0n));
      }),
      RUNS,
    );
  });

  it('has the same sum due on every day as the enumerated items', () => {
    fc.assert(
      fc.property(caseArb, ({ terms, today }) => {
        expect(dueBy(terms, today)).toBe(naiveDueBy(terms, today));
      }),
      RUNS,
    );
  });

  it('makes each item due on its exact date, and not on the day before', () => {
    fc.assert(
      fc.property(termsArb, (terms) => {
        const due = (day: PlainDate) => [itemsBy(terms, day), dueBy(terms, day)];
        const items = naiveItems(terms);
        const found = items.map(({ date, index }) => [
          due(plus(date, -1)),
          due(date),
          itemOf(terms, index).amountMinor,
        ]);
        const expected = [];
        let sum = 0n;
        for (const { index, amountMinor } of items) {
          expected.push([[index, sum], [index + 1, sum + amountMinor], amountMinor]);
          sum += amountMinor;
        }
        expect(found).toEqual(expected);
      }),
      RUNS,
    );
  });

  it('does not iterate over the items of a very long plan', () => {
    // A loop over the instalments would exceed the time limit of the test.
    const terms: Terms = { ...MONTHLY, frequency: 'daily', instalmentCount: 2_000_000_000 };
    const days = Temporal.PlainDate.from('2024-01-31').until('2999-12-31').days;
    expect(dueBy(terms, date('2999-12-31'))).toBe(5_000n + BigInt(days) * 1_000n);
    const standing = { paidMinor: 300_000_000n, today: date('2999-12-31'), ...OPEN };
    expect(position(terms, standing)).toMatchObject({
      paymentState: 'late',
      nextDueDate: plus(terms.activationDate, 299_996),
    });
  });
});

describe('nextItem', () => {
  it('returns the first item that is not fully paid, with its unpaid part', () => {
    expect(nextItem(MONTHLY, 0n)).toEqual({ index: 0, date: '2024-01-31', remainderMinor: 5_000n });
    expect(nextItem(MONTHLY, 4_999n)).toEqual({ index: 0, date: '2024-01-31', remainderMinor: 1n });
    expect(nextItem(MONTHLY, 5_000n)).toEqual({ index: 1, date: '2024-02-29', remainderMinor: 1_000n });
    expect(nextItem(MONTHLY, 6_250n)).toEqual({ index: 2, date: '2024-03-31', remainderMinor: 750n });
    expect(nextItem(MONTHLY, 16_999n)).toEqual({ index: 12, date: '2025-01-31', remainderMinor: 1n });
    expect(nextItem(MONTHLY, 17_000n)).toBeUndefined();
    expect(nextItem(MONTHLY, 99_000n)).toBeUndefined();
  });

  it('treats items of 0 as paid', () => {
    expect(nextItem({ ...MONTHLY, depositMinor: 0n }, 0n)?.index).toBe(1);
    expect(nextItem({ ...MONTHLY, instalmentMinor: 0n }, 5_000n)).toBeUndefined();
    expect(nextItem({ ...MONTHLY, instalmentCount: 0 }, 4_000n)?.index).toBe(0);
    expect(nextItem({ ...MONTHLY, depositMinor: 0n, instalmentCount: 0 }, 0n)).toBeUndefined();
  });

  it('includes a negative sum in the deposit, even if the deposit is 0', () => {
    const { date, index, remainderMinor } = nextItem(MONTHLY, 0n) ?? expect.fail();
    expect(nextItem(MONTHLY, -1n)).toEqual({ date, index, remainderMinor: remainderMinor + 1n });
    expect(nextItem({ ...MONTHLY, depositMinor: 0n }, -1n)).toEqual({ date, index: 0, remainderMinor: 1n });
  });
});

describe('position', () => {
  const stateOn = (paidMinor: bigint, today: string, rest: Partial<Standing> = {}) =>
    position(MONTHLY, { paidMinor, today: date(today), ...OPEN, ...rest });

  it('changes from current to in_grace, and then to late', () => {
    expect(stateOn(5_000n, '2024-02-29')).toEqual({
      paymentState: 'current',
      daysPastDue: 0,
      paidUntil: '2024-02-28',
      nextDueDate: '2024-02-29',
      nextDueAmountMinor: 1_000n,
      arrearsMinor: 1_000n,
    });
    expect(stateOn(5_000n, '2024-03-01')).toMatchObject({ paymentState: 'in_grace', daysPastDue: 1 });
    expect(stateOn(5_000n, '2024-03-03')).toMatchObject({ paymentState: 'in_grace', daysPastDue: 3 });
    expect(stateOn(5_000n, '2024-03-04')).toMatchObject({ paymentState: 'late', daysPastDue: 4 });
    expect(stateOn(5_500n, '2024-04-30')).toMatchObject({
      paymentState: 'late',
      daysPastDue: 61,
      nextDueAmountMinor: 500n,
      arrearsMinor: 2_500n,
    });
  });

  it('is current if paid until the first due date after today, and ahead if paid for longer', () => {
    expect(stateOn(6_000n, '2024-03-01').paymentState).toBe('current');
    expect(stateOn(6_999n, '2024-03-01').paymentState).toBe('current');
    expect(stateOn(7_000n, '2024-03-01').paymentState).toBe('paid_ahead');
    expect(stateOn(7_000n, '2024-03-31').paymentState).toBe('current');
    expect(stateOn(16_999n, '2025-01-31')).toMatchObject({ paymentState: 'current', arrearsMinor: 1n });
  });

  it('has no paidUntil before the deposit is covered', () => {
    expect(stateOn(0n, '2024-01-31')).toMatchObject({
      paymentState: 'current',
      paidUntil: null,
      nextDueDate: '2024-01-31',
      arrearsMinor: 5_000n,
    });
    const noDeposit = { ...MONTHLY, depositMinor: 0n };
    expect(position(noDeposit, { paidMinor: 0n, today: date('2024-01-31'), ...OPEN })).toMatchObject({
      paymentState: 'current',
      paidUntil: '2024-02-28',
      arrearsMinor: 0n,
    });
  });

  it('has no next due date if the total is paid', () => {
    expect(stateOn(17_300n, '2024-02-01', { closed: true })).toEqual({
      paymentState: 'paid_off',
      daysPastDue: 0,
      paidUntil: null,
      nextDueDate: null,
      nextDueAmountMinor: null,
      arrearsMinor: 0n,
    });
    expect(stateOn(17_000n, '2023-12-01', { activated: false }).paymentState).toBe('paid_off');
  });

  it('shows no lateness on closed accounts and before activation', () => {
    expect(stateOn(0n, '2024-06-01', { closed: true })).toMatchObject({
      paymentState: 'closed',
      daysPastDue: 0,
      arrearsMinor: 0n,
      nextDueDate: null,
      nextDueAmountMinor: null,
    });
    const notDue = { paymentState: 'not_due', daysPastDue: 0, arrearsMinor: 0n };
    expect(stateOn(0n, '2024-01-30')).toMatchObject(notDue);
    expect(stateOn(0n, '2024-02-03', { activated: false })).toMatchObject(notDue);
    expect(stateOn(0n, '2024-01-01', { closed: true }).paymentState).toBe('closed');
  });

  it('agrees with a day-by-day simulation', () => {
    const seen = new Set<string>();
    fc.assert(
      fc.property(caseArb, ({ terms, ...standing }) => {
        const actual = position(terms, standing);
        seen.add(`${terms.frequency} ${actual.paymentState}`);
        if (standing.paidMinor < 0n) seen.add(`negative ${actual.paymentState}`);
        expect(actual).toEqual(naivePosition(terms, standing));
      }),
      { numRuns: 30 * PROPERTY_RUNS },
    );
    // If a state was not reached, the test covers too little.
    for (const frequency of FREQUENCIES) {
      for (const state of paymentStates) expect(seen).toContain(`${frequency} ${state}`);
    }
    for (const state of ['closed', 'not_due', 'late', 'in_grace', 'current']) {
      expect(seen).toContain(`negative ${state}`);
    }
  });

  it('has no more days past due and no more arrears after a payment than before', () => {
    fc.assert(
      fc.property(caseArb, fc.bigInt({ min: 1n, max: 500n }), ({ terms, ...standing }, more) => {
        const before = position(terms, standing);
        const after = position(terms, { ...standing, paidMinor: standing.paidMinor + more });
        expect(after.daysPastDue).toBeLessThanOrEqual(before.daysPastDue);
        expect(after.arrearsMinor <= before.arrearsMinor).toBe(true);
      }),
      RUNS,
    );
  });
});

const paymentsArb = (terms: Terms): fc.Arbitrary<ScheduledPayment[]> =>
  fc
    .array(
      fc.record({
        amountMinor: fc.bigInt({ min: 0n, max: 400n }),
        valueDate: fc.integer({ min: -5, max: 15 }).map((n) => plus(terms.activationDate, n)),
      }),
      { maxLength: 8 },
    )
    // Even ids leave room for the second half of a split payment.
    .chain((rows) =>
      fc
        .shuffledSubarray(
          rows.map((_, i) => 2 * i + 2),
          { minLength: rows.length },
        )
        .map((ids) => rows.map((row, i) => ({ id: ids[i] ?? 0, ...row }))),
    );
const booksArb = fc
  .oneof(termsArb, runTermsArb)
  .chain((terms) => fc.record({ terms: fc.constant(terms), payments: paymentsArb(terms) }));

/** Allocates each minor unit, in value-date order, to the first item that is not full. */
function naiveAllocate(terms: Terms, payments: ScheduledPayment[]): { slices: Slice[]; creditMinor: bigint } {
  const room = naiveItems(terms).map((item) => item.amountMinor);
  const slices: Slice[] = [];
  let creditMinor = 0n;
  const key = (p: ScheduledPayment) => `${p.valueDate} ${String(p.id).padStart(9, '0')}`;
  for (const payment of [...payments].sort((a, b) => (key(a) < key(b) ? -1 : 1))) {
    for (let unit = 0n; unit < payment.amountMinor; unit += 1n) {
      const item = room.findIndex((left) => left > 0n);
      if (item === -1) {
        creditMinor += 1n;
        continue;
      }
      room[item] = (room[item] ?? 0n) - 1n;
      const last = slices.at(-1);
      if (last?.paymentId === payment.id && last.item === item) last.amountMinor += 1n;
      else slices.push({ paymentId: payment.id, item, amountMinor: 1n });
    }
  }
  return { slices, creditMinor };
}

const sumOf = (slices: Slice[]) => slices.reduce((sum, slice) => sum + slice.amountMinor, 0n);

describe('allocate', () => {
  it('allocates payments in the order of value date and id', () => {
    const payments: ScheduledPayment[] = [
      { id: 3, valueDate: date('2024-02-01'), amountMinor: 2_500n },
      { id: 9, valueDate: date('2024-01-31'), amountMinor: 4_000n },
      { id: 2, valueDate: date('2024-02-01'), amountMinor: 500n },
    ];
    expect(allocate(MONTHLY, payments)).toEqual({
      slices: [
        { paymentId: 9, item: 0, amountMinor: 4_000n },
        { paymentId: 2, item: 0, amountMinor: 500n },
        { paymentId: 3, item: 0, amountMinor: 500n },
        { paymentId: 3, item: 1, amountMinor: 1_000n },
        { paymentId: 3, item: 2, amountMinor: 1_000n },
      ],
      creditMinor: 0n,
    });
  });

  it('returns the sum beyond the total as credit', () => {
    const payments = [{ id: 1, valueDate: date('2024-01-31'), amountMinor: 20_000n }];
    const { slices, creditMinor } = allocate(MONTHLY, payments);
    expect(slices).toHaveLength(13);
    expect(creditMinor).toBe(3_000n);
  });

  it('refuses a negative amount and does not change its input', () => {
    expect(() => allocate(MONTHLY, [{ id: 1, valueDate: date('2024-01-31'), amountMinor: -1n }])).toThrow(
      RangeError,
    );
    const payments = Object.freeze([
      { id: 2, valueDate: date('2024-02-01'), amountMinor: 1n },
      { id: 1, valueDate: date('2024-01-31'), amountMinor: 1n },
    ]);
    allocate(MONTHLY, payments);
    expect(payments.map((p) => p.id)).toEqual([2, 1]);
  });

  it('agrees with the allocation of each single minor unit', () => {
    fc.assert(
      fc.property(booksArb, ({ terms, payments }) => {
        expect(allocate(terms, payments)).toEqual(naiveAllocate(terms, payments));
      }),
      RUNS,
    );
  });

  it('has equal sums by payment, by item and in total', () => {
    fc.assert(
      fc.property(booksArb, ({ terms, payments }) => {
        const { slices, creditMinor } = allocate(terms, payments);
        const paid = payments.reduce((sum, p) => sum + p.amountMinor, 0n);
        const total = priceOf(naiveItems(terms));
        expect(sumOf(slices) + creditMinor).toBe(paid);
        expect(sumOf(slices)).toBe(minMinor(paid, total));
        for (const p of payments) {
          expect(sumOf(slices.filter((s) => s.paymentId === p.id)) <= p.amountMinor).toBe(true);
        }
        const next = nextItem(terms, paid);
        const items = naiveItems(terms);
        const expected = items.map(({ index, amountMinor }) => {
          if (next === undefined || index < next.index) return amountMinor;
          return index > next.index ? 0n : amountMinor - next.remainderMinor;
        });
        expect(items.map(({ index }) => sumOf(slices.filter((s) => s.item === index)))).toEqual(expected);
      }),
      RUNS,
    );
  });

  it('does not depend on the order in which payments were recorded', () => {
    const shuffled = booksArb.chain(({ terms, payments }) =>
      fc.record({
        terms: fc.constant(terms),
        payments: fc.constant(payments),
        other: fc.shuffledSubarray(payments, { minLength: payments.length }),
      }),
    );
    fc.assert(
      fc.property(shuffled, ({ terms, payments, other }) => {
        expect(allocate(terms, other)).toEqual(allocate(terms, payments));
      }),
      RUNS,
    );
  });

  it('allocates the two parts of a payment like the whole payment', () => {
    const splitArb = booksArb.filter(({ payments }) => payments.length > 0);
    fc.assert(
      fc.property(splitArb, fc.nat(), fc.bigInt({ min: 0n, max: 400n }), ({ terms, payments }, at, part) => {
        const chosen = payments[at % payments.length];
        if (chosen === undefined) throw new Error('no payment chosen');
        const first = minMinor(part, chosen.amountMinor);
        const split = payments.flatMap((p) =>
          p === chosen
            ? [
                { ...p, amountMinor: first },
                { ...p, id: p.id + 1, amountMinor: p.amountMinor - first },
              ]
            : [p],
        );
        const whole = allocate(terms, payments);
        const parts = allocate(terms, split);
        // Give the second half the id of the first half, and join neighbouring slices.
        const joined: Slice[] = [];
        for (const slice of parts.slices) {
          const paymentId = slice.paymentId === chosen.id + 1 ? chosen.id : slice.paymentId;
          const last = joined.at(-1);
          if (last?.paymentId === paymentId && last.item === slice.item)
            last.amountMinor += slice.amountMinor;
          else joined.push({ ...slice, paymentId });
        }
        expect({ slices: joined, creditMinor: parts.creditMinor }).toEqual(whole);

        const sum = (ps: ScheduledPayment[]) => ps.reduce((total, p) => total + p.amountMinor, 0n);
        const standing = { today: plus(terms.activationDate, 10), ...OPEN };
        expect(position(terms, { paidMinor: sum(split), ...standing })).toEqual(
          position(terms, { paidMinor: sum(payments), ...standing }),
        );
      }),
      RUNS,
    );
  });
});

describe('scheduleItems', () => {
  const terms: Terms = {
    depositMinor: 2000n,
    instalmentMinor: 400n,
    instalmentCount: 4,
    frequency: 'weekly',
    graceDays: 3,
    activationDate: date('2026-10-19'),
  };
  const on = (paidMinor: bigint, fields: Partial<Standing> = {}): Standing => ({
    paidMinor,
    today: date('2026-11-02'),
    closed: false,
    activated: true,
    ...fields,
  });
  const states = (standing: Standing, own = terms) => scheduleItems(own, standing).map(({ state }) => state);

  it('lists the deposit and all instalments with their dates, amounts and states', () => {
    expect(scheduleItems(terms, on(2500n))).toEqual([
      { index: 0, date: '2026-10-19', amountMinor: 2000n, paidMinor: 2000n, state: 'paid' },
      { index: 1, date: '2026-10-26', amountMinor: 400n, paidMinor: 400n, state: 'paid' },
      { index: 2, date: '2026-11-02', amountMinor: 400n, paidMinor: 100n, state: 'due' },
      { index: 3, date: '2026-11-09', amountMinor: 400n, paidMinor: 0n, state: 'upcoming' },
      { index: 4, date: '2026-11-16', amountMinor: 400n, paidMinor: 0n, state: 'upcoming' },
    ]);
  });

  it('calls a partly paid item overdue after its due date, and partly_paid before its due date', () => {
    expect(states(on(2100n))).toEqual(['paid', 'overdue', 'due', 'upcoming', 'upcoming']);
    expect(states(on(2900n))).toEqual(['paid', 'paid', 'paid', 'partly_paid', 'upcoming']);
  });

  it('calls the deposit due on the activation date, and upcoming before it', () => {
    expect(states(on(0n, { today: date('2026-10-18') }))[0]).toBe('upcoming');
    expect(states(on(0n, { today: date('2026-10-19') }))[0]).toBe('due');
    expect(states(on(0n, { today: date('2026-10-20') }))[0]).toBe('overdue');
  });

  it('calls no item overdue or due before activation, and each unpaid item of a closed account not_owed', () => {
    expect(states(on(500n, { activated: false }))).toEqual(['partly_paid', ...Array(4).fill('upcoming')]);
    expect(states(on(2000n, { closed: true }))).toEqual(['paid', ...Array(4).fill('not_owed')]);
  });

  it('lists a deposit of 0 only if the sum paid is negative', () => {
    const without = { ...terms, depositMinor: 0n };
    expect(scheduleItems(without, on(0n)).map(({ index }) => index)).toEqual([1, 2, 3, 4]);
    const [deposit] = scheduleItems(without, on(-100n));
    expect(deposit).toMatchObject({ index: 0, amountMinor: 0n, paidMinor: -100n, state: 'overdue' });
  });

  it('agrees with nextItem, position and the sum paid', () => {
    fc.assert(
      fc.property(caseArb, ({ terms: own, ...standing }) => {
        const items = scheduleItems(own, standing);
        const open = items.filter(({ amountMinor, paidMinor }) => paidMinor < amountMinor);
        const next = nextItem(own, standing.paidMinor);
        expect(open[0]?.index).toBe(next?.index);
        expect(open[0] && open[0].amountMinor - open[0].paidMinor).toBe(next?.remainderMinor);
        const sum = items.reduce((all, { paidMinor }) => all + paidMinor, 0n);
        expect(sum).toBe(minMinor(standing.paidMinor, priceOf(naiveItems(own))));
        const isPastDue = items.some(({ state }) => state === 'overdue');
        expect(isPastDue).toBe(position(own, standing).daysPastDue > 0);
      }),
      RUNS,
    );
  });
});

describe('scheduleRuns', () => {
  const terms: Terms = {
    depositMinor: 1_000n,
    instalmentMinor: 500n,
    instalmentCount: 4,
    frequency: 'weekly',
    graceDays: 0,
    activationDate: date('2026-11-02'),
  };
  /** The items of each run, its state and its sums, on the day of the second instalment. */
  const runsOf = (paidMinor: bigint) =>
    scheduleRuns(
      scheduleItems(terms, { paidMinor, today: date('2026-11-16'), closed: false, activated: true }),
    ).map(
      ({ first, last, state, paidMinor: paid, amountMinor }) =>
        `${first.index}..${last.index} ${state} ${paid}/${amountMinor}`,
    );

  it('folds neighbouring instalments of one state, but not the deposit', () => {
    expect(runsOf(3_000n)).toEqual(['0..0 paid 1000/1000', '1..4 paid 2000/2000']);
    expect(runsOf(2_000n)).toEqual(['0..0 paid 1000/1000', '1..2 paid 1000/1000', '3..4 upcoming 0/1000']);
    expect(runsOf(0n)).toEqual([
      '0..0 overdue 0/1000',
      '1..1 overdue 0/500',
      '2..2 due 0/500',
      '3..4 upcoming 0/1000',
    ]);
  });

  it('has an instalment that is paid in part as a run of its own', () => {
    expect(runsOf(2_700n)).toEqual([
      '0..0 paid 1000/1000',
      '1..3 paid 1500/1500',
      '4..4 partly_paid 200/500',
    ]);
    const closed = scheduleRuns(
      scheduleItems(terms, { paidMinor: 1_200n, today: date('2026-11-16'), closed: true, activated: true }),
    );
    expect(closed.map(({ first, last }) => [first.index, last.index])).toEqual([
      [0, 0],
      [1, 1],
      [2, 4],
    ]);
  });
});
