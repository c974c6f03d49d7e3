import fc from 'fast-check';
import { Temporal } from 'temporal-polyfill';
import { describe, expect, it } from 'vitest';
import { PROPERTY_RUNS } from '../../../test/support/property-runs.ts';
import { addDays, type PlainDate } from '../../core/values/dates.ts';
import {
  areInOrder,
  canAlwaysBegin,
  dateInRun,
  dueCountOf,
  instalmentsFor,
  instalmentsShare,
  lengthProblem,
  type PlanShape,
  priceOf,
  roundedUp,
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
    instalmentCount,
    ...(restMinor === null
      ? { priceMinor: null }
      : {
          priceMinor: shape.depositMinor + restMinor,
          instalmentMinor: roundedUp(instalmentsShare(restMinor, instalmentCount), unit),
        }),
  }))
  .filter((shape) => canAlwaysBegin(shape) && lengthProblem(shape) === undefined);

/** Each instalment, counted place by place. */
function naiveDues(shape: PlanShape, start: PlainDate): [string, bigint][] {
  const unit = { daily: 'days', weekly: 'weeks', monthly: 'months' }[shape.frequency];
  const dues: [string, bigint][] = [];
  let left =
    (shape.priceMinor ?? shape.depositMinor + shape.instalmentMinor * BigInt(shape.instalmentCount)) -
    shape.depositMinor;
  for (let k = 1; left > 0n; k += 1) {
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

describe('an instalment', () => {
  it('is the smallest multiple of the rounding unit with which the asked number pays the price', () => {
    const amounts = fc.record({
      rest: fc.bigInt({ min: 1n, max: 10_000n }),
      count: fc.integer({ min: 1, max: 50 }),
      unit: fc.bigInt({ min: 1n, max: 500n }),
    });
    fc.assert(
      fc.property(amounts, ({ rest, count, unit }) => {
        const instalment = roundedUp(instalmentsShare(rest, count), unit);
        expect(instalment % unit).toBe(0n);
        expect(instalment * BigInt(count) >= rest).toBe(true);
        expect((instalment - unit) * BigInt(count) < rest).toBe(true);
        expect(instalmentsFor(rest, instalment)).toBeLessThanOrEqual(count);
      }),
      { numRuns: PROPERTY_RUNS },
    );
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
    expect(canAlwaysBegin({ frequency: 'weekly', every, monthsWithoutDues })).toBe(true);
  });
});
