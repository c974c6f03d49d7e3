import type { Frequency } from '../../core/database/tables.ts';
import { addPeriods, type PlainDate } from '../../core/values/dates.ts';
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
