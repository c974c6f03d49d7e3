import { describe, expect, it } from 'vitest';
import { isUsuallyHeard, usualPeriods } from './silence-rules.ts';

const HEARD = new Date('2026-11-02T09:00:00Z');
const later = (minutes: number) => new Date(HEARD.getTime() + minutes * 60_000);

describe('a silence', () => {
  it('is compared with the same hours of the same weekday in the four weeks before it', () => {
    expect(usualPeriods(HEARD, later(90))).toEqual([
      { from: new Date('2026-10-26T09:00:00Z'), to: new Date('2026-10-26T10:30:00Z') },
      { from: new Date('2026-10-19T09:00:00Z'), to: new Date('2026-10-19T10:30:00Z') },
      { from: new Date('2026-10-12T09:00:00Z'), to: new Date('2026-10-12T10:30:00Z') },
      { from: new Date('2026-10-05T09:00:00Z'), to: new Date('2026-10-05T10:30:00Z') },
    ]);
  });

  it('is noticed after ten minutes', () => {
    expect(usualPeriods(HEARD, new Date(later(10).getTime() - 1))).toEqual([]);
    expect(usualPeriods(HEARD, later(10))).toHaveLength(4);
  });

  it('is compared for its first 48 hours if it is longer', () => {
    expect(usualPeriods(HEARD, later(72 * 60))[0]).toEqual({
      from: new Date('2026-10-26T09:00:00Z'),
      to: new Date('2026-10-28T09:00:00Z'),
    });
  });

  it.each([
    [[10, 10, 10, 10], true],
    [[10, 0, 10, 10], true],
    [[10, 9, 10, 9], false],
    [[100, 100, 0, 0], false],
    [[], false],
  ])('after weeks with %j notifications in these hours: unusual is %s', (counts, isUnusual) => {
    expect(isUsuallyHeard(counts)).toBe(isUnusual);
  });
});
