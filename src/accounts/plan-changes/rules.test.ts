import { Temporal } from 'temporal-polyfill';
import { describe, expect, it } from 'vitest';
import { type Harvest, type PlanShape, runsOfPlan } from '../../catalogue/pay-plans/rules.ts';
import { AppError } from '../../core/http/errors.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import { instalmentRuns, type Terms, termsOfRuns, totalOf } from '../schedule/rules.ts';
import {
  type ChangedPlan,
  changedPlan,
  type PlanChange,
  type PlanSituation,
  readsPaid,
  type Spread,
} from './rules.ts';

const day = (text: string) => text as PlainDate;

/** A price of 1,300: a deposit of 100, and twelve instalments of 100 on the last days of the months from February 2024. */
const MONTHLY: Terms = {
  ...{ depositMinor: 100n, instalmentMinor: 100n, instalmentCount: 12, frequency: 'monthly' },
  ...{ graceDays: 3, activationDate: day('2024-01-31') },
};

const HARVESTS: Harvest = {
  entries: [
    { month: 3, day: 15, shareBasisPoints: 6_000 },
    { month: 9, day: 30, shareBasisPoints: 4_000 },
  ],
  cycles: 2,
  leadDays: 60,
};
/** A price of 1,100: a deposit of 100, and 300, 200, 300 and 200 after the harvests of 2024 and 2025. */
const HARVEST_PLAN: PlanShape = {
  ...{ depositMinor: 100n, priceMinor: 1_100n, instalmentMinor: 300n, instalmentCount: 4, roundingMinor: 1n },
  ...{ frequency: 'monthly', every: 12, monthsWithoutDues: [], harvest: HARVESTS },
};
const HARVEST = termsOf(HARVEST_PLAN, '2024-01-01');

/** A price of 450: eight instalments of 50, but none in May and June, and a last one of 30. The deposit is 20. */
const PAUSED_PLAN: PlanShape = {
  ...{ depositMinor: 20n, priceMinor: 450n, instalmentMinor: 50n, instalmentCount: 9, roundingMinor: 10n },
  ...{ frequency: 'monthly', every: 1, monthsWithoutDues: [5, 6], harvest: null },
};
const PAUSED = termsOf(PAUSED_PLAN, '2024-01-15');

const CASH: Terms = { ...MONTHLY, instalmentCount: 0 };

function termsOf(plan: PlanShape, activationDate: string, firstDueDate?: PlainDate): Terms {
  const account = { ...plan, graceDays: 3, activationDate: day(activationDate) };
  return termsOfRuns(account, runsOfPlan(plan, day(activationDate), firstDueDate));
}

function situation(
  terms: Terms,
  on: string,
  paidMinor: bigint,
  more: Partial<PlanSituation> = {},
): PlanSituation {
  return {
    terms,
    originalTerms: terms,
    paidMinor,
    day: day(on),
    roundingMinor: 1n,
    monthsWithoutDues: [],
    instalmentMinor: terms.instalmentMinor,
    decimals: 2,
    ...more,
  };
}

/** Each instalment as its date and amount. */
function duesOf(terms: Terms): [string, bigint][] {
  return instalmentRuns(terms).flatMap((run) =>
    Array.from({ length: run.count }, (_, j) => {
      const periods = (run.place + j) * run.every;
      const span = run.unit === 'month' ? { months: periods } : { days: periods };
      return [Temporal.PlainDate.from(run.anchor).add(span).toString(), run.amountMinor] as [string, bigint];
    }),
  );
}

/** Each instalment as a text: `2024-02-29 100`. */
const shown = ({ terms }: Pick<ChangedPlan, 'terms'>) =>
  duesOf(terms).map(([date, amountMinor]) => `${date} ${amountMinor}`);

const runCount = ({ terms }: ChangedPlan) => instalmentRuns(terms).length;

function refusal(of: PlanSituation, change: PlanChange): { path: string; message: string } {
  try {
    changedPlan(of, change);
  } catch (error) {
    if (error instanceof AppError && error.code === 'VALIDATION_ERROR') {
      const [field] = error.details.fields as { path: string; message: string }[];
      if (field) return field;
    }
    throw error;
  }
  throw new Error('The change was not refused.');
}

const later = (
  from: string,
  by: { periods: number } | { days: number },
  movesArrears = false,
): PlanChange => ({
  ...{ kind: 'deferral', from: day(from), by, movesArrears },
});

describe('a deferral by periods', () => {
  it('moves each instalment to the date of the instalment that many places later', () => {
    const changed = changedPlan(situation(MONTHLY, '2024-10-10', 900n), later('2024-10-31', { periods: 2 }));
    expect(shown(changed)).toEqual([
      ...['2024-02-29 100', '2024-03-31 100', '2024-04-30 100', '2024-05-31 100', '2024-06-30 100'],
      ...['2024-07-31 100', '2024-08-31 100', '2024-09-30 100'],
      ...['2024-12-31 100', '2025-01-31 100', '2025-02-28 100', '2025-03-31 100'],
    ]);
    expect(changed).toMatchObject({ priceChangeMinor: 0n, arrearsMovedMinor: 0n, aheadMovedMinor: 0n });
  });

  it('keeps the ends of months in one run, and begins a new run after the gap', () => {
    const changed = changedPlan(situation(MONTHLY, '2024-02-10', 100n), later('2024-02-11', { periods: 1 }));
    expect(changed.terms.runs).toEqual([
      { anchor: '2024-01-31', unit: 'month', every: 1, place: 2, count: 12, amountMinor: 100n },
    ]);
    const second = changedPlan(
      situation(changed.terms, '2024-04-01', 100n),
      later('2024-05-01', { periods: 3 }),
    );
    expect(second.terms.runs).toMatchObject([
      { anchor: '2024-01-31', place: 2, count: 2 },
      { anchor: '2024-01-31', place: 7, count: 10 },
    ]);
  });

  it('moves only the instalments dated from the given day on, and a partly paid one as a whole', () => {
    const before = changedPlan(situation(MONTHLY, '2024-10-10', 1_030n), later('2024-11-30', { periods: 1 }));
    expect(shown(before).slice(8)).toEqual([
      ...['2024-10-31 100', '2024-12-31 100', '2025-01-31 100', '2025-02-28 100'],
    ]);
  });

  it('leaves out months without instalments, also beyond the end', () => {
    const changed = changedPlan(
      situation(PAUSED, '2024-03-20', 120n, { monthsWithoutDues: [5, 6] }),
      later('2024-04-15', { periods: 8 }),
    );
    expect(shown(changed)).toEqual([
      ...['2024-02-15 50', '2024-03-15 50'],
      ...[
        '2025-02-15 50',
        '2025-03-15 50',
        '2025-04-15 50',
        '2025-07-15 50',
        '2025-08-15 50',
        '2025-09-15 50',
      ],
      '2025-10-15 30',
    ]);
  });

  it('moves instalments after harvests by whole years', () => {
    const changed = changedPlan(situation(HARVEST, '2024-05-01', 400n), later('2024-06-01', { periods: 1 }));
    expect(shown(changed)).toEqual(['2024-03-15 300', '2025-09-30 200', '2026-03-15 300', '2026-09-30 200']);
  });

  it('moves 29 February to the 28th of other years', () => {
    const entries = [{ month: 2, day: 29, shareBasisPoints: 10_000 }];
    const plan = { ...HARVEST_PLAN, harvest: { entries, cycles: 1, leadDays: 0 } };
    const terms = termsOf(plan, '2024-01-01');
    const changed = changedPlan(situation(terms, '2024-01-05', 0n), later('2024-02-29', { periods: 1 }));
    expect(shown(changed)).toEqual(['2025-02-28 1000']);
  });
});

describe('a deferral by days', () => {
  it('makes the first instalment that moves the new anchor of its run', () => {
    const changed = changedPlan(situation(MONTHLY, '2024-10-10', 900n), later('2024-10-31', { days: 5 }));
    expect(shown(changed).slice(7)).toEqual([
      ...['2024-09-30 100', '2024-11-05 100', '2024-12-05 100', '2025-01-05 100', '2025-02-05 100'],
    ]);
    expect(runCount(changed)).toBe(2);
  });

  it('moves each run by itself, so that the last instalment keeps its distance', () => {
    const plan = { ...PAUSED_PLAN, monthsWithoutDues: [] };
    const terms = termsOf(plan, '2024-01-31');
    // Eight instalments of 50 up to September, and 30 on 31 October.
    const changed = changedPlan(situation(terms, '2024-09-10', 0n), later('2024-09-30', { days: 3 }));
    expect(shown(changed).slice(7)).toEqual(['2024-10-03 50', '2024-11-03 30']);
    const weekly = termsOf({ ...plan, frequency: 'weekly' }, '2024-01-01');
    const weeks = changedPlan(situation(weekly, '2024-02-06', 0n), later('2024-02-12', { days: 10 }));
    expect(shown(weeks).slice(4)).toEqual([
      ...['2024-02-05 50', '2024-02-22 50', '2024-02-29 50', '2024-03-07 50', '2024-03-14 30'],
    ]);
  });

  it('moves instalments after harvests by these days', () => {
    const changed = changedPlan(situation(HARVEST, '2024-05-01', 400n), later('2024-06-01', { days: 31 }));
    expect(shown(changed)).toEqual(['2024-03-15 300', '2024-10-31 200', '2025-04-15 300', '2025-10-31 200']);
  });

  it('is refused for a plan with months without instalments', () => {
    const of = situation(PAUSED, '2024-03-20', 120n, { monthsWithoutDues: [5, 6] });
    expect(refusal(of, later('2024-04-15', { days: 3 }))).toMatchObject({
      path: 'days',
      message: expect.stringContaining('5, 6'),
    });
  });
});

describe('a deferral with arrears', () => {
  it('cuts them off the instalments that have fallen due, last first, and appends them', () => {
    // Eight instalments have fallen due. The customer paid the deposit, five instalments and 30.
    const changed = changedPlan(
      situation(MONTHLY, '2024-10-10', 630n),
      later('2024-10-31', { periods: 1 }, true),
    );
    expect(shown(changed)).toEqual([
      ...[
        '2024-02-29 100',
        '2024-03-31 100',
        '2024-04-30 100',
        '2024-05-31 100',
        '2024-06-30 100',
        '2024-07-31 30',
      ],
      ...['2024-11-30 100', '2024-12-31 100', '2025-01-31 100', '2025-02-28 100'],
      ...['2025-03-31 100', '2025-04-30 100', '2025-05-31 70'],
    ]);
    expect(changed).toMatchObject({ priceChangeMinor: 0n, arrearsMovedMinor: 270n });
  });

  it('leaves those of the deposit where they are', () => {
    const changed = changedPlan(
      situation(MONTHLY, '2024-03-31', 40n),
      later('2024-04-30', { periods: 1 }, true),
    );
    expect(shown(changed)[0]).toBe('2024-05-31 100');
    expect(changed.arrearsMovedMinor).toBe(200n);
    expect(changed.terms.depositMinor).toBe(100n);
    expect(totalOf(changed.terms)).toBe(1_300n);
  });

  it('moves nothing else of an account that has paid all that has fallen due', () => {
    for (const paid of [900n, 950n]) {
      const change = (movesArrears: boolean) =>
        changedPlan(
          situation(MONTHLY, '2024-10-10', paid),
          later('2024-10-31', { periods: 1 }, movesArrears),
        );
      expect(change(true)).toEqual(change(false));
    }
  });

  it('needs the new instalments of a schedule without a rhythm', () => {
    const of = situation(HARVEST, '2024-05-01', 100n);
    expect(refusal(of, later('2024-06-01', { days: 31 }, true))).toMatchObject({
      path: 'dues',
      message: expect.stringContaining('3.00'),
    });
    const dues = [{ date: day('2026-03-15'), amountMinor: 300n }];
    const changed = changedPlan(of, { ...later('2024-06-01', { days: 31 }, true), dues } as PlanChange);
    expect(shown(changed)).toEqual(['2024-10-31 200', '2025-04-15 300', '2025-10-31 200', '2026-03-15 300']);
  });
});

describe('a deferral is refused', () => {
  it('from the day of the change on, and after the last instalment', () => {
    const of = situation(MONTHLY, '2024-10-31', 900n);
    expect(refusal(of, later('2024-10-31', { periods: 1 }))).toMatchObject({
      path: 'from',
      message: 'must be after 2024-10-31, the day on which the change takes effect',
    });
    expect(refusal(of, later('2025-02-01', { periods: 1 }))).toMatchObject({ path: 'from' });
    expect(shown(changedPlan(of, later('2025-01-31', { periods: 1 }))).at(-1)).toBe('2025-02-28 100');
  });

  it('by thousands of years', () => {
    const [months, harvests] = [
      situation(MONTHLY, '2024-10-31', 900n),
      situation(HARVEST, '2024-05-01', 400n),
    ];
    expect(refusal(months, later('2024-11-30', { periods: 100_000 })).path).toBe('periods');
    expect(refusal(harvests, later('2024-06-01', { periods: 9_000 })).path).toBe('periods');
    for (const of of [months, harvests])
      expect(refusal(of, later('2024-11-30', { days: 4_000_000 }))).toEqual({
        path: 'days',
        message: 'must be lower: the schedule would last for thousands of years',
      });
  });

  it('where it would interrupt the schedule too often', () => {
    let terms: Terms = {
      ...MONTHLY,
      instalmentCount: 600,
      frequency: 'daily',
      activationDate: day('2024-01-01'),
    };
    const on = (n: number) => day(Temporal.PlainDate.from('2024-01-01').add({ days: n }).toString());
    const deferOnce = (n: number) =>
      changedPlan(situation(terms, on(3 * n), 0n), later(on(3 * n + 2), { periods: 1 }));
    for (let n = 0; n < 249; n += 1) ({ terms } = deferOnce(n));
    expect(instalmentRuns(terms)).toHaveLength(250);
    expect(() => deferOnce(249)).toThrow('interrupts the schedule too often');
  });
});

const everyMonth = { frequency: 'monthly', every: 1, monthsWithoutDues: [] } as const;

function revision(firstDue: string, spread: Spread, movesArrears = false): PlanChange {
  return { kind: 'revision', firstDue: day(firstDue), spread, movesArrears };
}

describe('a revision', () => {
  it('spreads what is left by count, rounded up, so that there can be fewer instalments', () => {
    const of = situation(MONTHLY, '2024-10-10', 900n, { roundingMinor: 30n });
    const changed = changedPlan(of, revision('2024-11-15', { ...everyMonth, count: 7 }));
    // 400 in 7 instalments are 57.14, rounded up 60: six, and a last one of 40.
    expect(shown(changed).slice(8)).toEqual([
      ...[
        '2024-11-15 60',
        '2024-12-15 60',
        '2025-01-15 60',
        '2025-02-15 60',
        '2025-03-15 60',
        '2025-04-15 60',
      ],
      '2025-05-15 40',
    ]);
    const few = changedPlan(
      { ...of, roundingMinor: 100n },
      revision('2024-11-15', { ...everyMonth, count: 7 }),
    );
    expect(shown(few).slice(8)).toEqual([
      ...['2024-11-15 100', '2024-12-15 100', '2025-01-15 100', '2025-02-15 100'],
    ]);
  });

  it('spreads by instalment, in another rhythm, from a chosen day at place 0', () => {
    const change = revision('2024-10-31', {
      frequency: 'weekly',
      every: 2,
      monthsWithoutDues: [12],
      instalmentMinor: 150n,
    });
    const changed = changedPlan(situation(MONTHLY, '2024-10-10', 900n), change);
    expect(shown(changed).slice(8)).toEqual(['2024-10-31 150', '2024-11-14 150', '2024-11-28 100']);
    expect(changed.terms.frequency).toBe('weekly');
  });

  it('leaves out months without instalments', () => {
    const change = revision('2024-11-30', { ...everyMonth, monthsWithoutDues: [12, 2], count: 4 });
    const changed = changedPlan(situation(MONTHLY, '2024-10-10', 900n), change);
    expect(shown(changed).slice(8)).toEqual([
      '2024-11-30 100',
      '2025-01-30 100',
      '2025-03-30 100',
      '2025-04-30 100',
    ]);
  });

  it('spreads after harvests from the first due date on, which is at least the lead days after the change', () => {
    const harvest = { ...HARVESTS, leadDays: 30 };
    const from = (firstDue: string) =>
      shown(changedPlan(situation(MONTHLY, '2024-08-31', 800n), revision(firstDue, { harvest }))).slice(7);
    // 500 in two years: 150 and 100 in each.
    expect(from('2024-09-30')).toEqual([
      '2024-09-30 100',
      '2025-03-15 150',
      '2025-09-30 100',
      '2026-03-15 150',
    ]);
    expect(from('2024-10-01')).toEqual([
      '2025-03-15 150',
      '2025-09-30 100',
      '2026-03-15 150',
      '2026-09-30 100',
    ]);
    expect(() => from('2024-09-29')).toThrow('on or after 2024-09-30');
  });

  it('makes what was paid ahead one instalment on its day', () => {
    const of = situation(MONTHLY, '2024-10-10', 1_030n);
    const changed = changedPlan(of, revision('2024-11-01', { ...everyMonth, count: 2 }));
    expect(shown(changed).slice(7)).toEqual([
      '2024-09-30 100',
      '2024-10-10 130',
      '2024-11-01 135',
      '2024-12-01 135',
    ]);
    expect(changed.aheadMovedMinor).toBe(130n);
  });

  it('adds it to an instalment that is due on the same day', () => {
    const of = situation(MONTHLY, '2024-09-30', 1_030n);
    const changed = changedPlan(of, revision('2024-10-01', { ...everyMonth, count: 1 }));
    expect(shown(changed).slice(6)).toEqual(['2024-08-31 100', '2024-09-30 230', '2024-10-01 270']);
    const again = changedPlan(
      { ...of, terms: changed.terms },
      revision('2024-10-02', { ...everyMonth, count: 1 }),
    );
    expect(shown(again).slice(7)).toEqual(['2024-09-30 230', '2024-10-02 270']);
    expect(again.aheadMovedMinor).toBe(0n);
  });

  it('dates it on the activation date of a pending account', () => {
    const of = situation(MONTHLY, '2024-01-10', 150n);
    const changed = changedPlan(of, revision('2024-02-01', { ...everyMonth, count: 1 }));
    expect(shown(changed)).toEqual(['2024-01-31 50', '2024-02-01 1150']);
    expect(refusal(of, revision('2024-01-31', { ...everyMonth, count: 1 }))).toMatchObject({
      path: 'firstDueDate',
      message: 'must be after the activation date (2024-01-31)',
    });
  });

  it('leaves arrears, or spreads them too', () => {
    const of = situation(MONTHLY, '2024-10-10', 630n);
    const change = (movesArrears: boolean) =>
      changedPlan(of, revision('2024-11-30', { ...everyMonth, count: 2 }, movesArrears));
    expect(shown(change(false)).slice(5)).toEqual([
      ...['2024-07-31 100', '2024-08-31 100', '2024-09-30 100', '2024-11-30 200', '2024-12-30 200'],
    ]);
    expect(shown(change(true)).slice(5)).toEqual(['2024-07-31 30', '2024-11-30 335', '2024-12-30 335']);
    expect(change(true).arrearsMovedMinor).toBe(270n);
  });

  it('is refused up to its day, in a month without instalments, and if nothing is left', () => {
    const of = situation(MONTHLY, '2024-10-10', 900n);
    const path = (change: PlanChange, own = of) => refusal(own, change).path;
    expect(path(revision('2024-10-10', { ...everyMonth, count: 1 }))).toBe('firstDueDate');
    expect(path(revision('2024-12-10', { ...everyMonth, monthsWithoutDues: [12], count: 1 }))).toBe(
      'firstDueDate',
    );
    expect(path(revision('2024-10-11', { ...everyMonth, count: 1 }), { ...of, paidMinor: 1_300n })).toBe(
      'kind',
    );
    expect(
      path(revision('2024-10-11', { ...everyMonth, instalmentMinor: 1n }), {
        ...of,
        terms: { ...MONTHLY, instalmentMinor: 10_000n },
      }),
    ).toBe('instalmentAmount');
    const entries = [{ month: 2, day: 30, shareBasisPoints: 10_000 }];
    expect(path(revision('2024-10-11', { harvest: { ...HARVESTS, entries } }))).toBe(
      'harvest.entries[0].day',
    );
  });
});

describe('a discount', () => {
  it('is cut off the last instalments, last first, and an instalment of 0 vanishes', () => {
    const on = (amountMinor: bigint) =>
      changedPlan(situation(MONTHLY, '2024-10-10', 900n), { kind: 'discount', amountMinor });
    expect(shown(on(150n)).slice(9)).toEqual(['2024-11-30 100', '2024-12-31 50']);
    expect(shown(on(200n)).slice(9)).toEqual(['2024-11-30 100']);
    expect(on(150n)).toMatchObject({ priceChangeMinor: -150n });
    expect(totalOf(on(150n).terms)).toBe(1_150n);
    // Equal instalments again, fewer of them.
    expect(on(200n).terms).toEqual({ ...MONTHLY, instalmentCount: 10 });
  });

  it('leaves what is paid, and the deposit', () => {
    const discount = (amountMinor: bigint): PlanChange => ({ kind: 'discount', amountMinor });
    const of = situation(MONTHLY, '2024-10-10', 930n);
    expect(shown(changedPlan(of, discount(370n))).slice(7)).toEqual(['2024-09-30 100', '2024-10-31 30']);
    expect(refusal(of, discount(371n))).toEqual({
      path: 'amount',
      message: 'must be at most 3.70, the total without what is paid and the deposit',
    });
    expect(changedPlan({ ...of, paidMinor: -10n }, discount(1_200n)).terms).toEqual({
      ...MONTHLY,
      instalmentCount: 0,
    });
    expect(refusal({ ...of, paidMinor: 1_400n }, discount(1n)).message).toContain('at most 0.00');
  });
});

describe('a price correction', () => {
  it('can go below what is paid, but leaves the deposit', () => {
    const correct = (amountMinor: bigint): PlanChange => ({ kind: 'price_correction', amountMinor });
    const of = situation(MONTHLY, '2024-10-10', 1_300n);
    expect(shown(changedPlan(of, correct(1_130n)))).toEqual(['2024-02-29 70']);
    expect(changedPlan(of, correct(1_200n)).terms).toEqual({ ...MONTHLY, instalmentCount: 0 });
    expect(refusal(of, correct(1_201n))).toEqual({
      path: 'amount',
      message: 'must be at most 12.00, the total without the deposit',
    });
  });
});

describe('a payoff', () => {
  it('can go below what is paid, as a price correction', () => {
    const of = situation(MONTHLY, '2024-10-10', 1_300n);
    const cut = (kind: 'payoff' | 'price_correction') => changedPlan(of, { kind, amountMinor: 40n });
    expect(cut('payoff')).toEqual(cut('price_correction'));
  });
});

describe('a price rise', () => {
  const rise = (amountMinor: bigint, dues?: [string, bigint][]): PlanChange => ({
    ...{ kind: 'price_rise', amountMinor },
    dues: dues?.map(([date, minor]) => ({ date: day(date), amountMinor: minor })),
  });

  it('is appended in the last rhythm with the agreed instalment', () => {
    const changed = changedPlan(situation(MONTHLY, '2024-10-10', 900n), rise(250n));
    expect(shown(changed).slice(11)).toEqual([
      '2025-01-31 100',
      '2025-02-28 100',
      '2025-03-31 100',
      '2025-04-30 50',
    ]);
    expect(changed.priceChangeMinor).toBe(250n);
    expect(changedPlan(situation(MONTHLY, '2024-10-10', 900n), rise(200n)).terms).toEqual({
      ...MONTHLY,
      instalmentCount: 14,
    });
  });

  it('leaves the last instalment as it is, and uses the instalment before it', () => {
    const of = situation(PAUSED, '2024-03-20', 120n, { monthsWithoutDues: [5, 6] });
    const changed = changedPlan(of, rise(210n));
    // The plan ended with 30 in December.
    expect(shown(changed).slice(7)).toEqual([
      ...[
        '2024-11-15 50',
        '2024-12-15 30',
        '2025-01-15 50',
        '2025-02-15 50',
        '2025-03-15 50',
        '2025-04-15 50',
      ],
      '2025-07-15 10',
    ]);
    const again = changedPlan({ ...of, terms: changed.terms }, rise(60n));
    expect(shown(again).slice(13)).toEqual(['2025-07-15 10', '2025-08-15 50', '2025-09-15 10']);
  });

  it('uses the instalment of the last revision', () => {
    const revised = changedPlan(
      situation(MONTHLY, '2024-10-10', 900n),
      revision('2024-10-31', { ...everyMonth, instalmentMinor: 60n }),
    );
    const of = situation(revised.terms, '2024-10-20', 900n, { instalmentMinor: 60n });
    const changed = changedPlan(of, rise(100n));
    expect(shown(changed).slice(14)).toEqual(['2025-04-30 40', '2025-05-31 60', '2025-06-30 40']);
  });

  it('begins after its day if all instalments have fallen due', () => {
    const changed = changedPlan(situation(MONTHLY, '2025-05-31', 900n), rise(100n));
    expect(shown(changed).slice(11)).toEqual(['2025-01-31 100', '2025-06-30 100']);
  });

  it('needs dates and amounts for instalments without a rhythm, and for a cash sale', () => {
    const of = situation(HARVEST, '2024-05-01', 400n);
    const changed = changedPlan(
      of,
      rise(250n, [
        ['2025-12-01', 100n],
        ['2026-03-15', 150n],
      ]),
    );
    expect(shown(changed).slice(3)).toEqual(['2025-09-30 200', '2025-12-01 100', '2026-03-15 150']);
    // Between the others, and together with one of them.
    expect(
      shown(
        changedPlan(
          of,
          rise(250n, [
            ['2024-12-01', 100n],
            ['2025-03-15', 150n],
          ]),
        ),
      ),
    ).toEqual([
      ...['2024-03-15 300', '2024-09-30 200', '2024-12-01 100', '2025-03-15 450', '2025-09-30 200'],
    ]);
    expect(shown(changedPlan(situation(CASH, '2024-05-01', 100n), rise(50n, [['2024-06-01', 50n]])))).toEqual(
      ['2024-06-01 50'],
    );
    expect(refusal(of, rise(250n))).toMatchObject({ path: 'dues', message: expect.stringContaining('2.50') });
    expect(refusal(situation(CASH, '2024-05-01', 100n), rise(50n)).path).toBe('dues');
    expect(refusal(of, rise(250n, [['2026-01-01', 240n]]))).toEqual({
      path: 'dues',
      message: 'must have amounts that sum to 2.50; their sum is 2.40',
    });
    expect(refusal(of, rise(250n, [['2024-05-01', 250n]])).path).toBe('dues[0].date');
    expect(
      refusal(
        of,
        rise(250n, [
          ['2024-06-01', 100n],
          ['2024-06-01', 150n],
        ]),
      ).path,
    ).toBe('dues[1].date');
    expect(refusal(situation(MONTHLY, '2024-10-10', 900n), rise(50n, [['2026-01-01', 50n]])).path).toBe(
      'dues',
    );
  });

  it('is refused for more than the highest total, and for more than 10,000 instalments', () => {
    const of = situation({ ...MONTHLY, instalmentMinor: 1n }, '2024-10-10', 0n);
    expect(refusal(of, rise(99_999_999_999_999n)).path).toBe('amount');
    expect(refusal(of, rise(10_001n)).message).toContain('needs 10001 instalments');
  });
});

describe('a sale correction', () => {
  const correct = (plan: PlanShape): PlanChange => ({ kind: 'sale_correction', plan });

  it('replaces the schedule and the deposit by those of another plan, from the activation date on', () => {
    const changed = changedPlan(situation(MONTHLY, '2024-02-10', 100n), correct(PAUSED_PLAN));
    expect(changed.terms).toEqual({ ...termsOf(PAUSED_PLAN, '2024-01-31') });
    expect(changed.priceChangeMinor).toBe(-850n);
    const harvest = changedPlan(situation(MONTHLY, '2024-02-10', 100n), correct(HARVEST_PLAN));
    expect(shown(harvest)[0]).toBe('2024-09-30 200');
  });

  it('is refused once an instalment has fallen due, or if one of the new plan would have', () => {
    expect(refusal(situation(MONTHLY, '2024-02-29', 100n), correct(PAUSED_PLAN))).toMatchObject({
      path: 'kind',
      message: expect.stringContaining('2024-02-29'),
    });
    // An instalment that was moved forward counts, too, and so does one that was deferred.
    const [early, late] = [MONTHLY, { ...MONTHLY, activationDate: day('2024-06-30') }];
    for (const of of [
      situation(early, '2024-03-01', 100n, { originalTerms: late }),
      situation(late, '2024-03-01', 100n, { originalTerms: early }),
    ])
      expect(refusal(of, correct(PAUSED_PLAN))).toMatchObject({ path: 'kind' });
    const daily: PlanShape = { ...PAUSED_PLAN, frequency: 'daily', monthsWithoutDues: [] };
    expect(refusal(situation(MONTHLY, '2024-02-01', 100n), correct(daily))).toMatchObject({
      path: 'payplanId',
      message: expect.stringContaining('it is on 2024-02-01'),
    });
  });
});

describe('readsPaid', () => {
  it('is true of changes that read arrears, what was paid ahead, or the rest', () => {
    const changes: [PlanChange, boolean][] = [
      [later('2024-10-31', { days: 1 }), false],
      [later('2024-10-31', { days: 1 }, true), true],
      [revision('2024-10-31', { ...everyMonth, count: 1 }), true],
      [{ kind: 'discount', amountMinor: 1n }, true],
      [{ kind: 'payoff', amountMinor: 1n }, true],
      [{ kind: 'price_correction', amountMinor: 1n }, false],
      [{ kind: 'price_rise', amountMinor: 1n }, false],
      [{ kind: 'sale_correction', plan: HARVEST_PLAN }, false],
    ];
    for (const [change, expected] of changes) expect(readsPaid(change), change.kind).toBe(expected);
  });
});
