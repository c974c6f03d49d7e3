import { invalidField } from '../../core/http/errors.ts';
import { addDays, daysBetween, mondayOf, type PlainDate } from '../../core/values/dates.ts';

export const MAX_WEEKS = 13;
const DEFAULT_WEEKS = 4;
/** A payment counts as collected by the officer of the latest contact, if that was at most this many days before. */
export const COLLECTED_DAYS = 7;

export interface Weeks {
  from: PlainDate;
  /** A Sunday. */
  until: PlainDate;
}

/** The whole ISO weeks from the week of one day to the week of another. @throws AppError VALIDATION_ERROR */
export function weeksOf(from: PlainDate | undefined, to: PlainDate | undefined, today: PlainDate): Weeks {
  const lastMonday = mondayOf(to ?? today);
  const monday = mondayOf(from ?? addDays(lastMonday, -7 * (DEFAULT_WEEKS - 1)));
  const weeks = daysBetween(monday, lastMonday) / 7 + 1;
  if (weeks < 1) throw invalidField('from', 'must not be after "to"');
  if (weeks > MAX_WEEKS) throw invalidField('from', `must be at most ${MAX_WEEKS} weeks before the end`);
  return { from: monday, until: addDays(lastMonday, 6) };
}

/** The ISO week of a Monday, such as 2026-W45. */
export function isoWeek(monday: PlainDate): string {
  const thursday = addDays(monday, 3);
  const year = thursday.slice(0, 4);
  const first = mondayOf(`${year}-01-04` as PlainDate);
  return `${year}-W${String(daysBetween(first, monday) / 7 + 1).padStart(2, '0')}`;
}
