import { describe, expect, it } from 'vitest';
import { isCheckDue, isCurrent, isNews } from './result-rules.ts';

const NAIROBI = 'Africa/Nairobi'; // three hours ahead of UTC

function isDue(readAt: string, now: string): boolean {
  return isCheckDue(new Date(readAt), new Date(now), NAIROBI);
}

describe('the daily check', () => {
  it('is due if the books have never been checked', () => {
    expect(isCheckDue(undefined, new Date(), NAIROBI)).toBe(true);
  });

  it('is due from the first two o’clock (business time) after the last check', () => {
    expect(isDue('2026-11-02T09:00:00Z', '2026-11-02T22:59:59Z')).toBe(false);
    expect(isDue('2026-11-02T09:00:00Z', '2026-11-02T23:00:00Z')).toBe(true);
    expect(isDue('2026-11-02T22:59:00Z', '2026-11-02T23:00:00Z')).toBe(true);
    expect(isDue('2026-11-02T23:00:00Z', '2026-11-03T22:59:59Z')).toBe(false);
  });

  it('is not due if the clock was set back to a time before the last check', () => {
    expect(isDue('2026-11-05T09:00:00Z', '2026-11-02T09:00:00Z')).toBe(false);
  });
});

describe('a result', () => {
  it('is current for 26 hours, so that a daily check that takes long leaves no gap', () => {
    const readAt = new Date('2026-11-02T09:00:00Z');
    expect(isCurrent(readAt, new Date('2026-11-03T11:00:00Z'))).toBe(true);
    expect(isCurrent(readAt, new Date('2026-11-03T11:00:01Z'))).toBe(false);
    expect(isCurrent(undefined, readAt)).toBe(false);
  });

  const resultOf = (readAt: string, ...failed_checks: string[]) => ({ read_at: readAt, failed_checks });
  const passed = resultOf('2026-11-02T09:00:00Z');
  const failed = resultOf('2026-11-02T09:00:00Z', 'balances');

  it('is news if the list of failing checks differs from that of the last result', () => {
    expect(isNews(failed, undefined)).toBe(true);
    expect(isNews(resultOf('2026-11-02T10:00:00Z', 'balances'), passed)).toBe(true);
    expect(isNews(resultOf('2026-11-02T10:00:00Z', 'balances', 'instalments'), failed)).toBe(true);
    expect(isNews(resultOf('2026-11-02T10:00:00Z', 'balances'), failed)).toBe(false);
    expect(isNews(resultOf('2026-11-12T10:00:00Z', 'balances'), failed)).toBe(false);
    expect(isNews(resultOf('2026-11-02T10:00:00Z'), failed)).toBe(true);
  });

  it('without violations is news if the last result was missing or not current', () => {
    expect(isNews(passed, undefined)).toBe(true);
    expect(isNews(resultOf('2026-11-03T11:00:00Z'), passed)).toBe(false);
    expect(isNews(resultOf('2026-11-03T11:00:01Z'), passed)).toBe(true);
  });
});
