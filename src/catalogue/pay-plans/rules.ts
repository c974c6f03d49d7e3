import type { Frequency } from '../../core/database/tables.ts';
import {
  addDays,
  addMonthsKeepingDay,
  addPeriods,
  compareDates,
  daysBetween,
  type PlainDate,
  wholeMonthsBetween,
} from '../../core/values/dates.ts';
import type { Minor } from '../../core/values/money.ts';

/** The terms of a pay plan, which an account copies when it is opened. Amounts are >= 0. The count is a whole number >= 0. */
export interface PlanTerms {
  depositMinor: Minor;
  instalmentMinor: Minor;
  instalmentCount: number;
  frequency: Frequency;
}

export function totalMinor(terms: Omit<PlanTerms, 'frequency'>): Minor {
  return terms.depositMinor + BigInt(terms.instalmentCount) * terms.instalmentMinor;
}

/** The terms that determine the dates of the items. */
type DatedTerms = Pick<PlanTerms, 'instalmentCount' | 'frequency'> & { activationDate: PlainDate };

/**
 * The date of item k. The deposit (k = 0) is due on the activation date, instalment k is due k periods later. Monthly items keep
 * the day of the month, or use the last day of a shorter month.
 *
 * @throws RangeError if k is not a whole number 0..instalmentCount, or the date is after the year 9999.
 */
export function dueDate(terms: DatedTerms, k: number): PlainDate {
  if (!Number.isInteger(k) || k < 0 || k > terms.instalmentCount) {
    throw new RangeError(`Item ${k} is not in a schedule of ${terms.instalmentCount} instalments.`);
  }
  return addPeriods(terms.activationDate, terms.frequency, k);
}

/**
 * Dues of one amount in one rhythm. Due j (0..count - 1) is at place `place + j`: this number of periods after the anchor. Months keep the
 * day of the anchor, or use the last day of a shorter month.
 */
export interface Run {
  anchor: PlainDate;
  unit: 'day' | 'month';
  /** The number of days or months of a period. */
  every: number;
  /** The place of the first due, >= 0. */
  place: number;
  count: number;
  /** The amount of each due. */
  amountMinor: Minor;
}

/** The maximum number of runs of a schedule. */
export const MAX_RUNS = 250;

/** The run of equal instalments that begins one period after the activation date. */
export function equalInstalments(terms: PlanTerms & { activationDate: PlainDate }): Run {
  return {
    anchor: terms.activationDate,
    ...periodOf(terms.frequency, 1),
    place: 1,
    count: terms.instalmentCount,
    amountMinor: terms.instalmentMinor,
  };
}

function periodOf(frequency: Frequency, every: number): Pick<Run, 'unit' | 'every'> {
  return frequency === 'monthly'
    ? { unit: 'month', every }
    : { unit: 'day', every: frequency === 'weekly' ? 7 * every : every };
}

const LATEST_DUE = '2999-12-31' as PlainDate;

/** Whether each run begins after the last due of the run before, and the last due is not after the year 2999. */
export function areInOrder(runs: readonly Run[]): boolean {
  let last: PlainDate | undefined;
  for (const run of runs) {
    // A last due beyond all dates cannot be computed.
    if (run.every * (run.place + run.count - 1) > unitsBy(run, LATEST_DUE)) return false;
    if (last !== undefined && compareDates(dateInRun(run, 0), last) <= 0) return false;
    last = dateInRun(run, run.count - 1);
  }
  return true;
}

function unitsBy({ anchor, unit }: Run, date: PlainDate): number {
  return unit === 'month' ? wholeMonthsBetween(anchor, date) : daysBetween(anchor, date);
}

export function isSameRun(a: Run, b: Run): boolean {
  return (
    a.anchor === b.anchor &&
    a.unit === b.unit &&
    a.every === b.every &&
    a.place === b.place &&
    a.count === b.count &&
    a.amountMinor === b.amountMinor
  );
}

/** The date of due j of a run. */
export function dateInRun({ anchor, unit, every, place }: Run, j: number): PlainDate {
  const periods = (place + j) * every;
  return unit === 'month' ? addMonthsKeepingDay(anchor, periods) : addDays(anchor, periods);
}

/** The number of dues of a run dated on or before a date. */
export function duesInRunBy(run: Run, date: PlainDate): number {
  const { every, place, count } = run;
  return Math.min(Math.max(Math.floor(unitsBy(run, date) / every) - place + 1, 0), count);
}
