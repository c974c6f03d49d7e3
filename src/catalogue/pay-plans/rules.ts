import type { Frequency, Row } from '../../core/database/tables.ts';
import { invalidField } from '../../core/http/errors.ts';
import {
  addDays,
  addMonthsKeepingDay,
  compareDates,
  daysBetween,
  lastOfMonth,
  type PlainDate,
  parsePlainDate,
  wholeMonthsBetween,
} from '../../core/values/dates.ts';
import type { Minor } from '../../core/values/money.ts';
import {
  type Amounts,
  amountsOf,
  harvestShare,
  type RoundedSum,
  WHOLE_SHARE,
} from './instalment-rounding-rules.ts';

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
  // Without a spread: a property after a spread takes long, and lists do this for each account.
  const { unit, every } = periodOf(terms.frequency, 1);
  const { activationDate: anchor, instalmentCount: count, instalmentMinor: amountMinor } = terms;
  return { anchor, unit, every, place: 1, count, amountMinor };
}

export function periodOf(frequency: Frequency, every: number): Pick<Run, 'unit' | 'every'> {
  return frequency === 'monthly'
    ? { unit: 'month', every }
    : { unit: 'day', every: frequency === 'weekly' ? 7 * every : every };
}

/** Years later than any that a request can name, so that other dates can be computed from each due. */
export const LATEST_DUE = '8999-12-31' as PlainDate;

/** Whether each run begins after the last due of the run before, and the last due is not after the year 8999. */
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

/** The number of whole days or months from an anchor to a date. Negative before the anchor. */
export function unitsBy({ anchor, unit }: Pick<Run, 'anchor' | 'unit'>, date: PlainDate): number {
  return unit === 'month' ? wholeMonthsBetween(anchor, date) : daysBetween(anchor, date);
}

/**
 * Whether the runs are equal instalments that begin one period after the activation date, in whatever runs they are written, and would
 * continue in the same rhythm.
 */
export function areEqualInstalments(
  runs: readonly Run[],
  { frequency, activationDate }: { frequency: Frequency; activationDate: PlainDate },
): boolean {
  const [first, last] = [runs[0], runs.at(-1)];
  const rhythm = { anchor: activationDate, ...periodOf(frequency, 1) };
  if (!first || !last || !hasPeriodOf(last, rhythm)) return false;
  let place = 1;
  return runs.every((run) => {
    const isEqual = run.amountMinor === first.amountMinor && isInRhythm(run, { ...rhythm, place });
    place += run.count;
    return isEqual;
  });
}

/** Whether the dues of a run are those of a rhythm from a place on. */
function isInRhythm(run: Run, rhythm: Pick<Run, 'anchor' | 'unit' | 'every' | 'place'>): boolean {
  return (run.count === 1 || hasPeriodOf(run, rhythm)) && dateInRun(run, 0) === dateInRun(rhythm, 0);
}

/** Months keep the day of the anchor, so the same day in the first month does not make the same days in the next. */
function hasPeriodOf(run: Run, { anchor, unit, every }: Pick<Run, 'anchor' | 'unit' | 'every'>): boolean {
  const hasSameDay = unit === 'day' || run.anchor.slice(8) === anchor.slice(8);
  return run.unit === unit && run.every === every && hasSameDay;
}

/** The date of due j of a run. */
export function dateInRun(
  { anchor, unit, every, place }: Pick<Run, 'anchor' | 'unit' | 'every' | 'place'>,
  j: number,
): PlainDate {
  const periods = (place + j) * every;
  if (periods === 0) return anchor;
  return unit === 'month' ? addMonthsKeepingDay(anchor, periods) : addDays(anchor, periods);
}

/** The number of dues of a run dated on or before a date. */
export function duesInRunBy(run: Run, date: PlainDate): number {
  const { anchor, every, place, count } = run;
  if (compareDates(date, anchor) < 0) return 0;
  return Math.min(Math.max(Math.floor(unitsBy(run, date) / every) - place + 1, 0), count);
}

/** The terms of a pay plan, of which `runsOfPlan` makes the schedule of an account. */
export interface PlanShape extends PlanTerms {
  /** The whole price, above the deposit. Instalments are then `instalmentMinor`, and the last takes the rest. Null: all are equal. */
  priceMinor: Minor | null;
  /** The number of days, weeks or months between two places. */
  every: number;
  /** Months (1..12) in which no instalment is due. */
  monthsWithoutDues: readonly number[];
  /** Instalments are multiples of this amount. Null for a plan without a price. */
  roundingMinor: Minor | null;
  /** The days of the instalments, for a plan with a price whose instalments are due after harvests. */
  harvest: Harvest | null;
}

/** The instalments of each year (cycle) of a harvest plan, in any order. The shares sum to 10,000. */
export interface Harvest {
  entries: HarvestEntry[];
  cycles: number;
  /** The first instalment is at least this number of days after the activation. */
  leadDays: number;
}

export interface HarvestEntry {
  month: number;
  /** 29 February is the 28th in other years. */
  day: number;
  shareBasisPoints: number;
}

export function shapeOf(row: ShapeColumns): PlanShape {
  return {
    depositMinor: BigInt(row.deposit_minor),
    instalmentMinor: BigInt(row.instalment_minor),
    instalmentCount: row.instalment_count,
    frequency: row.frequency,
    priceMinor: row.price_minor === null ? null : BigInt(row.price_minor),
    every: row.every,
    monthsWithoutDues: row.months_without_dues,
    roundingMinor: row.rounding_minor === null ? null : BigInt(row.rounding_minor),
    harvest: harvestOf(row),
  };
}

export function harvestOf(row: HarvestColumns): Harvest | null {
  const { harvest_months: months, harvest_cycles: cycles, lead_days: leadDays } = row;
  if (months === null || cycles === null || leadDays === null) return null;
  const entries = months.map((month, i) => ({
    month,
    day: row.harvest_days?.[i] ?? 0,
    shareBasisPoints: row.harvest_shares?.[i] ?? 0,
  }));
  return { entries, cycles, leadDays };
}

export function harvestColumns(harvest: Harvest | null): HarvestColumns {
  const of = (read: (entry: HarvestEntry) => number) => harvest?.entries.map(read) ?? null;
  return {
    harvest_months: of(({ month }) => month),
    harvest_days: of(({ day }) => day),
    harvest_shares: of(({ shareBasisPoints }) => shareBasisPoints),
    harvest_cycles: harvest?.cycles ?? null,
    lead_days: harvest?.leadDays ?? null,
  };
}

/** With the whole, an account could stay completed without money after a reversal. */
export const MAX_PAYOFF_BASIS_POINTS = WHOLE_SHARE - 1;

/** The discount that a plan offers to a customer who pays all that is left on one day. */
export interface EarlyPayoff {
  /** The part of the unpaid instalments after the day of the payoff that is discounted. */
  discountBasisPoints: number;
  /** The last day of the offer. Null for an offer without end. */
  until: PlainDate | null;
  /** The number of unpaid instalments after the day of the payoff that an account needs. */
  minDues: number;
}

type PayoffColumns = Pick<Row<'pay_plans'>, 'payoff_basis_points' | 'payoff_until' | 'payoff_min_dues'>;

/** Null if the plan offers no discount for an early payoff. */
export function earlyPayoffOf(row: PayoffColumns): EarlyPayoff | null {
  const { payoff_basis_points: discountBasisPoints, payoff_until: until, payoff_min_dues: minDues } = row;
  return discountBasisPoints === null || minDues === null ? null : { discountBasisPoints, until, minDues };
}

export function earlyPayoffColumns(offer: EarlyPayoff | null): PayoffColumns {
  return {
    payoff_basis_points: offer?.discountBasisPoints ?? null,
    payoff_until: offer?.until ?? null,
    payoff_min_dues: offer?.minDues ?? null,
  };
}

type HarvestColumns = Pick<
  Row<'pay_plans'>,
  'harvest_months' | 'harvest_days' | 'harvest_shares' | 'harvest_cycles' | 'lead_days'
>;

type ShapeColumns = Pick<
  Row<'pay_plans'>,
  | 'deposit_minor'
  | 'instalment_minor'
  | 'instalment_count'
  | 'frequency'
  | 'price_minor'
  | 'every'
  | 'months_without_dues'
  | 'rounding_minor'
> &
  HarvestColumns;

/** The price: the sum of the deposit and all instalments. */
export function priceOf(plan: PlanShape): Minor {
  return plan.priceMinor ?? totalMinor(plan);
}

/** The number of instalments of a plan. */
export function dueCountOf(plan: PlanShape): number {
  if (plan.harvest) return plan.harvest.entries.length * plan.harvest.cycles;
  return amountsOf(plan).reduce((sum, { count }) => sum + count, 0);
}

/** At least two months have instalments, so a period of this number of days meets one of them each year. */
export const LONGEST_PERIOD_BESIDE_MONTHS = 31;

/**
 * Whether the plan soon has an instalment in each rhythm that an activation date can begin. Otherwise, for example with an instalment every 12
 * months and none in June, an account that is activated in June would have no instalment.
 */
export function canAlwaysBegin({
  frequency,
  every,
  monthsWithoutDues,
}: Pick<PlanShape, 'frequency' | 'every' | 'monthsWithoutDues'>): boolean {
  if (monthsWithoutDues.length === 0) return true;
  if (frequency !== 'monthly') return periodOf(frequency, every).every <= LONGEST_PERIOD_BESIDE_MONTHS;
  return MONTHS.every((start) =>
    MONTHS.some((k) => !monthsWithoutDues.includes(((start - 1 + k * every) % 12) + 1)),
  );
}

const MONTHS = Array.from({ length: 12 }, (_, i) => i + 1);

/**
 * The runs of an account of the plan. The instalments are at the places 1, 2, … after the activation date, or at the places 0, 1, … after
 * a chosen first date. Places in months without dues are left out.
 * @param firstDueDate - see `firstDueDateProblem`.
 * @throws RangeError if the plan is too long, see `lengthProblem`.
 */
export function runsOfPlan(plan: PlanShape, activationDate: PlainDate, firstDueDate?: PlainDate): Run[] {
  const runs = findRunsOfPlan(plan, activationDate, firstDueDate);
  if (!runs) throw new RangeError(`The plan does not end by ${LATEST_DUE}.`);
  return runs;
}

/** Dates of the last year that a request can name, because a plan is interrupted more often from some months on than from others. */
const LATEST_ACTIVATIONS = MONTHS.map((month) => `2999-${String(month).padStart(2, '0')}-28` as PlainDate);
/** Fewer than `MAX_RUNS`: for another activation date, a few more can be needed. */
const MAX_RUNS_OF_PLAN = MAX_RUNS - 10;

/** Why the schedule of an account could be too long to be stored. */
export function lengthProblem(plan: PlanShape): string | undefined {
  for (const date of LATEST_ACTIVATIONS) {
    const runs = findRunsOfPlan(plan, date);
    if (!runs) return 'makes the plan last for thousands of years';
    if (runs.length > MAX_RUNS_OF_PLAN)
      return `interrupts the plan ${runs.length - 1} times; at most ${MAX_RUNS_OF_PLAN - 1} interruptions are possible`;
  }
  return undefined;
}

/** The latest first due date that can be chosen: this number of months after the activation. */
export const MAX_MONTHS_TO_FIRST_DUE = 12;

/** Why a first due date cannot be chosen for an account of the plan. */
export function firstDueDateProblem(
  plan: PlanShape,
  activationDate: PlainDate,
  firstDueDate: PlainDate,
): string | undefined {
  if (plan.harvest)
    return 'must be left out: the harvests of the pay plan determine the days of the instalments';
  if (compareDates(firstDueDate, activationDate) <= 0)
    return `must be after the activation date (${activationDate})`;
  const latest = addMonthsKeepingDay(activationDate, MAX_MONTHS_TO_FIRST_DUE);
  if (compareDates(firstDueDate, latest) > 0)
    return `must be at most ${MAX_MONTHS_TO_FIRST_DUE} months after the activation date, on ${latest} or earlier`;
  if (plan.monthsWithoutDues.includes(monthOf(firstDueDate)))
    return `must be in a month with instalments; months ${plan.monthsWithoutDues.join(', ')} have none`;
  const runs = findRunsOfPlan(plan, activationDate, firstDueDate);
  if (!runs || runs.length > MAX_RUNS)
    return 'must be another day: from this day on, the plan would be too long';
  return undefined;
}

/**
 * The runs of an account that is sold, with a first due date that can be chosen.
 * @throws AppError VALIDATION_ERROR if the date cannot be chosen.
 */
export function runsOfSale(
  plan: PlanShape,
  activationDate: PlainDate,
  firstDueDate: PlainDate | undefined,
): Run[] {
  const problem = firstDueDate && firstDueDateProblem(plan, activationDate, firstDueDate);
  if (problem !== undefined) throw invalidField('firstDueDate', problem);
  return runsOfPlan(plan, activationDate, firstDueDate);
}

/** Like `runsOfPlan`. @returns undefined if the plan is too long. */
export function findRunsOfPlan(
  plan: PlanShape,
  activationDate: PlainDate,
  firstDueDate?: PlainDate,
): Run[] | undefined {
  if (plan.harvest) {
    const sumMinor = priceOf(plan) - plan.depositMinor;
    const earliest = addDays(activationDate, plan.harvest.leadDays);
    return harvestRuns(plan.harvest, { sumMinor, roundingMinor: plan.roundingMinor ?? 1n, earliest });
  }
  const rhythm = { anchor: firstDueDate ?? activationDate, ...periodOf(plan.frequency, plan.every) };
  const firstPlace = firstDueDate === undefined ? 1 : 0;
  const stretches = stretchesOf(rhythm, firstPlace, dueCountOf(plan), plan.monthsWithoutDues);
  const runs = stretches && runsOf(stretches, amountsOf(plan));
  return runs && areInOrder(runs) ? runs : undefined;
}

/** Neighbouring places of one rhythm. */
export type Stretch = Omit<Run, 'amountMinor'>;

/** Lays amounts, in their order, on places, of which there are at least as many. */
export function runsOf(stretches: readonly Stretch[], amounts: Readonly<Amounts>): Run[] {
  const runs: Run[] = [];
  let [at, used] = [0, 0];
  for (const { count: amountCount, amountMinor } of amounts) {
    for (let left = amountCount; left > 0; ) {
      const stretch = stretches[at];
      if (!stretch) throw new Error('There are fewer places than amounts.');
      const count = Math.min(left, stretch.count - used);
      if (count > 0) runs.push({ ...stretch, place: stretch.place + used, count, amountMinor });
      left -= count;
      used += count;
      if (used === stretch.count) [at, used] = [at + 1, 0];
    }
  }
  return runs;
}

export interface HarvestedSum extends RoundedSum {
  /** The first instalment is on the first day of the entries that is not before this date. */
  earliest: PlainDate;
}

/** One run for each instalment, because neighbours have other shares. The last takes the rest. */
export function harvestRuns({ entries, cycles }: Harvest, { earliest, ...sum }: HarvestedSum): Run[] {
  const count = entries.length * cycles;
  const dues: SingleDue[] = [];
  let leftMinor = sum.sumMinor;
  for (let year = Number(earliest.slice(0, 4)); dues.length < count; year++) {
    const ofYear = entries.map((entry) => ({ entry, date: dateInYear(entry, year) }));
    for (const { entry, date } of ofYear.sort((a, b) => compareDates(a.date, b.date))) {
      if (compareDates(date, earliest) < 0 || dues.length === count) continue;
      const isLast = dues.length === count - 1;
      const amountMinor = isLast ? leftMinor : harvestShare(sum, cycles, entry);
      leftMinor -= amountMinor;
      dues.push({ date, amountMinor });
    }
  }
  return dues.map(singleRun);
}

/** A due that is in no rhythm. */
export interface SingleDue {
  date: PlainDate;
  amountMinor: Minor;
}

export function singleRun({ date, amountMinor }: SingleDue): Run {
  return { anchor: date, unit: 'month', every: 12, place: 0, count: 1, amountMinor };
}

export function isSingleRun({ unit, every, place, count }: Run): boolean {
  return unit === 'month' && every === 12 && place === 0 && count === 1;
}

const LEAP_YEAR = 2024;

/** What is wrong with the entries of a harvest plan. @returns the path of each wrong field, from the entries on. */
export function harvestProblems(entries: readonly HarvestEntry[]): { path: string; message: string }[] {
  const problems: { path: string; message: string }[] = [];
  const shares = entries.reduce((sum, { shareBasisPoints }) => sum + shareBasisPoints, 0);
  if (shares !== WHOLE_SHARE) {
    const message = `must have shares that sum to ${WHOLE_SHARE} basis points; their sum is ${shares}`;
    problems.push({ path: '', message });
  }
  const days = new Set<PlainDate>();
  for (const [i, entry] of entries.entries()) {
    const path = `[${i}].day`;
    if (!isDayOfMonth(entry)) {
      problems.push({ path, message: `must be a day of month ${entry.month}` });
      continue;
    }
    // In a year without 29 February, this day and the 28th are one.
    const date = dateInYear(entry, COMMON_YEAR);
    if (days.has(date)) problems.push({ path, message: 'must be another day than those before it' });
    days.add(date);
  }
  return problems;
}

const COMMON_YEAR = 2025;

function isDayOfMonth({ month, day }: Pick<HarvestEntry, 'month' | 'day'>): boolean {
  if (!(month >= 1 && month <= 12 && day >= 1)) return false;
  return day <= Number(lastOfMonth(dateInYear({ month, day: 1 }, LEAP_YEAR)).slice(8));
}

/** @throws RangeError for a day that the month never has, such as 31 April. */
export function dateInYear({ month, day }: Pick<HarvestEntry, 'month' | 'day'>, year: number): PlainDate {
  const two = (n: number) => String(n).padStart(2, '0');
  const date = parsePlainDate(`${LEAP_YEAR}-${two(month)}-${two(day)}`);
  if (date === undefined) throw new RangeError(`Month ${month} has no day ${day}.`);
  return addMonthsKeepingDay(date, 12 * (year - LEAP_YEAR));
}

/** The places of `count` dues, neighbours together. @returns undefined if the last is after the year 8999. */
export function stretchesOf(
  { anchor, unit, every }: Pick<Run, 'anchor' | 'unit' | 'every'>,
  firstPlace: number,
  count: number,
  monthsWithoutDues: readonly number[],
): Stretch[] | undefined {
  const rhythm = { anchor, unit, every };
  if (monthsWithoutDues.length === 0) return [{ ...rhythm, place: firstPlace, count }];
  const stretches: Stretch[] = [];
  const lastPlace = Math.floor(unitsBy(rhythm, LATEST_DUE) / rhythm.every);
  let left = count;
  for (let place = firstPlace; left > 0; ) {
    if (place > lastPlace) return undefined;
    const date = dateInRun({ ...rhythm, place }, 0);
    const nextMonthsPlace = Math.floor(unitsBy(rhythm, lastOfMonth(date)) / rhythm.every) + 1;
    if (!monthsWithoutDues.includes(monthOf(date))) {
      const dues = Math.min(left, nextMonthsPlace - place);
      const stretch = stretches.at(-1);
      if (stretch && stretch.place + stretch.count === place) stretch.count += dues;
      else stretches.push({ ...rhythm, place, count: dues });
      left -= dues;
    }
    place = nextMonthsPlace;
  }
  return stretches;
}

export function monthOf(date: PlainDate): number {
  return Number(date.slice(5, 7));
}

/** The first and the last due. */
export function endsOf(runs: readonly Run[]) {
  const [first, last] = [runs[0], runs.at(-1)];
  if (!first || !last) throw new Error('The schedule has no run.');
  return {
    first: dateInRun(first, 0),
    last: dateInRun(last, last.count - 1),
    firstMinor: first.amountMinor,
    lastMinor: last.amountMinor,
  };
}
