import { describe, expect, it } from 'vitest';
import type { PlainDate } from '../../core/values/dates.ts';
import { isBeyondGrace, lastDayOfGrace } from '../schedule/rules.ts';
import { describeLateness } from './lateness-wording-rules.ts';

const day = (text: string) => text as PlainDate;
const late = (next: string | null, reprieved: string | null = null, grace_days = 7) => ({
  next_due_date: next as PlainDate | null,
  reprieved_on: reprieved as PlainDate | null,
  grace_days,
});

describe('the last day of grace', () => {
  it.each([
    ['is the next due date plus the days of grace', late('2026-11-02'), '2026-11-09'],
    ['is the next due date without days of grace', late('2026-11-02', null, 0), '2026-11-02'],
    ['counts from a later reprieve', late('2026-11-02', '2026-11-05'), '2026-11-12'],
    ['does not count from an earlier reprieve', late('2026-11-02', '2026-10-30'), '2026-11-09'],
    ['does not exist if no item is open', late(null, '2026-11-05'), null],
  ])('%s', (_, account, last) => {
    expect(lastDayOfGrace(account)).toBe(last);
  });
});

describe('an account', () => {
  it('is beyond its grace from the day after the last day of grace', () => {
    expect(isBeyondGrace(late('2026-11-02'), day('2026-11-08'))).toBe(false);
    expect(isBeyondGrace(late('2026-11-02'), day('2026-11-09'))).toBe(false);
    expect(isBeyondGrace(late('2026-11-02'), day('2026-11-10'))).toBe(true);
  });

  it('is never beyond its grace if no item is open', () => {
    expect(isBeyondGrace(late(null), day('2030-01-01'))).toBe(false);
  });
});

describe('the reason of a suspension', () => {
  it.each([
    [late('2026-11-02'), '2026-11-14', '12 days past due, 7 days of grace'],
    [late('2026-11-02', null, 1), '2026-11-03', '1 day past due, 1 day of grace'],
    [late('2026-11-02', null, 0), '2026-11-02', '0 days past due, 0 days of grace'],
    [late('2026-11-02'), '2026-11-01', '0 days past due, 7 days of grace'],
    [late(null), '2026-11-14', '0 days past due, 7 days of grace'],
  ])('names the days past due and the days of grace: %j on %s', (account, today, text) => {
    expect(describeLateness(account, day(today))).toBe(text);
  });
});
