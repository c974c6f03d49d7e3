import fc from 'fast-check';
import { Temporal } from 'temporal-polyfill';
import { describe, expect, it } from 'vitest';
import { PROPERTY_RUNS } from '../../../test/support/property-runs.ts';
import type { Frequency } from '../../core/database/tables.ts';
import { addDays, type PlainDate } from '../../core/values/dates.ts';
import { instalmentsShare, roundedUp, WHOLE_SHARE } from './instalment-rounding-rules.ts';
import {
  areEqualInstalments,
  areInOrder,
  canAlwaysBegin,
  dateInRun,
  dueCountOf,
  firstDueDateProblem,
  harvestProblems,
  lengthProblem,
  type PlanShape,
  priceOf,
  runsOfPlan,
} from './rules.ts';
import { FREQUENCIES } from './schema.ts';

const START = '2024-01-31' as PlainDate;

const shapeArb: fc.Arbitrary<PlanShape> = fc
  .record({
    depositMinor: fc.bigInt({ min: 0n, max: 500n }),
    restMinor: fc.option(fc.bigInt({ min: 1n, max: 5_000n })),
    asked: fc.record({
      instalmentCount: fc.integer({ min: 1, max: 40 }),
      unit: fc.bigInt({ min: 1n, max: 60n }),
    }),
    instalmentMinor: fc.bigInt({ min: 1n, max: 300n }),
    frequency: fc.constantFrom(...FREQUENCIES),
    every: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 40 })),
    monthsWithoutDues: fc.subarray([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], { maxLength: 10 }),
  })
  .map(({ restMinor, asked: { instalmentCount, unit }, ...shape }) => ({
    ...shape,
    ...{ instalmentCount, roundingMinor: null, harvest: null },
    ...(restMinor === null
      ? { priceMinor: null }
      : {
          priceMinor: shape.depositMinor + restMinor,
          instalmentMinor: roundedUp(instalmentsShare(restMinor, instalmentCount), unit),
        }),
  }))
  .filter((shape) => canAlwaysBegin(shape) && lengthProblem(shape) === undefined);

/** Each instalment, counted place by place. */
function naiveDues(shape: PlanShape, start: PlainDate, firstPlace = 1): [string, bigint][] {
  const unit = { daily: 'days', weekly: 'weeks', monthly: 'months' }[shape.frequency];
  const dues: [string, bigint][] = [];
  let left =
    (shape.priceMinor ?? shape.depositMinor + shape.instalmentMinor * BigInt(shape.instalmentCount)) -
    shape.depositMinor;
  for (let k = firstPlace; left > 0n; k += 1) {
    const date = Temporal.PlainDate.from(start).add({ [unit]: k * shape.every });
    if (shape.monthsWithoutDues.includes(date.month)) continue;
    const amount = left < shape.instalmentMinor ? left : shape.instalmentMinor;
    dues.push([date.toString(), amount]);
    left -= amount;
  }
  return dues;
}

describe('the runs of a pay plan', () => {
  it('have the dates and amounts of a count place by place, and sum to the price', () => {
    fc.assert(
      fc.property(shapeArb, fc.integer({ min: 0, max: 1_500 }), (shape, days) => {
        const start = addDays(START, days);
        const runs = runsOfPlan(shape, start);
        const dues = runs.flatMap((run) =>
          Array.from({ length: run.count }, (_, j) => [dateInRun(run, j), run.amountMinor] as const),
        );
        expect(dues).toEqual(naiveDues(shape, start));
        expect(dues).toHaveLength(dueCountOf(shape));
        expect(dues.reduce((sum, [, amount]) => sum + amount, shape.depositMinor)).toBe(priceOf(shape));
        expect(areInOrder(runs)).toBe(true);
      }),
      { numRuns: PROPERTY_RUNS },
    );
  });

  it('begin on a chosen first due date, as the first place of the rhythm', () => {
    fc.assert(
      fc.property(shapeArb, fc.integer({ min: 1, max: 400 }), (shape, days) => {
        const first = addDays(START, days);
        if (firstDueDateProblem(shape, START, first) !== undefined) return;
        const dues = runsOfPlan(shape, START, first).flatMap((run) =>
          Array.from({ length: run.count }, (_, j) => [dateInRun(run, j), run.amountMinor] as const),
        );
        expect(dues).toEqual(naiveDues(shape, first, 0));
        expect(dues[0]?.[0]).toBe(first);
      }),
      { numRuns: PROPERTY_RUNS },
    );
  });

  it('are as few as possible: neighbours of one amount and rhythm are one run', () => {
    fc.assert(
      fc.property(shapeArb, (shape) => {
        const runs = runsOfPlan(shape, START);
        for (const [i, run] of runs.slice(1).entries()) {
          const before = runs[i];
          const touches = before && before.place + before.count === run.place;
          expect(touches && before.amountMinor === run.amountMinor).toBe(false);
        }
      }),
      { numRuns: PROPERTY_RUNS },
    );
  });
});

describe('a chosen first due date', () => {
  const monthly: PlanShape = {
    ...{ depositMinor: 500n, priceMinor: 1_500n, instalmentMinor: 100n, instalmentCount: 10 },
    ...{ frequency: 'monthly', every: 1, monthsWithoutDues: [5, 6], roundingMinor: 1n, harvest: null },
  };
  const dates = (plan: PlanShape, first: string) =>
    runsOfPlan(plan, START, first as PlainDate).flatMap((run) =>
      Array.from({ length: run.count }, (_, j) => dateInRun(run, j)),
    );
  const problem = (first: string, plan = monthly, activation: PlainDate = START) =>
    firstDueDateProblem(plan, activation, first as PlainDate);

  it('is the first instalment, from which the days of the others follow', () => {
    expect(dates({ ...monthly, instalmentCount: 4, priceMinor: null }, '2024-03-30')).toEqual([
      ...['2024-03-30', '2024-04-30', '2024-07-30', '2024-08-30'],
    ]);
    const weekly: PlanShape = { ...monthly, frequency: 'weekly', monthsWithoutDues: [], priceMinor: 800n };
    expect(dates(weekly, '2024-02-01')).toEqual(['2024-02-01', '2024-02-08', '2024-02-15']);
  });

  it('makes equal instalments only where each of them is on its ordinary day', () => {
    const plan: PlanShape = { ...monthly, monthsWithoutDues: [], priceMinor: null };
    const isEqual = (activationDate: PlainDate, first: string) =>
      areEqualInstalments(runsOfPlan(plan, activationDate, first as PlainDate), {
        frequency: 'monthly',
        activationDate,
      });
    expect(isEqual('2024-01-28' as PlainDate, '2024-02-28')).toBe(true);
    expect(isEqual(START, '2024-02-29')).toBe(false);
    expect(isEqual('2024-01-28' as PlainDate, '2024-03-28')).toBe(false);
  });

  it('is after the activation, at most a year later, and in a month with instalments', () => {
    for (const first of ['2024-02-01', '2024-04-30', '2024-07-01', '2025-01-31'])
      expect(problem(first), first).toBeUndefined();
    expect(problem('2024-01-30')).toContain('must be after the activation date (2024-01-31)');
    expect(problem('2024-01-31')).toContain('must be after the activation date (2024-01-31)');
    expect(problem('2025-02-01')).toContain('on 2025-01-31 or earlier');
    expect(problem('2024-05-01')).toContain('months 5, 6 have none');
    expect(problem('2024-06-30')).toContain('must be in a month with instalments');
  });

  it('is refused for a harvest plan, and where the plan would become too long', () => {
    const harvest = { entries: [{ month: 3, day: 1, shareBasisPoints: 10_000 }], cycles: 1, leadDays: 0 };
    expect(problem('2024-03-01', { ...monthly, monthsWithoutDues: [], harvest })).toContain(
      'must be left out',
    );
    const rare: PlanShape = {
      ...monthly,
      every: 7,
      instalmentCount: 2_000,
      instalmentMinor: 1n,
      priceMinor: null,
    };
    expect(problem('2024-03-01', rare)).toContain('too long');
  });
});

const harvestArb = fc
  .record({
    days: fc.uniqueArray(fc.integer({ min: 1, max: 365 }), { minLength: 1, maxLength: 6 }),
    hasLeapDay: fc.boolean(),
    cuts: fc.array(fc.integer({ min: 1, max: 9_999 }), { minLength: 7, maxLength: 7 }),
    cycles: fc.integer({ min: 1, max: 5 }),
    leadDays: fc.integer({ min: 0, max: 365 }),
    depositMinor: fc.bigInt({ min: 0n, max: 5_000n }),
    restMinor: fc.bigInt({ min: 1n, max: 1_000_000n }),
    roundingMinor: fc.bigInt({ min: 1n, max: 300n }),
  })
  .map(({ days, hasLeapDay, cuts, cycles, leadDays, restMinor, ...amounts }) => {
    const texts = days.map((day) => addDays('2024-12-31' as PlainDate, day).slice(5));
    const dates = hasLeapDay ? [...texts.filter((text) => text !== '02-28'), '02-29'] : texts;
    // Random shares that sum to the whole.
    const ends = [...new Set(cuts)].slice(0, dates.length - 1).sort((a, b) => a - b);
    const shares = [...ends, WHOLE_SHARE].map((end, i) => end - (ends[i - 1] ?? 0));
    const entries = shares.map((shareBasisPoints, i) => {
      const [month = 0, day = 0] = (dates[i] ?? '').split('-').map(Number);
      return { month, day, shareBasisPoints };
    });
    const harvest = { entries, cycles, leadDays };
    const plan: PlanShape = {
      ...{ ...amounts, priceMinor: amounts.depositMinor + restMinor, instalmentMinor: 0n, harvest },
      ...{ instalmentCount: entries.length * cycles, frequency: 'monthly', every: 12, monthsWithoutDues: [] },
    };
    return { plan, harvest, restMinor };
  });

describe('a harvest plan', () => {
  it('has the days and shares of a count day by day, and sums to the price', () => {
    fc.assert(
      fc.property(harvestArb, fc.integer({ min: 0, max: 1_500 }), ({ plan, harvest, restMinor }, days) => {
        expect(harvestProblems(harvest.entries)).toEqual([]);
        const start = addDays(START, days);
        const found = runsOfPlan(plan, start).map((run) => [dateInRun(run, 0), run.amountMinor]);
        const unit = plan.roundingMinor ?? 1n;
        const expected: [string, bigint][] = [];
        let day = Temporal.PlainDate.from(start).add({ days: harvest.leadDays });
        for (; expected.length < plan.instalmentCount; day = day.add({ days: 1 })) {
          const entry = harvest.entries.find(
            (one) => one.month === day.month && Math.min(one.day, day.daysInMonth) === day.day,
          );
          if (!entry) continue;
          const exact = (restMinor * BigInt(entry.shareBasisPoints)) / BigInt(10_000 * harvest.cycles);
          expected.push([day.toString(), exact - (exact % unit)]);
        }
        const last = expected.at(-1) ?? expect.fail();
        last[1] = restMinor - expected.slice(0, -1).reduce((sum, [, amount]) => sum + amount, 0n);
        expect(found).toEqual(expected);
      }),
      { numRuns: PROPERTY_RUNS },
    );
  });

  it('refuses days that a month never has, days that meet, and shares that do not sum to the whole', () => {
    const at = (month: number, day: number, shareBasisPoints: number) => ({ month, day, shareBasisPoints });
    const paths = (...entries: ReturnType<typeof at>[]) => harvestProblems(entries).map(({ path }) => path);
    expect(paths(at(2, 29, 10_000))).toEqual([]);
    expect(paths(at(2, 30, 10_000))).toEqual(['[0].day']);
    expect(paths(at(4, 31, 4_000), at(4, 30, 6_000))).toEqual(['[0].day']);
    expect(paths(at(2, 28, 4_000), at(2, 29, 6_000))).toEqual(['[1].day']);
    expect(paths(at(3, 1, 4_000), at(3, 1, 6_000))).toEqual(['[1].day']);
    expect(paths(at(3, 1, 4_000), at(9, 1, 6_001))).toEqual(['']);
  });
});

describe('canAlwaysBegin', () => {
  it.each([
    [12, [6], false],
    [6, [1, 7], false],
    [6, [1, 2], true],
    [1, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], true],
    [18, [3, 9], false],
    [5, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], true],
  ])('with an instalment every %d months, and none in %j: %s', (every, monthsWithoutDues, expected) => {
    expect(canAlwaysBegin({ frequency: 'monthly', every, monthsWithoutDues })).toBe(expected);
  });

  it('does not let days or weeks walk for years through months without instalments', () => {
    const begins = (frequency: Frequency, every: number, monthsWithoutDues = [5, 6]) =>
      canAlwaysBegin({ frequency, every, monthsWithoutDues });
    expect([begins('daily', 31), begins('weekly', 4), begins('daily', 365, [])]).toEqual([true, true, true]);
    expect([begins('daily', 32), begins('weekly', 5)]).toEqual([false, false]);
  });
});
