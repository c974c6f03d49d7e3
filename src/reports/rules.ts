import { statusesIn } from '../accounts/status/rules.ts';
import { invalidField } from '../core/http/errors.ts';
import {
  addDays,
  compareDates,
  daysBetween,
  earlier,
  firstOfMonth,
  lastOfMonth,
  later,
  type PlainDate,
} from '../core/values/dates.ts';
import { divideHalfUp, type Minor, minorToNumber } from '../core/values/money.ts';

/** The maximum number of rows in each list of days or groups of a report. 4,000 days are about eleven years. */
export const MAX_GROUPS = 4_000;

/** Business days, both included. */
export interface ReportPeriod {
  startDate: PlainDate;
  endDate: PlainDate;
}

/**
 * Completes the period of a report. Each missing date defaults to the start or end of the current month. If the period
 * would then end before it starts, the month of the given date is used instead.
 *
 * @throws AppError VALIDATION_ERROR when both dates are given and the start is after the end.
 */
export function readReportPeriod(given: Partial<ReportPeriod>, today: PlainDate): ReportPeriod {
  const startDate = given.startDate ?? firstOfMonth(earlier(given.endDate ?? today, today));
  const endDate = given.endDate ?? lastOfMonth(later(given.startDate ?? today, today));
  if (compareDates(startDate, endDate) > 0) {
    throw invalidField('startDate', `must not be after endDate (${endDate})`);
  }
  return { startDate, endDate };
}

/** Every day of a period up to today, or up to `last` if that is later. */
export function daysOf(
  { startDate, endDate }: ReportPeriod,
  today: PlainDate,
  last?: PlainDate,
): PlainDate[] {
  const passed = earlier(endDate, today);
  const end = last === undefined ? passed : later(passed, last);
  const count = compareDates(end, startDate) < 0 ? 0 : daysBetween(startDate, end) + 1;
  return Array.from({ length: count }, (_, index) => addDays(startDate, index));
}

/** The days on which the figures of a period are taken. */
export interface ReportDays {
  /** The last day that counts: min(endDate, today). */
  asOf: PlainDate;
  /** The day before the period, or asOf if the whole period is in the future. */
  before: PlainDate;
  /** Whether asOf is today. Also false if `readReportDays` finds anything dated after today. */
  isToday: boolean;
}

export function reportDaysOf({ startDate, endDate }: ReportPeriod, today: PlainDate): ReportDays {
  const asOf = earlier(endDate, today);
  return { asOf, before: earlier(addDays(startDate, -1), asOf), isToday: compareDates(endDate, today) >= 0 };
}

interface Bucket {
  from: number;
  to: number | null;
}

/** Ranges of days past due, both ends included. Every account of the gross receivables is in one of them. */
export const BUCKETS: readonly Bucket[] = [
  { from: 0, to: 0 },
  { from: 1, to: 30 },
  { from: 31, to: 60 },
  { from: 61, to: 90 },
  { from: 91, to: 180 },
  { from: 181, to: null },
];

/** The smallest number of days of each bucket, without the first bucket. PostgreSQL's width_bucket needs these thresholds. */
export const BUCKET_STARTS = BUCKETS.slice(1).map(({ from }) => from);

/** The smallest number of days of a bucket. */
export function startOfBucket(bucket: number): number {
  return BUCKETS[bucket]?.from ?? 0;
}

/** Adds up the figures of the buckets that begin after `days`. For 30, these are the buckets from 31 on. */
export function sumAbove(days: number, figures: readonly bigint[]): bigint {
  return figures.reduce((sum, figure, i) => (startOfBucket(i) > days ? sum + figure : sum), 0n);
}

const RECEIVABLE = statusesIn('receivable').join(',');

const RATIO_DECIMALS = 4;

/** The quotient with four decimals, halves rounded up. Null if the denominator is 0. */
export function ratioOf(numerator: Minor, denominator: Minor): number | null {
  if (denominator === 0n) return null;
  return minorToNumber(divideHalfUp(numerator * 10n ** BigInt(RATIO_DECIMALS), denominator), RATIO_DECIMALS);
}

/** The address of the list of accounts behind a figure. */
export function accountsUrl(filters: Record<string, string | number>): string {
  const query = Object.entries(filters).map(([key, value]) => `filter${key}=${value}`);
  return `/api/accounts?${query.join('&')}`;
}

export function bucketUrl({ from, to }: Bucket): string {
  return accountsUrl({
    '[status][in]': RECEIVABLE,
    '[daysPastDue][gte]': from,
    ...(to !== null && { '[daysPastDue][lte]': to }),
  });
}

/** The address of the accounts of the gross receivables that are more than `days` days past due. */
export function atRiskUrl(days: number): string {
  return accountsUrl({ '[daysPastDue][gt]': days, '[status][in]': RECEIVABLE });
}

/** Like `atRiskUrl`, for the larger of the days past due by the present and by the original terms. */
export function atRiskByLargestUrl(days: number): string {
  return accountsUrl({ '[largestDaysPastDue][gt]': days, '[status][in]': RECEIVABLE });
}

/** The filter for accounts with none of the statuses. */
export function statusNotIn(statuses: readonly string[]): Record<string, string> {
  return { [statuses.length === 1 ? '[status][ne]' : '[status][nin]']: statuses.join(',') };
}
