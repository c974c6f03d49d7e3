import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PROPERTY_RUNS } from '../../../test/support/property-runs.ts';
import { MAX_RUNS } from '../../catalogue/pay-plans/rules.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import { changedPlan } from '../plan-changes/rules.ts';
import { scheduleItems, type Terms, totalOf } from '../schedule/rules.ts';
import { ACCOUNT_STATUSES } from '../status/rules.ts';
import { earnedPayoff, offerOn as offerOfDay, type PayoffOffer, type PayoffSituation } from './rules.ts';

const day = (text: string) => text as PlainDate;

/** A price of 1,300: a deposit of 100, and twelve instalments of 100 on the last days of the months from February 2024. */
const MONTHLY: Terms = {
  ...{ depositMinor: 100n, instalmentMinor: 100n, instalmentCount: 12, frequency: 'monthly' },
  ...{ graceDays: 3, activationDate: day('2024-01-31') },
};
const TEN_PER_CENT: PayoffOffer = { basisPoints: 1_000, until: null, minDues: 2, roundingMinor: 1n };

function offerOn(
  on: string,
  paidBeforeMinor: bigint,
  { offer = {}, ...account }: Partial<PayoffSituation> & { offer?: Partial<PayoffOffer> } = {},
): bigint {
  const situation: PayoffSituation = {
    ...{ terms: MONTHLY, status: 'active', paidBeforeMinor, latestDate: null, ...account },
  };
  const offered = offerOfDay({ ...TEN_PER_CENT, ...offer }, situation, day(on));
  return typeof offered === 'string' ? 0n : offered.discountMinor;
}

describe('the offer of an early payoff', () => {
  it('is a part of the instalments after the day that are unpaid', () => {
    // Eight instalments are due up to 30 September. Four are left.
    expect(offerOn('2024-09-30', 900n)).toBe(40n);
    expect(offerOn('2024-09-29', 900n)).toBe(40n);
    // Paid ahead: 350 is left. Behind: arrears are not discounted.
    expect(offerOn('2024-09-30', 950n)).toBe(35n);
    expect(offerOn('2024-09-30', 300n)).toBe(40n);
    expect(offerOn('2024-10-31', 900n)).toBe(30n);
  });

  it('is rounded down to the rounding unit', () => {
    const roundingMinor = 30n;
    expect(offerOn('2024-09-30', 900n, { offer: { roundingMinor } })).toBe(30n);
    expect(offerOn('2024-10-31', 900n, { offer: { roundingMinor } })).toBe(30n);
    expect(offerOn('2024-11-30', 900n, { offer: { roundingMinor } })).toBe(0n);
    expect(offerOn('2024-09-30', 900n, { offer: { basisPoints: 333 } })).toBe(13n);
  });

  it('is made up to its last day', () => {
    const until = day('2024-09-30');
    expect(offerOn('2024-09-30', 900n, { offer: { until } })).toBe(40n);
    expect(offerOn('2024-10-01', 900n, { offer: { until } })).toBe(0n);
  });

  it('needs the deposit, paid before the day', () => {
    expect(offerOn('2024-02-01', 100n)).toBe(120n);
    expect(offerOn('2024-02-01', 99n)).toBe(0n);
  });

  it('needs two unpaid instalments after the day, or another number', () => {
    expect(offerOn('2024-11-30', 1_199n)).toBe(10n);
    expect(offerOn('2024-11-30', 1_200n)).toBe(0n);
    expect(offerOn('2024-12-31', 100n)).toBe(0n);
    expect(offerOn('2024-12-31', 100n, { offer: { minDues: 1 } })).toBe(10n);
    expect(offerOn('2024-09-30', 900n, { offer: { minDues: 5 } })).toBe(0n);
    expect(offerOn('2024-09-30', 900n, { offer: { minDues: 4 } })).toBe(40n);
  });

  it('needs the latest money and the latest change to be of the day or before', () => {
    expect(offerOn('2024-09-30', 900n, { latestDate: day('2024-09-30') })).toBe(40n);
    expect(offerOn('2024-09-30', 900n, { latestDate: day('2024-10-01') })).toBe(0n);
  });

  it('is made to active, suspended and defaulted accounts only', () => {
    const offered = ACCOUNT_STATUSES.filter((status) => offerOn('2024-09-30', 900n, { status }) > 0n);
    expect(offered).toEqual(['active', 'suspended', 'defaulted']);
  });

  it('is not made if the schedule could get too many runs', () => {
    const offerFor = (count: number) => {
      const runs = Array.from({ length: count }, (_, i) => ({
        ...{ anchor: day('2024-02-01'), unit: 'day' as const, every: 1, place: 2 * i, count: 1 },
        amountMinor: BigInt(100 + (i % 2)),
      }));
      const situation = { status: 'active' as const, paidBeforeMinor: 100n, latestDate: null };
      return offerOfDay(TEN_PER_CENT, { ...situation, terms: { ...MONTHLY, runs } }, day('2024-02-01'));
    };
    expect(offerFor(MAX_RUNS)).toBe('too_many_runs');
    expect(offerFor(MAX_RUNS - 1)).toMatchObject({ discountMinor: 2_492n });
  });

  it('agrees with the sum of the unpaid parts of the items after the day', () => {
    const cases = fc.record({
      paid: fc.bigInt({ min: -50n, max: 1_400n }),
      month: fc.integer({ min: 2, max: 14 }),
      basisPoints: fc.integer({ min: 0, max: 10_000 }),
      minDues: fc.integer({ min: 1, max: 4 }),
    });
    fc.assert(
      fc.property(cases, ({ paid, month, basisPoints, minDues }) => {
        const on = day(month > 12 ? `2025-0${month - 12}-15` : `2024-${String(month).padStart(2, '0')}-15`);
        const standing = { paidMinor: paid, today: on, closed: false, activated: true };
        const unpaid = scheduleItems(MONTHLY, standing)
          .filter(({ index, date }) => index > 0 && date > on)
          .map(({ amountMinor, paidMinor }) => amountMinor - paidMinor)
          .filter((left) => left > 0n);
        const sum = unpaid.reduce((all, left) => all + left, 0n);
        const isOffered = paid >= 100n && unpaid.length >= minDues;
        const expected = isOffered ? (sum * BigInt(basisPoints)) / 10_000n : 0n;
        expect(offerOn(on, paid, { offer: { basisPoints, minDues } })).toBe(expected);
      }),
      { numRuns: 10 * PROPERTY_RUNS },
    );
  });
});

describe('an earned payoff', () => {
  const on = day('2024-09-30');
  const situation: PayoffSituation = {
    terms: MONTHLY,
    status: 'active',
    paidBeforeMinor: 900n,
    latestDate: on,
  };
  const earned = (paidMinor: bigint) => earnedPayoff(TEN_PER_CENT, situation, { day: on, paidMinor });

  it('is the offer, once the money of the day pays the rest', () => {
    // 400 is left, and 40 of it is offered.
    expect(earned(1_259n)).toBe(0n);
    expect(earned(1_260n)).toBe(40n);
    expect(earned(1_300n)).toBe(40n);
  });

  it('lowers the total to what is paid', () => {
    const before = { terms: MONTHLY, paidMinor: 1_260n, day: on, roundingMinor: 1n };
    const change = { kind: 'payoff' as const, amountMinor: earned(1_260n) };
    const { terms } = changedPlan(
      { ...before, originalTerms: MONTHLY, monthsWithoutDues: [], instalmentMinor: 100n, decimals: 2 },
      change,
    );
    expect(totalOf(terms)).toBe(1_260n);
  });

  it('is none for an account that has no offer', () => {
    expect(
      earnedPayoff(TEN_PER_CENT, { ...situation, paidBeforeMinor: 0n }, { day: on, paidMinor: 1_300n }),
    ).toBe(0n);
  });
});
