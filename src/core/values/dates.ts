import { Temporal } from 'temporal-polyfill';

declare const plainDateBrand: unique symbol;

/**
 * A calendar date as ISO 8601 text, YYYY-MM-DD, without time and zone. Calculations with dates do not use `Date`. In JavaScript
 * and PostgreSQL, the order of the texts is the order of the dates. `parsePlainDate` accepts the years 1900..2999. Results of
 * calculations can be in the years 0000..9999. A result in any other year throws.
 */
export type PlainDate = string & { readonly [plainDateBrand]: true };

/** The source of the current time. Tests have their own clocks. */
export interface Clock {
  now(): Date;
}

export const systemClock: Clock = { now: () => new Date() };

/** Milliseconds since any moment, such as `performance`. Unlike a clock, it is never set back. Caches measure ages with it. */
export interface Stopwatch {
  now(): number;
}

/**
 * The earliest date of an entry. The companies are younger, so an earlier date is a mistake: a wrong century, or the day 0 of a
 * spreadsheet.
 */
export const EARLIEST_ENTRY = '2000-01-01' as PlainDate;

interface Civil {
  year: number;
  /** 1..12 */
  month: number;
  /** 1..31 */
  day: number;
}

const DAY_MS = 86_400_000;
const EPOCH_DAY_OF_0000_01_01 = -719_528;
const EPOCH_DAY_OF_9999_12_31 = 2_932_896;

/**
 * Reads YYYY-MM-DD.
 *
 * @returns undefined for any other text, for a date that does not exist (2023-02-29) and for years outside 1900..2999.
 */
export function parsePlainDate(text: string): PlainDate | undefined {
  if (!/^[0-9]{4}-[0-9]{2}-[0-9]{2}$/.test(text)) return undefined;
  const date = text as PlainDate;
  const { year, month, day } = civilOf(date);
  if (year < 1900 || year > 2999 || month < 1 || month > 12) return undefined;
  if (day < 1 || day > daysInMonth(year, month)) return undefined;
  return date;
}

/**
 * The calendar date that the clocks of a time zone show at an instant. "Today" is
 * `businessDay(clock.now(), timeZone)`.
 *
 * @param timeZone IANA name, such as Africa/Nairobi.
 * @throws RangeError for an unknown zone, an invalid Date, or a year outside 0000..9999.
 */
export function businessDay(instant: Date, timeZone: string): PlainDate {
  const time = instant.getTime();
  const known = lastDays.get(timeZone) ?? [];
  for (const { day, fromMs, untilMs } of known) if (time >= fromMs && time < untilMs) return day;
  const zoned = Temporal.Instant.fromEpochMilliseconds(time).toZonedDateTimeISO(timeZone);
  const day = textOf({ year: zoned.year, month: zoned.month, day: zoned.day });
  const fromMs = zoned.startOfDay().epochMilliseconds;
  const untilMs = zoned.add({ days: 1 }).startOfDay().epochMilliseconds;
  lastDays.set(timeZone, [{ day, fromMs, untilMs }, ...known.slice(0, KEPT_DAYS - 1)]);
  return day;
}

/**
 * Whether JavaScript and PostgreSQL read the name in the same way: UTC, or an IANA name Area/Location that `businessDay` accepts.
 * PostgreSQL gives another meaning to abbreviations (CET) and offsets (+03:00).
 */
export function isTimeZone(name: string): boolean {
  if (!/^(UTC|[A-Za-z_]+(\/[\w+-]+)+)$/.test(name)) return false;
  try {
    businessDay(new Date(), name);
    return true;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

/** Recent days by time zone. They are cached because every request needs the current day and Temporal is slow. */
const lastDays = new Map<string, { day: PlainDate; fromMs: number; untilMs: number }[]>();
const KEPT_DAYS = 3;

/**
 * The instant at which a calendar date begins in a time zone: midnight, or the first instant after midnight if summer time skips
 * midnight.
 *
 * @throws RangeError for an unknown zone.
 */
export function startOfDayUtc(date: PlainDate, timeZone: string): Date {
  return new Date(Temporal.PlainDate.from(date).toZonedDateTime(timeZone).epochMilliseconds);
}

/**
 * The instant at which the clocks of a time zone show a time of day on a calendar date. If the clocks skip 02:30 at the start of
 * summer time, the result for 02:30 is the instant of 03:30.
 * @param ms - milliseconds from midnight.
 * @throws RangeError for an unknown zone.
 */
export function localTimeUtc(date: PlainDate, ms: number, timeZone: string): Date {
  const local = Temporal.PlainDate.from(date).toPlainDateTime().add({ milliseconds: ms });
  return new Date(local.toZonedDateTime(timeZone).epochMilliseconds);
}

/**
 * The date n days later (earlier for a negative n).
 *
 * @throws RangeError when the result is outside the years 0000..9999 or n is not a whole number.
 */
export function addDays(date: PlainDate, n: number): PlainDate {
  const epochDay = epochDayOf(date) + n;
  if (!(epochDay >= EPOCH_DAY_OF_0000_01_01 && epochDay <= EPOCH_DAY_OF_9999_12_31) || !Number.isInteger(n)) {
    throw new RangeError(`${date} plus ${n} days is not a date in the years 0000..9999.`);
  }
  return textOf(civilFromDays(epochDay));
}

/** Days from a to b: negative if b is before a, 0 for the same date. */
export function daysBetween(a: PlainDate, b: PlainDate): number {
  return epochDayOf(b) - epochDayOf(a);
}

/**
 * The date n months after the start, on the same day of the month, or on the last day if the month is too short. For a series,
 * always pass the same start: from 31 January, 1 month later is 28 February and 2 months later is 31 March.
 * @throws RangeError when the result is outside the years 0000..9999 or n is not a whole number.
 */
export function addMonthsKeepingDay(start: PlainDate, n: number): PlainDate {
  const { year, month, day } = civilOf(start);
  const months = year * 12 + (month - 1) + n;
  if (!(months >= 0 && months < 120_000) || !Number.isInteger(n)) {
    throw new RangeError(`${start} plus ${n} months is not a date in the years 0000..9999.`);
  }
  const toYear = Math.floor(months / 12);
  const toMonth = (months % 12) + 1;
  return textOf({ year: toYear, month: toMonth, day: Math.min(day, daysInMonth(toYear, toMonth)) });
}

/** The largest n, possibly negative, for which `addMonthsKeepingDay(start, n)` is not after the date. */
export function wholeMonthsBetween(start: PlainDate, date: PlainDate): number {
  const from = civilOf(start);
  const to = civilOf(date);
  const months = (to.year - from.year) * 12 + (to.month - from.month);
  // `addMonthsKeepingDay(start, months)` is in the month of `date`, so only the days must be compared.
  return Math.min(from.day, daysInMonth(to.year, to.month)) <= to.day ? months : months - 1;
}

/** Compares two dates for `Array.prototype.sort`. */
export function compareDates(a: PlainDate, b: PlainDate): -1 | 0 | 1 {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

export function earlier(a: PlainDate, b: PlainDate): PlainDate {
  return a <= b ? a : b;
}

export function later(a: PlainDate, b: PlainDate): PlainDate {
  return a >= b ? a : b;
}

const A_MONDAY = '1970-01-05' as PlainDate;

/** The Monday of the week of a date. */
export function mondayOf(date: PlainDate): PlainDate {
  const days = daysBetween(A_MONDAY, date) % 7;
  return addDays(date, days < 0 ? -days - 7 : -days);
}

export function firstOfMonth(date: PlainDate): PlainDate {
  return `${date.slice(0, 7)}-01` as PlainDate;
}

export function lastOfMonth(date: PlainDate): PlainDate {
  return addDays(addMonthsKeepingDay(firstOfMonth(date), 1), -1);
}

/**
 * Reads an ISO 8601 timestamp with a zone: 2026-11-01T10:15:30Z. Seconds and their fraction are optional.
 * @returns undefined for any other text, and for a date or time of day that does not exist.
 */
export function parseTimestamp(text: string): Date | undefined {
  const iso = /^[0-9-]{10}T(?!24)[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?(Z|[+-][0-9]{2}:[0-9]{2})$/.test(
    text,
  );
  if (!iso || parsePlainDate(text.slice(0, 10)) === undefined) return undefined;
  const instant = new Date(text);
  return Number.isNaN(instant.getTime()) ? undefined : instant;
}

/**
 * Reads yyyyMMddHHmmss, a local time. For a time that the clocks show twice at the end of summer time, the result is the first one.
 * @param zone - an IANA name, or the number of hours that the zone is ahead of UTC all year, which is faster.
 * @returns undefined for any other text and for a time that does not exist (hour 24, second 60, 30 February).
 */
export function parseCompactTime(text: string, zone: number | string): Date | undefined {
  if (!/^[0-9]{14}$/.test(text)) return undefined;
  const date = parsePlainDate(`${text.slice(0, 4)}-${text.slice(4, 6)}-${text.slice(6, 8)}`);
  const hour = Number(text.slice(8, 10));
  const minute = Number(text.slice(10, 12));
  const second = Number(text.slice(12, 14));
  if (date === undefined || hour > 23 || minute > 59 || second > 59) return undefined;
  const timeOfDayMs = ((hour * 60 + minute) * 60 + second) * 1000;
  if (typeof zone === 'string') return localTimeUtc(date, timeOfDayMs, zone);
  return new Date(epochDayOf(date) * DAY_MS + timeOfDayMs - zone * 3_600_000);
}

/** A date as a number: 2026-12-31 is 20261231. Lists compare so many dates that texts would be noticeably slow. */
export function dateNumber(date: PlainDate): number {
  return digits(date, 0, 4) * 10_000 + digits(date, 5, 7) * 100 + digits(date, 8, 10);
}

function civilOf(date: PlainDate): Civil {
  return { year: digits(date, 0, 4), month: digits(date, 5, 7), day: digits(date, 8, 10) };
}

/** Reads the digits without `slice`: lists convert so many dates that three slices for each date would be noticeably slow. */
function digits(date: PlainDate, from: number, to: number): number {
  let number = 0;
  for (let i = from; i < to; i++) number = number * 10 + date.charCodeAt(i) - 48;
  return number;
}

function textOf({ year, month, day }: Civil): PlainDate {
  if (year < 0 || year > 9999) throw new RangeError(`The year ${year} is outside 0000..9999.`);
  const two = (n: number) => (n < 10 ? `0${n}` : `${n}`);
  return `${String(year).padStart(4, '0')}-${two(month)}-${two(day)}` as PlainDate;
}

function epochDayOf(date: PlainDate): number {
  const { year, month, day } = civilOf(date);
  return daysFromCivil(year, month, day);
}

function daysInMonth(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

// The next two functions are days_from_civil and civil_from_days of Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms"
// (https://howardhinnant.github.io/date_algorithms.html): days since 1970-01-01 in the proleptic Gregorian calendar. In these
// functions, a year begins in March, so that the leap day is the last day. Temporal would be many times slower, and lists compute
// several dates for each row.

function daysFromCivil(year: number, month: number, day: number): number {
  const y = month <= 2 ? year - 1 : year;
  const era = Math.floor(y / 400);
  const yearOfEra = y - era * 400;
  const dayOfYear = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + day - 1;
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
}

function civilFromDays(epochDay: number): Civil {
  const z = epochDay + 719_468;
  const era = Math.floor(z / 146_097);
  const dayOfEra = z - era * 146_097;
  const yearOfEra = Math.floor(
    (dayOfEra -
      Math.floor(dayOfEra / 1460) +
      Math.floor(dayOfEra / 36_524) -
      Math.floor(dayOfEra / 146_096)) /
      365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const marchMonth = Math.floor((5 * dayOfYear + 2) / 153);
  const day = dayOfYear - Math.floor((153 * marchMonth + 2) / 5) + 1;
  const month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9;
  return { year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day };
}
