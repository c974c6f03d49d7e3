import {
  instalmentsFor,
  instalmentsOf,
  instalmentsShare,
  roundedUp,
} from '../../catalogue/pay-plans/instalment-rounding-rules.ts';
import {
  areInOrder,
  dateInRun,
  duesInRunBy,
  type Harvest,
  harvestProblems,
  harvestRuns,
  isSingleRun,
  LATEST_DUE,
  MAX_RUNS,
  monthOf,
  type PlanShape,
  periodOf,
  priceOf,
  type Run,
  runsOf,
  runsOfPlan,
  type SingleDue,
  type Stretch,
  singleRun,
  stretchesOf,
  unitsBy,
} from '../../catalogue/pay-plans/rules.ts';
import { MAX_INSTALMENTS } from '../../catalogue/pay-plans/schema.ts';
import type { Frequency } from '../../core/database/tables.ts';
import { invalid, invalidField } from '../../core/http/errors.ts';
import {
  addDays,
  addMonthsKeepingDay,
  compareDates,
  daysBetween,
  earlier,
  later,
  type PlainDate,
} from '../../core/values/dates.ts';
import { type Minor, maxAmountMinor, maxMinor, minMinor, minorToText } from '../../core/values/money.ts';
import {
  cutOff,
  duesOf,
  haveSameRhythm,
  isAboveZero,
  joinRuns,
  type Terms,
  termsOfRuns,
  totalOf,
} from '../schedule/rules.ts';

// What a change does to the schedule of an account. A change takes effect on its business day. It moves, cuts off or appends instalments,
// and only a sale correction changes the deposit. No two instalments have one date: where two meet, they become one. No new or moved
// instalment is due on the day of the change or before, except what was paid ahead of a revision.

export type PlanChange = Deferral | Revision | PriceCut | PriceRise | SaleCorrection;

interface Deferral {
  kind: 'deferral';
  /** The instalments dated from here on move. */
  from: PlainDate;
  by: { periods: number } | { days: number };
  /** Whether the arrears of instalments go to the end of the schedule. */
  movesArrears: boolean;
  /** For a schedule without a rhythm: the instalments of the arrears that move. */
  dues?: readonly SingleDue[] | undefined;
}

interface Revision {
  kind: 'revision';
  firstDue: PlainDate;
  spread: Spread;
  /** Whether the arrears of instalments are spread, too. */
  movesArrears: boolean;
}

interface PriceCut {
  /** Only a discount leaves what is paid. What is paid beyond a corrected price or a payoff is credit. */
  kind: 'discount' | 'price_correction' | 'payoff';
  /** > 0 */
  amountMinor: Minor;
}

interface PriceRise {
  kind: 'price_rise';
  /** > 0 */
  amountMinor: Minor;
  /** For a schedule without a rhythm: the instalments of the rise. */
  dues?: readonly SingleDue[] | undefined;
}

interface SaleCorrection {
  kind: 'sale_correction';
  /** The pay plan that should have been sold, from the same activation date on. */
  plan: PlanShape;
}

/** How a sum is spread: by count or by instalment in a rhythm, without the months without dues; or after harvests. */
export type Spread =
  | (SpreadRhythm & { count: number })
  | (SpreadRhythm & { instalmentMinor: Minor })
  | { harvest: Harvest };

interface SpreadRhythm {
  frequency: Frequency;
  every: number;
  monthsWithoutDues: readonly number[];
}

export interface PlanSituation {
  terms: Terms;
  /** See `originalTerms`; the present terms if these are the original ones. */
  originalTerms: Terms;
  /** The sum of the unreversed payments and credit moves. Can be negative, see `nextItem`. */
  paidMinor: Minor;
  /** The business day on which the change takes effect. */
  day: PlainDate;
  /** The rounding unit of the plan, or one unit of the currency. */
  roundingMinor: Minor;
  /** Those of the newest revision or sale correction that is not undone, or else of the pay plan. */
  monthsWithoutDues: readonly number[];
  /** The instalment that they agreed. Undefined for instalments after harvests. */
  instalmentMinor: Minor | undefined;
  /** Of the currency, for amounts in messages. */
  decimals: number;
}

export interface ChangedPlan {
  terms: Terms;
  /** The price after the change minus the price before it. */
  priceChangeMinor: Minor;
  /** The arrears that were cut off past instalments, and appended or spread. */
  arrearsMovedMinor: Minor;
  /** What was paid ahead and became one instalment on the day of the change. */
  aheadMovedMinor: Minor;
}

/** @throws AppError VALIDATION_ERROR that names the field of the request. */
export function changedPlan(situation: PlanSituation, change: PlanChange): ChangedPlan {
  switch (change.kind) {
    case 'deferral':
      return defer(situation, change);
    case 'revision':
      return revise(situation, change);
    case 'discount':
    case 'price_correction':
    case 'payoff':
      return cutPrice(situation, change);
    case 'price_rise':
      return raisePrice(situation, change);
    case 'sale_correction':
      return correctSale(situation, change);
  }
}

/** Whether the change reads the sum paid, so that another sum makes a shown effect obsolete. */
export function readsPaid(change: PlanChange): boolean {
  switch (change.kind) {
    case 'deferral':
      return change.movesArrears;
    case 'revision':
    case 'discount':
    case 'payoff':
      return true;
    case 'price_correction':
    case 'price_rise':
    case 'sale_correction':
      return false;
  }
}

function defer(situation: PlanSituation, { from, by, movesArrears, dues }: Deferral): ChangedPlan {
  const { fallenDue, after, arrearsMinor } = duesOn(situation);
  refuseUpTo(situation.day, 'from', from);
  const [staying, moving] = splitAfter(after, addDays(from, -1));
  if (moving.length === 0) throw invalidField('from', 'must not be after the last instalment');
  const movedMinor = movesArrears ? arrearsMinor : 0n;
  const moved =
    'days' in by ? movedByDays(moving, by.days, situation) : movedByPeriods(moving, by.periods, situation);
  const runs = [...cutOff(fallenDue, movedMinor), ...staying, ...moved];
  return toChangedPlan(situation, {
    path: 'days' in by ? 'days' : 'periods',
    runs: append(runs, { sumMinor: movedMinor, dues, path: 'arrears' }, situation),
    arrearsMovedMinor: movedMinor,
  });
}

/** Each instalment takes the date of the instalment `periods` places later. Instalments without a rhythm move by whole years. */
function movedByPeriods(
  moving: readonly Run[],
  periods: number,
  { monthsWithoutDues }: PlanSituation,
): Run[] {
  const last = moving.at(-1);
  if (moving.every(isSingleRun)) {
    if (last && 12 * periods > unitsBy(last, LATEST_DUE)) throw tooLong('periods');
    return moving.map((run) => ({ ...run, anchor: addMonthsKeepingDay(run.anchor, 12 * periods) }));
  }
  if (!last || isSingleRun(last))
    throw invalidField(
      'periods',
      'must be left out: the instalments have no common rhythm. Give days instead',
    );
  const beyond = stretchesOf(last, last.place + last.count, periods, monthsWithoutDues);
  if (!beyond) throw tooLong('periods');
  return runsOf(withoutFirst([...moving, ...beyond], periods), moving);
}

/** The first instalment that moves is the new anchor of its rhythm. After a gap, the rhythm begins again. */
function movedByDays(moving: readonly Run[], days: number, { monthsWithoutDues }: PlanSituation): Run[] {
  if (monthsWithoutDues.length > 0)
    throw invalidField(
      'days',
      `must be left out: the plan has months without instalments (${monthsWithoutDues.join(', ')}). Give periods instead`,
    );
  const moved: Run[] = [];
  for (const [i, run] of moving.entries()) {
    if (days > daysBetween(dateInRun(run, 0), LATEST_DUE)) throw tooLong('days');
    const [before, movedBefore] = [moving[i - 1], moved.at(-1)];
    const continues =
      before && movedBefore && haveSameRhythm(before, run) && before.place + before.count === run.place;
    moved.push(
      continues
        ? { ...run, anchor: movedBefore.anchor, place: movedBefore.place + movedBefore.count }
        : { ...run, anchor: addDays(dateInRun(run, 0), days), place: 0 },
    );
  }
  return moved;
}

function revise(situation: PlanSituation, { firstDue, spread, movesArrears }: Revision): ChangedPlan {
  const { terms, day, paidMinor } = situation;
  const { fallenDue, fallenDueMinor, arrearsMinor } = duesOn(situation);
  refuseUpTo(day, 'firstDueDate', firstDue);
  // The deposit of a pending account is dated in the future, and no instalment is before it.
  const start = later(day, terms.activationDate);
  if (compareDates(firstDue, start) <= 0)
    throw invalidField('firstDueDate', `must be after the activation date (${terms.activationDate})`);
  const movedMinor = movesArrears ? arrearsMinor : 0n;
  const aheadMinor = maxMinor(0n, minMinor(paidMinor, totalOf(terms)) - fallenDueMinor);
  const sumMinor = totalOf(terms) - fallenDueMinor - aheadMinor + movedMinor;
  if (sumMinor <= 0n) throw invalidField('kind', 'must be another change: no instalment is left to revise');
  const kept = cutOff(fallenDue, movedMinor);
  const ahead = aheadMinor > 0n ? [{ date: start, amountMinor: aheadMinor }] : [];
  return toChangedPlan(situation, {
    path: 'firstDueDate',
    runs: [...addDues(kept, ahead), ...spreadRuns({ firstDue, start, sumMinor, spread }, situation)],
    frequency: 'harvest' in spread ? terms.frequency : spread.frequency,
    arrearsMovedMinor: movedMinor,
    aheadMovedMinor: aheadMinor,
  });
}

function spreadRuns(
  {
    firstDue,
    start,
    sumMinor,
    spread,
  }: { firstDue: PlainDate; start: PlainDate; sumMinor: Minor; spread: Spread },
  { roundingMinor }: PlanSituation,
): Run[] {
  if ('harvest' in spread) {
    const problems = harvestProblems(spread.harvest.entries);
    if (problems.length > 0)
      throw invalid(problems.map(({ path, message }) => ({ path: `harvest.entries${path}`, message })));
    const earliest = addDays(start, spread.harvest.leadDays);
    if (compareDates(firstDue, earliest) < 0)
      throw invalidField(
        'firstDueDate',
        `must be at least leadDays after ${start}, so on or after ${earliest}`,
      );
    // A share that is rounded down to 0 makes no instalment.
    return harvestRuns(spread.harvest, { sumMinor, roundingMinor, earliest: firstDue }).filter(isAboveZero);
  }
  const { frequency, every, monthsWithoutDues } = spread;
  if (monthsWithoutDues.includes(monthOf(firstDue)))
    throw invalidField(
      'firstDueDate',
      `must be in a month with instalments; months ${monthsWithoutDues.join(', ')} have none`,
    );
  const instalmentMinor =
    'count' in spread
      ? roundedUp(instalmentsShare(sumMinor, spread.count), roundingMinor)
      : spread.instalmentMinor;
  const count = countOf(
    sumMinor,
    instalmentMinor,
    'count' in spread ? 'instalmentCount' : 'instalmentAmount',
  );
  const rhythm = { anchor: firstDue, ...periodOf(frequency, every) };
  const places = stretchesOf(rhythm, 0, count, monthsWithoutDues);
  if (!places) throw tooLong('every');
  return runsOf(places, instalmentsOf(sumMinor, instalmentMinor));
}

function cutPrice(situation: PlanSituation, { kind, amountMinor }: PriceCut): ChangedPlan {
  const { terms, paidMinor } = situation;
  const limitMinor =
    totalOf(terms) - (kind === 'discount' ? maxMinor(paidMinor, terms.depositMinor) : terms.depositMinor);
  if (amountMinor > limitMinor) {
    const basis =
      kind === 'discount'
        ? 'the total without what is paid and the deposit'
        : 'the total without the deposit';
    throw invalidField('amount', `must be at most ${text(maxMinor(limitMinor, 0n), situation)}, ${basis}`);
  }
  return toChangedPlan(situation, {
    path: 'amount',
    runs: cutOff(duesOf(terms), amountMinor),
    priceChangeMinor: -amountMinor,
  });
}

function raisePrice(situation: PlanSituation, { amountMinor, dues }: PriceRise): ChangedPlan {
  const { terms, decimals } = situation;
  const most = maxAmountMinor(decimals) - totalOf(terms);
  if (amountMinor > most)
    throw invalidField('amount', `must be at most ${text(most, situation)}, so that the total is possible`);
  return toChangedPlan(situation, {
    path: 'amount',
    runs: append(duesOf(terms), { sumMinor: amountMinor, dues, path: 'amount' }, situation),
    priceChangeMinor: amountMinor,
  });
}

function correctSale(situation: PlanSituation, { plan }: SaleCorrection): ChangedPlan {
  const { terms, day } = situation;
  const path = 'payplanId';
  const end = endOfSaleCorrection(situation);
  if (compareDates(end, day) <= 0)
    throw invalidField(
      'kind',
      `must be another change: a sale can be corrected before the first instalment falls due, which was on ${end}`,
    );
  const runs = runsOfPlan(plan, terms.activationDate);
  const newFirst = runs[0] && dateInRun(runs[0], 0);
  if (newFirst !== undefined && compareDates(newFirst, day) <= 0)
    throw invalidField(
      path,
      `must refer to a pay plan whose first instalment is after ${day}; with this pay plan, it is on ${newFirst}`,
    );
  const { depositMinor, frequency } = plan;
  return toChangedPlan(
    { ...situation, terms: { ...terms, depositMinor } },
    { path, runs, frequency, priceChangeMinor: priceOf(plan) - totalOf(terms) },
  );
}

/**
 * The day from which on a sale can no longer be corrected: the first instalment of the original or of the present terms is due. The sale of
 * an account without instalments can be corrected before its activation.
 */
export function endOfSaleCorrection({
  terms,
  originalTerms,
}: Pick<PlanSituation, 'terms' | 'originalTerms'>): PlainDate {
  const [first, firstOriginal] = [duesOf(terms)[0], duesOf(originalTerms)[0]];
  const end = firstOriginal ? dateInRun(firstOriginal, 0) : terms.activationDate;
  return first ? earlier(end, dateInRun(first, 0)) : end;
}

interface Outcome extends Partial<Omit<ChangedPlan, 'terms'>> {
  /** The field that is wrong if the instalments cannot be stored. */
  path: string;
  runs: readonly Run[];
  frequency?: Frequency;
}

function toChangedPlan({ terms }: PlanSituation, change: Outcome): ChangedPlan {
  const runs = joinRuns(change.runs);
  if (runs.length > MAX_RUNS)
    throw invalidField(
      change.path,
      `interrupts the schedule too often: at most ${MAX_RUNS - 1} times are possible`,
    );
  if (!areInOrder(runs))
    throw invalidField(
      change.path,
      'must be another: instalments would pass each other, or be due in thousands of years',
    );
  return {
    terms: termsOfRuns({ ...terms, frequency: change.frequency ?? terms.frequency }, runs),
    priceChangeMinor: change.priceChangeMinor ?? 0n,
    arrearsMovedMinor: change.arrearsMovedMinor ?? 0n,
    aheadMovedMinor: change.aheadMovedMinor ?? 0n,
  };
}

function tooLong(path: string) {
  return invalidField(path, 'must be lower: the schedule would last for thousands of years');
}

function text(minor: Minor, { decimals }: PlanSituation): string {
  return minorToText(minor, decimals);
}

function refuseUpTo(day: PlainDate, path: string, date: PlainDate): void {
  if (compareDates(date, day) <= 0)
    throw invalidField(path, `must be after ${day}, the day on which the change takes effect`);
}

/** The instalments up to the day of the change and after it. The arrears do not include those of the deposit. */
function duesOn({ terms, paidMinor, day }: PlanSituation) {
  const [fallenDue, after] = splitAfter(duesOf(terms), day);
  const { depositMinor } = terms;
  const fallenDueMinor = depositMinor + sumOf(fallenDue);
  const arrearsMinor = maxMinor(0n, fallenDueMinor - maxMinor(paidMinor, depositMinor));
  return { fallenDue, after, fallenDueMinor, arrearsMinor };
}

export function sumOf(runs: readonly Run[]): Minor {
  return runs.reduce((sum, { count, amountMinor }) => sum + BigInt(count) * amountMinor, 0n);
}

/** The instalments dated up to a day, and those after it. */
export function splitAfter(runs: readonly Run[], day: PlainDate): [Run[], Run[]] {
  const upTo = runs.map((run) => ({ ...run, count: duesInRunBy(run, day) }));
  const after = runs.map((run, i) => withoutFirstOf(run, upTo[i]?.count ?? 0));
  const isFilled = ({ count }: Run) => count > 0;
  return [upTo.filter(isFilled), after.filter(isFilled)];
}

function withoutFirstOf<T extends Stretch>(run: T, n: number): T {
  return { ...run, place: run.place + n, count: run.count - n };
}

/** The places without the first n of them. */
function withoutFirst(places: readonly Stretch[], n: number): Stretch[] {
  let left = n;
  return places.flatMap((stretch) => {
    const out = Math.min(left, stretch.count);
    left -= out;
    return out === stretch.count ? [] : [withoutFirstOf(stretch, out)];
  });
}

interface Addition {
  sumMinor: Minor;
  /** Given for a schedule without a rhythm. */
  dues?: readonly SingleDue[] | undefined;
  /** The field that causes the addition. */
  path: string;
}

/** Appends a sum in the last rhythm, in agreed instalments, of which the last takes the rest. */
function append(runs: readonly Run[], { sumMinor, dues, path }: Addition, situation: PlanSituation): Run[] {
  const last = runs.at(-1);
  const instalmentMinor = last && !isSingleRun(last) ? situation.instalmentMinor : undefined;
  if (sumMinor > 0n && (!last || instalmentMinor === undefined))
    return appendDues(runs, sumMinor, dues, situation);
  if (dues)
    throw invalidField(
      'dues',
      sumMinor > 0n
        ? 'must be left out: the instalments continue in their rhythm'
        : 'must be left out: no arrears move',
    );
  if (!last || instalmentMinor === undefined || sumMinor === 0n) return [...runs];
  const count = countOf(sumMinor, instalmentMinor, path);
  const nextPlace = Math.floor(unitsBy(last, situation.day) / last.every) + 1;
  const firstPlace = Math.max(last.place + last.count, nextPlace);
  const places = stretchesOf(last, firstPlace, count, situation.monthsWithoutDues);
  if (!places) throw tooLong(path);
  return [...runs, ...runsOf(places, instalmentsOf(sumMinor, instalmentMinor))];
}

function countOf(sumMinor: Minor, instalmentMinor: Minor, path: string): number {
  const count = instalmentsFor(sumMinor, instalmentMinor);
  if (count > MAX_INSTALMENTS)
    throw invalidField(path, `needs ${count} instalments; at most ${MAX_INSTALMENTS} are possible`);
  return count;
}

function appendDues(
  runs: readonly Run[],
  sumMinor: Minor,
  dues: readonly SingleDue[] | undefined,
  situation: PlanSituation,
): Run[] {
  const sumText = text(sumMinor, situation);
  if (!dues)
    throw invalidField(
      'dues',
      `is required, because the instalments have no rhythm; the amounts must sum to ${sumText}`,
    );
  const start = later(situation.day, situation.terms.activationDate);
  for (const [i, { date }] of dues.entries()) {
    const before = dues[i - 1]?.date ?? start;
    if (compareDates(date, before) <= 0) throw invalidField(`dues[${i}].date`, `must be after ${before}`);
  }
  const givenMinor = dues.reduce((sum, { amountMinor }) => sum + amountMinor, 0n);
  if (givenMinor !== sumMinor)
    throw invalidField(
      'dues',
      `must have amounts that sum to ${sumText}; their sum is ${text(givenMinor, situation)}`,
    );
  return addDues(runs, dues);
}

/** Adds dues without a rhythm. On the date of another instalment, they become one. */
export function addDues(runs: readonly Run[], dues: readonly SingleDue[]): Run[] {
  return dues.reduce<Run[]>(
    (all, { date, amountMinor }) => {
      const [before, from] = splitAfter(all, addDays(date, -1));
      const [met, after] = splitAfter(from, date);
      return [...before, singleRun({ date, amountMinor: amountMinor + sumOf(met) }), ...after];
    },
    [...runs],
  );
}
