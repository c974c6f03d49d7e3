import { describe, expect, it } from 'vitest';
import type { PlainDate } from '../../core/values/dates.ts';
import type { DateOrder, StatementPeriod } from '../providers/provider.ts';
import { followDateOrder } from './date-order-rules.ts';

const day = (text: string) => text as PlainDate;
const TODAY = day('2026-11-18');
const NOVEMBER: StatementPeriod = { start: day('2026-11-01'), end: day('2026-11-30') };

/** The problem of a file with these dates, one on each line from line 2 on. */
function problemOf(
  cells: string[],
  {
    period,
    declared,
    today = TODAY,
  }: { period?: StatementPeriod; declared?: DateOrder; today?: PlainDate } = {},
) {
  const dates = followDateOrder({ today, declared });
  for (const [index, cell] of cells.entries()) dates.add(index + 2, cell, period);
  return dates.problem();
}

describe('the order of day and month in a statement', () => {
  it.each<[string, string[]]>([
    ['a day after the twelfth', ['13/11/2026 10:00:00']],
    ['a day after the twelfth, for all dates of the file', ['02/03/2026', '13/11/2026', '04/05/2026']],
    ['dashes, which no spreadsheet writes', ['02-03-2026 10:00', '04/05/2026']],
    ['equal numbers, which are the same date in both orders', ['11/11/2026']],
    ['the year first', ['2026-11-02 10:00:00', '2026-11-13']],
    ['the month first in the future', ['12/11/2026', '02/03/2026']],
    ['single digits, and quotes around the date', ['"3/2/2026"', '"13/2/2026"']],
  ])('is clear from %s', (_, cells) => {
    expect(problemOf(cells)).toBeUndefined();
  });

  it.each([
    ['', 'Total'],
    ['1/2/20261', '01/02-2026'],
    ['text 01/02/2026', 'on 2026-01-02'],
  ])('does not depend on cells without a date: %s, %s', (...cells) => {
    expect(problemOf(cells)).toBeUndefined();
    expect(problemOf([...cells, '13/11/2026'])).toBeUndefined();
  });

  it('has to be declared if no date shows it', () => {
    for (const cell of ['02/03/2026', '3/2/2026', '01/12/2026', '11/12/2026', '03/11/2026']) {
      const problem = problemOf(['11/11/2026', cell, '05/06/2026']);
      expect(problem?.path).toBe('dateOrder');
      // The first such date is named, as a sentence.
      expect(problem?.message).toMatch(new RegExp(`^The time ${cell} on line 3 can have`));
    }
    for (const declared of ['day_first', 'month_first'] as const)
      expect(problemOf(['02/03/2026'], { declared })).toBeUndefined();
  });

  it('is not shown by a date that is today in one of the orders, or that does not exist', () => {
    expect(problemOf(['12/11/2026'], { today: day('2026-12-10') })).toBeUndefined();
    expect(problemOf(['12/11/2026'], { today: day('2026-12-11') })?.path).toBe('dateOrder');
    expect(problemOf(['01/02/0000'])?.path).toBe('dateOrder');
  });

  it('is not that of the portal if a month would be above twelve', () => {
    const problem = problemOf(['02/03/2026', '11/13/2026', '11/14/2026']);
    expect(problem).toMatchObject({ path: 'dateOrder' });
    expect(problem?.message).toMatch(/^The time 11\/13\/2026 on line 3 has the month first\. /);
    expect(problemOf(['11/13/2026'], { declared: 'month_first' })).toBeUndefined();
  });

  it('contradicts itself if dates show both orders', () => {
    const problem = problemOf(['11/13/2026', '13/11/2026', '14/11/2026']);
    expect(problem?.message).toContain('line 2 has the month first, but the time 13/11/2026 on line 3 has');
  });
});

describe('the period of a statement', () => {
  it.each(['03/11/2026', '01/11/2026', '12/11/2026'])('shows that the day is first: %s', (cell) => {
    expect(problemOf([cell], { period: NOVEMBER })).toBeUndefined();
  });

  it.each(['11/03/2026', '11/01/2026', '11/12/2026'])('shows that the month is first: %s', (cell) => {
    expect(problemOf([cell], { period: NOVEMBER })?.message).toContain(
      `The time ${cell} on line 2 has the month first`,
    );
  });

  it('shows nothing if both orders or none are in it', () => {
    const year = { start: day('2026-01-01'), end: day('2026-11-30') };
    expect(problemOf(['03/02/2026'], { period: year })?.message).toContain('day or the month first');
    expect(problemOf(['03/02/2026'], { period: NOVEMBER })?.message).toContain('day or the month first');
  });

  it('can be a single day', () => {
    const period = { start: day('2026-10-11'), end: day('2026-10-11') };
    expect(problemOf(['11/10/2026'], { period })).toBeUndefined();
    expect(problemOf(['10/11/2026'], { period })?.message).toContain('has the month first');
  });
});

describe('a file that a spreadsheet has changed', () => {
  it.each<[string, string[]]>([
    ['the day first', ['13/11/2026', '2026-02-11', '2026-03-11']],
    ['the month first', ['11/13/2026', '2026-02-11', '2026-03-11']],
  ])('may have swapped the dates that it understood, if the others have %s', (_, cells) => {
    for (const declared of [undefined, 'day_first', 'month_first'] as const) {
      const problem = problemOf(cells, { declared });
      expect(problem?.path).toBe('body');
      expect(problem?.message).toContain(`the time 2026-02-11 on line 3 has another form than`);
      expect(problem?.message).toContain(`the time ${cells[0]} on line 2`);
    }
  });

  it.each<[string, string[]]>([
    [
      'another date with the year first has a day after the twelfth',
      ['13/11/2026', '2026-02-11', '2026-02-13'],
    ],
    ['the swapped date would be the same', ['13/11/2026', '2026-11-11']],
    ['a date that can be swapped was left as text', ['13/11/2026', '2026-02-11', '01/02/2026']],
    ['a date has dashes', ['13/11/2026', '2026-02-11', '01-02-2026']],
    ['a date in the other order would be in the future', ['13/11/2026', '2026-02-11', '12/11/2026']],
  ])('has not swapped any if %s', (_, cells) => {
    expect(problemOf(cells)).toBeUndefined();
  });

  it('has the twelfth as the last day that can be a month', () => {
    expect(problemOf(['13/11/2026', '2026-02-12'])?.path).toBe('body');
    expect(problemOf(['13/11/2026', '2026-12-13'])).toBeUndefined();
  });
});
