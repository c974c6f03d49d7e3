import { describe, expect, it } from 'vitest';
import { daysOf, periodOf } from '../../web/src/i18n/days.ts';

describe('the days of a period', () => {
  it.each([
    ['2026-11-23', 'today', '2026-11-23', '2026-11-23'],
    ['2026-03-01', 'yesterday', '2026-02-28', '2026-02-28'],
    ['2026-11-23', 'thisWeek', '2026-11-23', '2026-11-29'],
    ['2026-11-29', 'thisWeek', '2026-11-23', '2026-11-29'],
    ['2027-01-01', 'thisWeek', '2026-12-28', '2027-01-03'],
    ['2028-02-29', 'thisMonth', '2028-02-01', '2028-02-29'],
    ['2026-12-31', 'thisMonth', '2026-12-01', '2026-12-31'],
    ['2027-01-15', 'lastMonth', '2026-12-01', '2026-12-31'],
    ['2026-03-31', 'lastMonth', '2026-02-01', '2026-02-28'],
  ] as const)('on %s: %s is %s to %s', (today, period, from, until) => {
    expect(daysOf(period, today)).toEqual({ from, until });
    expect(periodOf({ from, until }, today)).toBe(period);
  });

  it('match no period if the last day is missing', () => {
    expect(periodOf({ from: '2026-11-01', until: '' }, '2026-11-23')).toBe(undefined);
  });
});
