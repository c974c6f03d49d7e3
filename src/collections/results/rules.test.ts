import { describe, expect, it } from 'vitest';
import type { PlainDate } from '../../core/values/dates.ts';
import { isoWeek, weeksOf } from './rules.ts';

const day = (text: string) => text as PlainDate;
/** A Wednesday. */
const TODAY = day('2026-11-18');

const refused = expect.objectContaining({
  code: 'VALIDATION_ERROR',
  details: { fields: [expect.objectContaining({ path: 'from' })] },
});

describe('the weeks of results', () => {
  it('are the present week and the three before it, unless days are given', () => {
    expect(weeksOf(undefined, undefined, TODAY)).toEqual({ from: '2026-10-26', until: '2026-11-22' });
  });

  it('are whole weeks from Monday to Sunday', () => {
    expect(weeksOf(day('2026-11-05'), day('2026-11-09'), TODAY)).toEqual({
      from: '2026-11-02',
      until: '2026-11-15',
    });
    expect(weeksOf(day('2026-11-18'), day('2026-11-18'), TODAY)).toEqual({
      from: '2026-11-16',
      until: '2026-11-22',
    });
  });

  it('end with the present week if only the first day is given, and are four if only the last day is given', () => {
    expect(weeksOf(day('2026-11-09'), undefined, TODAY)).toEqual({ from: '2026-11-09', until: '2026-11-22' });
    expect(weeksOf(undefined, day('2026-10-11'), TODAY)).toEqual({ from: '2026-09-14', until: '2026-10-11' });
  });

  it('are at most 13', () => {
    expect(weeksOf(day('2026-08-24'), TODAY, TODAY)).toEqual({ from: '2026-08-24', until: '2026-11-22' });
    expect(() => weeksOf(day('2026-08-23'), TODAY, TODAY)).toThrow(refused);
  });

  it('do not end before they begin', () => {
    expect(() => weeksOf(day('2026-11-16'), day('2026-11-15'), TODAY)).toThrow(refused);
  });
});

describe('the number of a week', () => {
  it.each([
    ['2026-11-02', '2026-W45'],
    ['2026-03-02', '2026-W10'],
    ['2026-02-23', '2026-W09'],
    // The Thursday of a week decides to which year the week belongs.
    ['2025-12-29', '2026-W01'],
    ['2026-12-28', '2026-W53'],
    ['2027-01-04', '2027-W01'],
  ])('that begins on %s is %s', (monday, week) => {
    expect(isoWeek(day(monday))).toBe(week);
  });
});
