import type { AccountStatus } from '../core/database/tables.ts';
import { invalidField } from '../core/http/errors.ts';
import { addDays, compareDates, firstOfMonth, lastOfMonth, type PlainDate } from '../core/values/dates.ts';
import { divideHalfUp, type Minor, minorToNumber } from '../core/values/money.ts';

/** Business days, both included. */
export interface Period {
  startDate: PlainDate;
  endDate: PlainDate;
}

/**
 * The period that a report was asked for. Without dates it is the current month; a date that is missing
 * beside one that is given is the end of the current month on that side, or of the given date's own month
 * where this would turn the period round.
 *
 * @throws AppError VALIDATION_ERROR when the start lies after the end.
 */
export function readPeriod(given: Partial<Period>, today: PlainDate): Period {
  const startDate = given.startDate ?? firstOfMonth(earlier(given.endDate ?? today, today));
  const endDate = given.endDate ?? lastOfMonth(later(given.startDate ?? today, today));
  if (compareDates(startDate, endDate) > 0) {
    throw invalidField('startDate', `must not be after endDate (${endDate})`);
  }
  return { startDate, endDate };
}

/** The days that the figures of a period are taken on. */
export interface Moment {
  /** The last day that counts: min(endDate, today). */
  asOf: PlainDate;
  /** The day before the period; asOf where the whole period lies ahead. */
  before: PlainDate;
  /** Whether asOf is today and nothing is dated later, so that the accounts' own balances are the answer. */
  isToday: boolean;
}

export function momentOf({ startDate, endDate }: Period, today: PlainDate): Moment {
  const asOf = earlier(endDate, today);
  return { asOf, before: earlier(addDays(startDate, -1), asOf), isToday: compareDates(endDate, today) >= 0 };
}

/** The statuses whose balances are the gross receivables. */
export const RECEIVABLE_STATUSES = [
  'active',
  'suspended',
  'defaulted',
  'repossessed',
] as const satisfies AccountStatus[];

/** Days past due, from and to included; together they hold every account of the gross receivables. */
export const BUCKETS: readonly { from: number; to: number | null }[] = [
  { from: 0, to: 0 },
  { from: 1, to: 30 },
  { from: 31, to: 60 },
  { from: 61, to: 90 },
  { from: 91, to: 180 },
  { from: 181, to: null },
];

/** The days past due at which each bucket but the first begins: what width_bucket wants. */
export const BUCKET_STARTS = BUCKETS.slice(1).map(({ from }) => from);

/** What is in the buckets whose days past due are all above a limit, which must be the end of a bucket. */
export function beyond(days: number, figures: readonly bigint[]): bigint {
  return figures.reduce((sum, figure, i) => ((BUCKETS[i]?.from ?? 0) > days ? sum + figure : sum), 0n);
}

const RATIO_DECIMALS = 4;

/** The quotient with four decimals, halves rounded up, computed on whole numbers; null over 0. */
export function ratioOf(numerator: Minor, denominator: Minor): number | null {
  if (denominator === 0n) return null;
  return minorToNumber(divideHalfUp(numerator * 10n ** BigInt(RATIO_DECIMALS), denominator), RATIO_DECIMALS);
}

/** The list of the accounts behind a figure, as an address of this service. */
export function accountsUrl(filters: Record<string, string | number>): string {
  const query = Object.entries(filters).map(([key, value]) => `filter${key}=${value}`);
  return `/api/accounts?${query.join('&')}`;
}

export function bucketUrl({ from, to }: { from: number; to: number | null }): string {
  return accountsUrl({
    '[status][in]': RECEIVABLE_STATUSES.join(','),
    '[daysPastDue][gte]': from,
    ...(to !== null && { '[daysPastDue][lte]': to }),
  });
}

/** The accounts of the gross receivables that are more than so many days past due. */
export function atRiskUrl(days: number): string {
  return accountsUrl({ '[daysPastDue][gt]': days, '[status][in]': RECEIVABLE_STATUSES.join(',') });
}

function earlier(a: PlainDate, b: PlainDate): PlainDate {
  return compareDates(a, b) <= 0 ? a : b;
}

function later(a: PlainDate, b: PlainDate): PlainDate {
  return compareDates(a, b) >= 0 ? a : b;
}
