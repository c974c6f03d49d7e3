import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { statusesWhere } from '../../test/support/status-model.ts';
import type { PlainDate } from '../core/values/dates.ts';
import {
  BUCKET_STARTS,
  BUCKETS,
  bucketUrl,
  daysOf,
  ratioOf,
  readReportPeriod,
  reportDaysOf,
  sumAbove,
} from './rules.ts';

const day = (text: string) => text as PlainDate;
const TODAY = day('2026-11-15');

describe('daysOf', () => {
  const daysIn = (startDate: string, endDate: string, lastPaid?: string) =>
    daysOf({ startDate: day(startDate), endDate: day(endDate) }, TODAY, lastPaid ? day(lastPaid) : undefined);

  it('lists every day of a period up to today', () => {
    expect(daysIn('2026-02-27', '2026-03-01')).toEqual(['2026-02-27', '2026-02-28', '2026-03-01']);
    expect(daysIn('2026-11-14', '2026-11-30')).toEqual(['2026-11-14', '2026-11-15']);
    expect(daysIn('2026-11-16', '2026-11-30')).toEqual([]);
  });

  it('includes later days up to the last day with payments', () => {
    expect(daysIn('2026-11-15', '2026-11-30', '2026-11-17')).toHaveLength(3);
    expect(daysIn('2026-11-16', '2026-11-30', '2026-11-16')).toEqual(['2026-11-16']);
    expect(daysIn('2026-11-13', '2026-11-30', '2026-11-13')).toHaveLength(3);
  });
});

describe('readReportPeriod', () => {
  it.each([
    [{}, '2026-11-01', '2026-11-30'],
    [{ startDate: '2026-01-10', endDate: '2026-02-03' }, '2026-01-10', '2026-02-03'],
    [{ startDate: '2026-11-15', endDate: '2026-11-15' }, '2026-11-15', '2026-11-15'],
    [{ startDate: '2026-01-10' }, '2026-01-10', '2026-11-30'],
    [{ startDate: '2027-02-10' }, '2027-02-10', '2027-02-28'],
    [{ endDate: '2026-02-10' }, '2026-02-01', '2026-02-10'],
    [{ endDate: '2026-12-10' }, '2026-11-01', '2026-12-10'],
  ])('reads %j as %s to %s', (given, startDate, endDate) => {
    expect(readReportPeriod(given as never, TODAY)).toEqual({ startDate, endDate });
  });

  it('refuses a start after the end and names the field', () => {
    expect(() =>
      readReportPeriod({ startDate: day('2026-02-02'), endDate: day('2026-02-01') }, TODAY),
    ).toThrow(
      expect.objectContaining({
        code: 'VALIDATION_ERROR',
        details: { fields: [{ path: 'startDate', message: 'must not be after endDate (2026-02-01)' }] },
      }),
    );
  });
});

describe('reportDaysOf', () => {
  it.each([
    ['2026-10-01', '2026-10-31', { asOf: '2026-10-31', before: '2026-09-30', isToday: false }],
    ['2026-11-01', '2026-11-15', { asOf: '2026-11-15', before: '2026-10-31', isToday: true }],
    ['2026-11-01', '2026-11-30', { asOf: '2026-11-15', before: '2026-10-31', isToday: true }],
    ['2026-12-01', '2026-12-31', { asOf: '2026-11-15', before: '2026-11-15', isToday: true }],
  ])('returns for the period %s to %s the days %j', (startDate, endDate, moment) => {
    expect(reportDaysOf({ startDate: day(startDate), endDate: day(endDate) }, TODAY)).toEqual(moment);
  });
});

describe('the buckets of days past due', () => {
  it('contain every number of days once', () => {
    expect(BUCKETS[0]?.from).toBe(0);
    expect(BUCKETS.at(-1)?.to).toBeNull();
    BUCKETS.slice(1).forEach(({ from }, i) => {
      expect(from).toBe((BUCKETS[i]?.to ?? 0) + 1);
    });
    expect(BUCKET_STARTS).toEqual([1, 31, 61, 91, 181]);
  });

  it('add up the balances that are more than 30, 60 and 90 days past due', () => {
    const balances = [1n, 20n, 300n, 4_000n, 50_000n, 600_000n];
    expect([30, 60, 90].map((days) => sumAbove(days, balances))).toEqual([654_300n, 654_000n, 650_000n]);
  });

  it('link to the list of their accounts', () => {
    const receivable = statusesWhere(({ isReceivable }) => isReceivable);
    expect(bucketUrl({ from: 1, to: 30 })).toBe(
      `/api/accounts?filter[status][in]=${receivable}&filter[daysPastDue][gte]=1&filter[daysPastDue][lte]=30`,
    );
  });
});

describe('ratioOf', () => {
  it.each([
    [1n, 3n, 0.3333],
    [2n, 3n, 0.6667],
    [1n, 20_000n, 0.0001],
    [1n, 20_001n, 0],
    [5n, 4n, 1.25],
    [0n, 7n, 0],
    [7n, 0n, null],
  ])('returns %d / %d as %d', (numerator, denominator, ratio) => {
    expect(ratioOf(numerator, denominator)).toBe(ratio);
  });

  it('is never further from the quotient than half of the last decimal', () => {
    const amount = fc.bigInt({ min: 0n, max: 10n ** 18n });
    fc.assert(
      fc.property(amount, fc.bigInt({ min: 1n, max: 10n ** 18n }), (part, whole) => {
        const denominator = whole + part; // at most 1
        const tenThousandths = BigInt(Math.round((ratioOf(part, denominator) ?? 0) * 10_000));
        const error = 2n * (tenThousandths * denominator - part * 10_000n);
        expect(error <= denominator && error > -denominator).toBe(true);
      }),
    );
  });
});
