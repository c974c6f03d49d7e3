import { describe, expect, it } from 'vitest';
import { addReport, findGaps, type Segment, stateOfGap } from './balance-rules.ts';

const START_MS = Date.parse('2026-11-02T09:00:00Z');
const at = (seconds: number) => new Date(START_MS + seconds * 1_000);
const LATER = at(3_600);

/** The amount of a payment, and the balance after it. By default, the service receives the report at the time of the payment. */
const report = (seconds: number, amount: number, balance: number, receivedAfter = seconds) => ({
  time: at(seconds),
  amountMinor: BigInt(amount),
  balanceMinor: BigInt(balance),
  receivedAt: at(receivedAfter),
});

function segmentsOf(reports: readonly ReturnType<typeof report>[], from: Segment[] = []): Segment[] {
  return reports.reduce((segments, one) => addReport(segments, one), from);
}

describe('the running balance', () => {
  const IN_ORDER = [report(0, 10, 110), report(5, 20, 130), report(9, 5, 135), report(9, 7, 142)];

  it('has no gap if every notification arrived, in any order', () => {
    for (const order of [
      [0, 1, 2, 3],
      [3, 2, 1, 0],
      [2, 0, 3, 1],
      [1, 3, 0, 2],
    ]) {
      const segments = segmentsOf(order.flatMap((n) => IN_ORDER[n] ?? []));
      expect(segments).toHaveLength(1);
      expect(segments[0]).toMatchObject({ beforeMinor: 100n, afterMinor: 142n });
      expect(findGaps(segments, LATER).gaps).toEqual([]);
    }
  });

  it('has a gap of the amount of a lost notification', () => {
    const segments = segmentsOf([report(0, 10, 110), report(9, 5, 135)]);
    const { gaps, segments: left } = findGaps(segments, LATER);
    expect(gaps).toEqual([{ fromTime: at(0), untilTime: at(9), differenceMinor: 20n }]);
    expect(left).toHaveLength(1);
    expect(addReport(left, report(20, 7, 142))).toHaveLength(1);
  });

  it('has no gap until the notification has had ten minutes to arrive', () => {
    const segments = segmentsOf([report(0, 10, 110), report(9, 5, 135)]);
    expect(findGaps(segments, at(9 + 599)).gaps).toEqual([]);
    expect(findGaps(segments, at(9 + 600)).gaps).toHaveLength(1);
  });

  it('has a negative gap if money left', () => {
    const { gaps } = findGaps(segmentsOf([report(0, 10, 110), report(9, 5, 65)]), LATER);
    expect(gaps).toMatchObject([{ differenceMinor: -50n }]);
  });

  it('reports a notification as late if its gap has already been reported when it comes', () => {
    const reports = [report(0, 10, 110), report(9, 5, 135)];
    const { segments } = findGaps(segmentsOf(reports), LATER);
    const withLate = addReport(segments, report(5, 20, 130, 3_600));
    expect(findGaps(withLate, at(7_200))).toMatchObject({
      gaps: [],
      late: [{ time: at(5), amountMinor: 20n }],
      segments: [{ afterMinor: 135n }],
    });
  });

  it('has the same gap if the later notification arrives first', () => {
    const { gaps } = findGaps(segmentsOf([report(9, 5, 135), report(0, 10, 110)]), LATER);
    expect(gaps).toEqual([{ fromTime: at(0), untilTime: at(9), differenceMinor: 20n }]);
  });

  it('has a gap between two payments of one second, if their balances do not fit', () => {
    expect(findGaps(segmentsOf([report(0, 10, 110), report(0, 5, 135)]), LATER)).toMatchObject({
      gaps: [{ fromTime: at(0), untilTime: at(0), differenceMinor: 20n }],
      late: [],
    });
  });

  it('has a gap ten minutes after the first notification behind it, although more notifications arrive', () => {
    const reports = [report(0, 10, 110), report(9, 5, 135), report(500, 5, 140)];
    for (const order of [reports, reports.toReversed()]) {
      expect(findGaps(segmentsOf(order), at(9 + 600)).gaps).toHaveLength(1);
    }
  });

  it.each([60, 61])(
    'connects payments that were made up to a minute apart in the wrong order: %i s',
    (seconds) => {
      const segments = seconds === 60 ? 1 : 2;
      expect(segmentsOf([report(500, 20, 130), report(500 - seconds, 5, 135)])).toHaveLength(segments);
      expect(segmentsOf([report(0, 10, 110), report(seconds, 5, 100)])).toHaveLength(segments);
    },
  );

  it('has no gap between segments whose balances fit, although their times overlap', () => {
    const reports = [report(0, 10, 110), report(500, 20, 130), report(400, 5, 135), report(600, 5, 140)];
    const segments = segmentsOf(reports);
    expect(segments).toHaveLength(2);
    expect(findGaps(segments, LATER)).toMatchObject({ gaps: [], late: [], segments: [{ afterMinor: 140n }] });
  });

  it('continues after a payment that restores the balance from before a gap', () => {
    const { segments } = findGaps(segmentsOf([report(0, 10, 110), report(9, 5, 65)]), LATER);
    expect(addReport(segments, report(20, 35, 100))).toMatchObject([{ beforeMinor: 100n, afterMinor: 100n }]);
  });

  it('has no gap without payments', () => {
    expect(findGaps([], LATER)).toEqual({ segments: [], gaps: [], late: [] });
  });

  it('has only the real gap if the same balance occurs twice', () => {
    const reports = [report(0, 50, 50), report(100, 50, 50), report(200, 50, 100)];
    const { gaps } = findGaps(segmentsOf(reports), LATER);
    expect(gaps).toEqual([{ fromTime: at(0), untilTime: at(100), differenceMinor: -50n }]);
  });
});

describe('a gap', () => {
  it.each([
    ['payments_found', { differenceMinor: 20n, lateMinor: 5n, foundMinor: 15n, isComplete: false }],
    ['open', { differenceMinor: 20n, lateMinor: 0n, foundMinor: 15n, isComplete: true }],
    ['open', { differenceMinor: -20n, lateMinor: 0n, foundMinor: 0n, isComplete: false }],
    ['money_left', { differenceMinor: -20n, lateMinor: 0n, foundMinor: 0n, isComplete: true }],
    ['money_left', { differenceMinor: 20n, lateMinor: 0n, foundMinor: 30n, isComplete: true }],
  ])('is %s for %o', (state, explanation) => {
    expect(stateOfGap(explanation)).toBe(state);
  });
});
