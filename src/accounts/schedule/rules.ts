import { instalmentsOf } from '../../catalogue/pay-plans/instalment-rounding-rules.ts';
import {
  areEqualInstalments,
  dateInRun,
  duesInRunBy,
  equalInstalments,
  type PlanTerms,
  type Run,
  runsOf as runsOfAmounts,
  singleRun,
} from '../../catalogue/pay-plans/rules.ts';
import type { Frequency, Row } from '../../core/database/tables.ts';
import {
  addDays,
  compareDates,
  dateNumber,
  daysBetween,
  later,
  type PlainDate,
} from '../../core/values/dates.ts';
import { type Minor, maxMinor, minMinor } from '../../core/values/money.ts';

// The schedule of an account is a deposit and runs of instalments. Item 0 is the deposit, due on the activation date. Items 1, 2, … are
// the dues of the runs, in the order of their dates. Most accounts have one run, of equal instalments that begin one period after the
// activation date, which is computed from the columns of the terms. Other accounts store their runs. Payments cover the items in this
// order, so the sum paid determines which items are paid. store.ts has the same rules in SQL.
//
// Only this folder, the changes of plans, the early payoffs and the pay plans compute with deposits, instalments and periods. Other code asks the functions
// below, and reads the terms only to show them.

/** The terms that an account copied from its pay plan, from its activation date on. */
export interface Terms extends PlanTerms {
  /** The number of days past due after which the account counts as late. */
  graceDays: number;
  activationDate: PlainDate;
  /** Absent if all instalments are equal, and begin one period after the activation date. */
  runs?: readonly Run[] | undefined;
}

/** The columns of the terms of an account, without those that follow from others. */
export const TERM_COLUMNS = [
  'deposit_minor',
  'instalment_minor',
  'instalment_count',
  'frequency',
  'grace_days',
  'activation_date',
  'run_anchor',
  'run_unit',
  'run_every',
  'run_place',
  'run_count',
  'run_amount_minor',
] as const satisfies (keyof Row<'accounts'>)[];

export type TermColumns = Pick<Row<'accounts'>, (typeof TERM_COLUMNS)[number]>;

/** The columns of an account that a change of its plan can set. `before` and `after` of a change have them. */
export const RECORDED_COLUMNS = [
  ...TERM_COLUMNS,
  'payplan_id',
  'total_minor',
  'run_from',
  'run_before_minor',
  'restructured_kind',
  'restructured_on',
] as const satisfies (keyof Row<'accounts'>)[];

export type RecordedTerms = Pick<Row<'accounts'>, (typeof RECORDED_COLUMNS)[number]>;

export function recordedTermsOf(account: RecordedTerms): RecordedTerms {
  return Object.fromEntries(RECORDED_COLUMNS.map((column) => [column, account[column]])) as RecordedTerms;
}

export function termsOf(row: TermColumns): Terms {
  return {
    depositMinor: BigInt(row.deposit_minor),
    instalmentMinor: BigInt(row.instalment_minor),
    instalmentCount: row.instalment_count,
    frequency: row.frequency,
    graceDays: row.grace_days,
    activationDate: row.activation_date,
    runs: readRuns(row),
  };
}

/** The values of `TERM_COLUMNS`. */
export function termColumns(terms: Terms) {
  return {
    deposit_minor: Number(terms.depositMinor),
    instalment_minor: Number(terms.instalmentMinor),
    instalment_count: terms.instalmentCount,
    frequency: terms.frequency,
    grace_days: terms.graceDays,
    activation_date: terms.activationDate,
    ...runColumns(terms),
  };
}

function readRuns(row: TermColumns): Run[] | undefined {
  const { run_anchor: anchors, run_unit: units, run_every: periods, run_place: places } = row;
  const { run_count: counts, run_amount_minor: amounts } = row;
  return anchors?.map((anchor, i) => {
    const amount = amounts?.[i];
    // Each run has one due, see `shownColumn`.
    if (counts === null && amount !== undefined)
      return singleRun({ date: anchor, amountMinor: BigInt(amount) });
    const unit = units?.[i];
    const every = periods?.[i];
    const place = places?.[i];
    const count = counts?.[i];
    if (every === undefined || place === undefined || count === undefined || amount === undefined)
      throw new Error(`Run ${i + 1} of an account lacks a value. Run npm run verify.`);
    if (unit !== 'day' && unit !== 'month')
      throw new Error(`Run ${i + 1} of an account has the unit ${unit}. Run npm run verify.`);
    return { anchor, unit, every, place, count, amountMinor: BigInt(amount) };
  });
}

/**
 * The terms of an account with this deposit and these runs.
 * @param account - with no runs, the amount of its instalments is kept, and their number is 0.
 */
export function termsOfRuns(
  account: Pick<Terms, 'depositMinor' | 'instalmentMinor' | 'frequency' | 'graceDays' | 'activationDate'>,
  runs: readonly Run[],
): Terms {
  const { depositMinor, frequency, graceDays, activationDate } = account;
  const terms = {
    ...{ depositMinor, frequency, graceDays, activationDate },
    instalmentMinor: runs[0]?.amountMinor ?? account.instalmentMinor,
    instalmentCount: runs.reduce((sum, { count }) => sum + count, 0),
  };
  return runs.length === 0 || areEqualInstalments(runs, terms) ? terms : { ...terms, runs };
}

/** Whether the instalments are equal, and begin one period after the activation date. */
export function hasEqualInstalments({ runs }: Terms): boolean {
  return runs === undefined;
}

/** How often instalments fall due. */
export interface Rhythm {
  frequency: Frequency | 'yearly';
  /** The number of days, weeks, months or years from one instalment to the next. */
  every: number;
  /** For `yearly`: the days of the year, in the order of the first instalments. Otherwise empty. */
  days: { month: number; day: number }[];
}

/** The rhythm of the last instalments. Null if they have none. */
export function rhythmOf(terms: Terms): Rhythm | null {
  if (terms.runs === undefined) return { frequency: terms.frequency, every: 1, days: [] };
  const last = terms.runs.findLast(({ count }) => count > 1);
  if (last) return rhythmOfRun(last);
  // As numbers, because lists show the rhythm of each account.
  const dates: number[] = [];
  for (const run of terms.runs) if (run.count > 0) dates.push(dateNumber(dateInRun(run, 0)));
  const known = new Set(dates);
  for (const date of dates) {
    const usual = date % YEAR === LEAP_DAY ? date - 1 : date;
    if (!known.has(usual + YEAR) && !known.has(usual - YEAR)) return null;
  }
  return dates.length > 1 ? { frequency: 'yearly', every: 1, days: daysOfYear(dates) } : null;
}

/** A year and 29 February in the numbers of `dateNumber`. */
const [YEAR, LEAP_DAY] = [10_000, 229];

function rhythmOfRun({ anchor, unit, every }: Run): Rhythm {
  if (unit === 'month' && every % 12 === 0)
    return { frequency: 'yearly', every: every / 12, days: daysOfYear([dateNumber(anchor)]) };
  if (unit === 'month') return { frequency: 'monthly', every, days: [] };
  return every % 7 === 0
    ? { frequency: 'weekly', every: every / 7, days: [] }
    : { frequency: 'daily', every, days: [] };
}

/** @param dates - as numbers. */
function daysOfYear(dates: readonly number[]): Rhythm['days'] {
  const days = new Set(dates.map((date) => date % YEAR));
  return [...days].map((day) => ({ month: Math.floor(day / 100), day: day % 100 }));
}

/** The columns of a schedule that is stored as runs, which are null if it is not. A trigger computes the other columns of runs. */
export function runColumns({ runs }: Pick<Terms, 'runs'>) {
  const of = <T>(read: (run: Run) => T): T[] | null => runs?.map(read) ?? null;
  return {
    run_anchor: of(({ anchor }) => anchor),
    run_unit: of(({ unit }) => unit),
    run_every: of(({ every }) => every),
    run_place: of(({ place }) => place),
    run_count: of(({ count }) => count),
    run_amount_minor: of(({ amountMinor }) => Number(amountMinor)),
  };
}

/** The columns of all runs of a schedule, also of one that an account does not store as runs. */
export function storedRuns(terms: Terms) {
  const runs = runsOf(terms).filter(({ count }) => count > 0);
  return {
    run_from: runs.map((run) => dateInRun(run, 0)),
    run_anchor: runs.map(({ anchor }) => anchor),
    run_unit: runs.map(({ unit }): string => unit),
    run_every: runs.map(({ every }) => every),
    run_place: runs.map(({ place }) => place),
    run_count: runs.map(({ count }) => count),
    run_amount_minor: runs.map(({ amountMinor }) => Number(amountMinor)),
    run_before_minor: runs.map(({ beforeMinor }) => Number(beforeMinor)),
  };
}

interface PlacedRun extends Run {
  /** The item that is the first due of the run. */
  firstItem: number;
  /** The sum of all items before the run. */
  beforeMinor: Minor;
}

function placedRuns(depositMinor: Minor, runs: readonly Run[]): PlacedRun[] {
  let firstItem = 1;
  let beforeMinor = depositMinor;
  return runs.map((run) => {
    const placed = { ...run, firstItem, beforeMinor };
    firstItem += run.count;
    beforeMinor += BigInt(run.count) * run.amountMinor;
    return placed;
  });
}

/** The instalments as runs, also if all are equal. */
export function instalmentRuns(terms: Terms): readonly Run[] {
  return terms.runs ?? [equalInstalments(terms)];
}

/** The runs with their first and last dates. */
export function datedRuns(terms: Terms) {
  return instalmentRuns(terms)
    .filter(({ count }) => count > 0)
    .map((run) => ({
      count: run.count,
      amountMinor: run.amountMinor,
      first: dateInRun(run, 0),
      last: dateInRun(run, run.count - 1),
    }));
}

/** The instalments, without those of 0. */
export function duesOf(terms: Terms): Run[] {
  return instalmentRuns(terms).filter(isAboveZero);
}

export function isAboveZero({ count, amountMinor }: Run): boolean {
  return count > 0 && amountMinor > 0n;
}

/** The instalments without a sum, which is cut off the last ones. An instalment of 0 vanishes. */
export function cutOff(runs: readonly Run[], sumMinor: Minor): Run[] {
  const kept = [...runs];
  let leftMinor = sumMinor;
  while (leftMinor > 0n) {
    const run = kept.pop();
    if (!run) throw new Error(`The instalments are lower than the ${sumMinor} to cut off.`);
    const runMinor = BigInt(run.count) * run.amountMinor;
    const restMinor = maxMinor(runMinor - leftMinor, 0n);
    leftMinor -= runMinor - restMinor;
    kept.push(...runsOfAmounts([run], instalmentsOf(restMinor, run.amountMinor)));
    if (restMinor > 0n) break;
  }
  return kept;
}

/** The terms at a lower price: the sum is cut off the last instalments. */
export function withLowerPrice(terms: Terms, byMinor: Minor): Terms {
  return termsOfRuns(terms, joinRuns(cutOff(duesOf(terms), byMinor)));
}

/** Neighbours of one amount at neighbouring places of one rhythm become one run. */
export function joinRuns(runs: readonly Run[]): Run[] {
  const all: Run[] = [];
  for (const run of runs) {
    const before = all.at(-1);
    const continues = before && haveSameRhythm(before, run) && before.place + before.count === run.place;
    if (continues && before.amountMinor === run.amountMinor)
      all[all.length - 1] = { ...before, count: before.count + run.count };
    else all.push(run);
  }
  return all;
}

export function haveSameRhythm(a: Run, b: Run): boolean {
  return a.anchor === b.anchor && a.unit === b.unit && a.every === b.every;
}

/** Undefined if there are no instalments. */
export function firstInstalmentDate(terms: Terms): PlainDate | undefined {
  return datedRuns(terms)[0]?.first;
}

/** The number of instalments on or after a date. */
export function instalmentsFrom(terms: Terms, date: PlainDate): number {
  return itemCount(terms) - Math.max(1, itemsBy(terms, addDays(date, -1)));
}

/** The date of the first instalment on or after a date. Undefined if there is none. */
export function instalmentDateFrom(terms: Terms, date: PlainDate): PlainDate | undefined {
  const next = Math.max(1, itemsBy(terms, addDays(date, -1)));
  return next < itemCount(terms) ? itemOf(terms, next).date : undefined;
}

function runsOf(terms: Terms): PlacedRun[] {
  return placedRuns(terms.depositMinor, instalmentRuns(terms));
}

export interface ScheduledItem {
  /** 0 for the deposit, k for instalment k. */
  index: number;
  date: PlainDate;
  amountMinor: Minor;
}

interface OpenItem {
  /** 0 for the deposit, k for instalment k. */
  index: number;
  date: PlainDate;
  /** The unpaid part of this item, > 0. */
  remainderMinor: Minor;
}

/** The state of an account is the first of these whose condition holds. The comment of `position` lists the conditions. */
export const paymentStates = [
  'paid_off',
  'closed',
  'not_due',
  'late',
  'in_grace',
  'paid_ahead',
  'current',
] as const;
export type PaymentState = (typeof paymentStates)[number];

export interface Standing {
  /** The sum of the unreversed payments and credit moves. Can be negative, see `nextItem`. */
  paidMinor: Minor;
  /** The business day of the position. For a quote or a statement, it can differ from the current business day. */
  today: PlainDate;
  /** True for a cancelled or written-off account. No more items of such an account fall due. */
  closed: boolean;
  /** False while the account waits for its activation date. */
  activated: boolean;
}

export interface Position {
  paymentState: PaymentState;
  daysPastDue: number;
  /** The day before the next due date. Null if the deposit is not fully paid, if all is paid, or if the account is closed. */
  paidUntil: PlainDate | null;
  /** The date of the first item that is not fully paid, also if it is past. Null if all is paid, or if the account is closed. */
  nextDueDate: PlainDate | null;
  nextDueAmountMinor: Minor | null;
  arrearsMinor: Minor;
}

export interface ScheduledPayment {
  id: number;
  valueDate: PlainDate;
  /** >= 0 */
  amountMinor: Minor;
}

/** The part of a payment that is applied to one item. */
export interface Slice {
  paymentId: number;
  /** 0 for the deposit, k for instalment k. */
  item: number;
  /** > 0 */
  amountMinor: Minor;
}

interface Allocation {
  slices: Slice[];
  /** The part of the payments that exceeds the total. */
  creditMinor: Minor;
}

/** The sum of all items. */
export function totalOf(terms: Terms): Minor {
  return chargesOf(terms).chargedMinor;
}

/** The date of the last item. */
export function completionDate(terms: Terms): PlainDate {
  return itemOf(terms, itemCount(terms) - 1).date;
}

/** The whole amount of the first instalment that a sum paid does not fully cover. 0 if there is none. */
export function nextInstalment(terms: Terms, paidMinor: Minor): Minor {
  const next = nextItem(terms, maxMinor(paidMinor, terms.depositMinor));
  return next === undefined ? 0n : itemOf(terms, next.index).amountMinor;
}

/** The sum of all items dated on or before a date, in minor units; 0 before the activation date. */
export function dueBy(terms: Terms, date: PlainDate): Minor {
  const { sumMinor } = instalmentsBy(terms, date);
  return hasBegun(terms, date) ? terms.depositMinor + sumMinor : sumMinor;
}

function hasBegun({ activationDate }: Terms, date: PlainDate): boolean {
  return compareDates(date, activationDate) >= 0;
}

/** The instalments dated on or before a date, without the groups of `chargesOf`, because lists need only these two figures. */
function instalmentsBy(terms: Terms, date: PlainDate): { count: number; sumMinor: Minor } {
  let count = 0;
  let sumMinor = 0n;
  for (const run of instalmentRuns(terms)) {
    const dues = duesInRunBy(run, date);
    count += dues;
    sumMinor += BigInt(dues) * run.amountMinor;
    if (dues < run.count) break; // The dues of the next run are later.
  }
  return { count, sumMinor };
}

/** A deposit, and the instalments grouped by amount. */
export interface Charges {
  depositMinor: Minor;
  instalmentCount: number;
  /** The instalments by amount, each amount once, in the order of their first instalments. */
  instalments: { count: number; amountMinor: Minor }[];
  /** The sum of the instalments. */
  instalmentsMinor: Minor;
  /** The sum of the deposit and the instalments. */
  chargedMinor: Minor;
}

/** The items dated on or before a date; all items without a date. */
export function chargesOf(terms: Terms, date?: PlainDate): Charges {
  const depositMinor = date === undefined || hasBegun(terms, date) ? terms.depositMinor : 0n;
  const instalments: Charges['instalments'] = [];
  let instalmentCount = 0;
  let instalmentsMinor = 0n;
  for (const run of instalmentRuns(terms)) {
    const count = date === undefined ? run.count : duesInRunBy(run, date);
    if (count === 0) continue;
    instalmentCount += count;
    instalmentsMinor += BigInt(count) * run.amountMinor;
    const alike = instalments.find(({ amountMinor }) => amountMinor === run.amountMinor);
    if (alike) alike.count += count;
    else instalments.push({ count, amountMinor: run.amountMinor });
  }
  return {
    ...{ depositMinor, instalmentCount, instalments, instalmentsMinor },
    chargedMinor: depositMinor + instalmentsMinor,
  };
}

/** @param k - 0 for the deposit, else the number of an instalment. */
export function itemOf(terms: Terms, k: number): ScheduledItem {
  if (k === 0) return depositOf(terms);
  const run = runsOf(terms).find(({ firstItem, count }) => k >= firstItem && k < firstItem + count);
  if (!run || !Number.isInteger(k))
    throw new RangeError(`Item ${k} is not in a schedule of ${itemCount(terms) - 1} instalments.`);
  return dueOf(run, k);
}

function depositOf({ activationDate, depositMinor }: Terms): ScheduledItem {
  return { index: 0, date: activationDate, amountMinor: depositMinor };
}

function dueOf(run: PlacedRun, k: number): ScheduledItem {
  return { index: k, date: dateInRun(run, k - run.firstItem), amountMinor: run.amountMinor };
}

/** The items with the numbers from `first` to `end` - 1. */
function itemsFrom(terms: Terms, first: number, end: number): ScheduledItem[] {
  const items = first === 0 && end > 0 ? [depositOf(terms)] : [];
  for (const run of runsOf(terms)) {
    const runEnd = Math.min(end, run.firstItem + run.count);
    for (let k = Math.max(first, run.firstItem); k < runEnd; k++) items.push(dueOf(run, k));
  }
  return items;
}

/** The number of items, including the deposit. */
export function itemCount(terms: Terms): number {
  return 1 + chargesOf(terms).instalmentCount;
}

/** The items of a period, both days included. A deposit of 0 is left out. */
export function itemsWithin(terms: Terms, { from, to }: { from: PlainDate; to: PlainDate }): ScheduledItem[] {
  const first = Math.max(terms.depositMinor === 0n ? 1 : 0, itemsBy(terms, addDays(from, -1)));
  return itemsFrom(terms, first, itemsBy(terms, to));
}

/** The number of items that a sum paid covers, including the deposit. */
export function itemsCovered(terms: Terms, paidMinor: Minor): number {
  return nextItem(terms, paidMinor)?.index ?? itemCount(terms);
}

/** The part of a sum paid that covers only a part of the next item. */
export function partOfNextItem(terms: Terms, paidMinor: Minor): Minor {
  const next = nextItem(terms, paidMinor);
  return next === undefined ? 0n : itemOf(terms, next.index).amountMinor - next.remainderMinor;
}

/** The number of items dated on or before a date, including the deposit. */
export function itemsBy(terms: Terms, date: PlainDate): number {
  return hasBegun(terms, date) ? 1 + instalmentsBy(terms, date).count : 0;
}

/**
 * The first item that the sum paid does not fully cover. An item of 0, such as a deposit of 0, counts as covered. If a payment
 * was reversed after its credit had been transferred or refunded, the sum paid can be negative. The missing amount is then part of
 * the deposit, even if the deposit is 0. Example: with a deposit of 0 and a sum paid of -30, the result is the deposit, with a
 * remainder of 30.
 *
 * @returns undefined if all is paid.
 */
export function nextItem(terms: Terms, paidMinor: Minor): OpenItem | undefined {
  if (paidMinor < terms.depositMinor)
    return { index: 0, date: terms.activationDate, remainderMinor: terms.depositMinor - paidMinor };
  let firstItem = 1;
  let towardsRun = paidMinor - terms.depositMinor;
  for (const run of instalmentRuns(terms)) {
    const runMinor = BigInt(run.count) * run.amountMinor;
    if (towardsRun < runMinor) {
      const paidDues = Number(towardsRun / run.amountMinor);
      const remainderMinor = run.amountMinor - (towardsRun % run.amountMinor);
      return { index: firstItem + paidDues, date: dateInRun(run, paidDues), remainderMinor };
    }
    firstItem += run.count;
    towardsRun -= runMinor;
  }
  return undefined;
}

/** The value that a trigger gives to the column `next_due_date` for a paid amount, unless the account is closed. */
export function nextDueDate(account: TermColumns, paidMinor: number): PlainDate | null {
  return nextItem(termsOf(account), BigInt(paidMinor))?.date ?? null;
}

/**
 * The position of an account on a day. With paid = `standing.paidMinor`, due(D) = the sum of all items dated <= D, and next = the
 * first item that is not fully paid:
 *
 * - arrears = max(0, due(today) - paid); daysPastDue = max(0, today - date of next)
 * - On closed accounts and before activation, arrears and daysPastDue are 0.
 * - paymentState is the first that holds: paid_off; closed; not_due (before the activation date, or not activated); late
 *   (daysPastDue > graceDays); in_grace (daysPastDue > 0); paid_ahead (the first item dated after today is fully paid); current.
 */
export function position(terms: Terms, standing: Standing): Position {
  const { paidMinor, today, closed, activated } = standing;
  const next = nextItem(terms, paidMinor);
  if (next === undefined) {
    return {
      paymentState: 'paid_off',
      daysPastDue: 0,
      paidUntil: null,
      nextDueDate: null,
      nextDueAmountMinor: null,
      arrearsMinor: 0n,
    };
  }
  const isBegun = activated && hasBegun(terms, today);
  const isOwing = isBegun && !closed;
  const daysLate = isOwing ? daysPastDue(next.date, today) : 0;
  // All items before the next are paid, so nothing is in arrears if the next is dated later.
  const isInArrears = isOwing && compareDates(next.date, today) <= 0;
  return {
    paymentState: closed ? 'closed' : isBegun ? lateness(terms, today, next, daysLate) : 'not_due',
    daysPastDue: daysLate,
    paidUntil: closed || next.index === 0 ? null : addDays(next.date, -1),
    nextDueDate: closed ? null : next.date,
    nextDueAmountMinor: closed ? null : next.remainderMinor,
    arrearsMinor: isInArrears ? dueBy(terms, today) - paidMinor : 0n,
  };
}

/** The days since the next due date. @param nextDueDate - null if every item is paid, or if the account is closed. */
export function daysPastDue(nextDueDate: PlainDate | null, day: PlainDate): number {
  return nextDueDate === null ? 0 : Math.max(0, daysBetween(nextDueDate, day));
}

/**
 * The last day before automatic suspension. Null if there is no next due date. The days of grace start again on `reprieved_on`,
 * the day on which staff last made the account active. The restart does not change the account's payment state, which can still
 * be `late`.
 */
export function lastDayOfGrace({
  next_due_date: dueOn,
  reprieved_on: restartedOn,
  grace_days: days,
}: Pick<Row<'accounts'>, 'next_due_date' | 'reprieved_on' | 'grace_days'>): PlainDate | null {
  return dueOn === null ? null : addDays(restartedOn === null ? dueOn : later(dueOn, restartedOn), days);
}

export function isBeyondGrace(account: Parameters<typeof lastDayOfGrace>[0], day: PlainDate): boolean {
  const last = lastDayOfGrace(account);
  return last !== null && compareDates(last, day) < 0;
}

/** The state of an item is the first of these whose condition holds. The comment of `scheduleItems` lists the conditions. */
export const itemStates = ['paid', 'not_owed', 'overdue', 'due', 'partly_paid', 'upcoming'] as const;
type ItemState = (typeof itemStates)[number];

export interface ScheduleItem extends ScheduledItem {
  /** The paid part of the item. For the deposit it is negative if the paid amount of the account is negative. */
  paidMinor: Minor;
  state: ItemState;
}

/**
 * All items of a schedule, each with its paid part and its state. The state is the first that holds: paid; not_owed (the account
 * is closed); overdue (dated before today); due (dated today); partly_paid; upcoming. Before activation no item is overdue or
 * due. A deposit of 0 is in the list only if the sum paid is negative.
 */
export function scheduleItems(terms: Terms, standing: Standing): ScheduleItem[] {
  const { paidMinor, today, closed, activated } = standing;
  const items: ScheduleItem[] = [];
  let leftMinor = paidMinor;
  for (const { index, date, amountMinor } of itemsFrom(terms, 0, itemCount(terms))) {
    const ownMinor = minMinor(leftMinor, amountMinor);
    // A negative sum reduces only the paid part of the deposit.
    leftMinor = maxMinor(leftMinor - ownMinor, 0n);
    if (amountMinor === 0n && ownMinor === 0n) continue;
    const state = stateOf({ amountMinor, paidMinor: ownMinor, daysLeft: daysBetween(today, date) });
    items.push({ index, date, amountMinor, paidMinor: ownMinor, state });
  }
  return items;

  function stateOf(item: { amountMinor: Minor; paidMinor: Minor; daysLeft: number }): ItemState {
    if (item.paidMinor >= item.amountMinor) return 'paid';
    if (closed) return 'not_owed';
    if (activated && item.daysLeft < 0) return 'overdue';
    if (activated && item.daysLeft === 0) return 'due';
    return item.paidMinor > 0n ? 'partly_paid' : 'upcoming';
  }
}

/** Neighbouring instalments of one state, all paid, all unpaid, or one item that is paid in part. */
export interface ScheduleRun {
  first: ScheduleItem;
  last: ScheduleItem;
  /** The sums of the items. */
  amountMinor: Minor;
  paidMinor: Minor;
  state: ItemState;
}

/** Folds all items into runs, in the order of items. The deposit is a run of its own. */
export function scheduleRuns(items: readonly ScheduleItem[]): ScheduleRun[] {
  const runs: ScheduleRun[] = [];
  for (const item of items) {
    const run = runs.at(-1);
    if (run && continuesRun(run.last, item)) {
      run.last = item;
      run.amountMinor += item.amountMinor;
      run.paidMinor += item.paidMinor;
    } else {
      const { amountMinor, paidMinor, state } = item;
      runs.push({ first: item, last: item, amountMinor, paidMinor, state });
    }
  }
  return runs;
}

function continuesRun(last: ScheduleItem, item: ScheduleItem): boolean {
  const isPartlyPaid = ({ state, paidMinor }: ScheduleItem) => state !== 'paid' && paidMinor !== 0n;
  return last.index > 0 && last.state === item.state && !isPartlyPaid(last) && !isPartlyPaid(item);
}

/**
 * Allocates the payments, in the order of value date and id, to the items of the schedule. The slices are in this order, too.
 * The slices add up to the sum of the payments, but at most to the total. The rest of the payments is credit.
 *
 * @param payments - all unreversed payments of the account, in any order.
 * @throws RangeError for a negative amount.
 */
export function allocate(terms: Terms, payments: readonly ScheduledPayment[]): Allocation {
  const inOrder = payments.toSorted((a, b) => compareDates(a.valueDate, b.valueDate) || a.id - b.id);
  const slices: Slice[] = [];
  let paidMinor = 0n;
  for (const payment of inOrder) {
    let left = payment.amountMinor;
    if (left < 0n) throw new RangeError(`The amount ${left} of payment ${payment.id} is negative.`);
    while (left > 0n) {
      const next = nextItem(terms, paidMinor);
      if (next === undefined) break;
      const amountMinor = minMinor(left, next.remainderMinor);
      slices.push({ paymentId: payment.id, item: next.index, amountMinor });
      paidMinor += amountMinor;
      left -= amountMinor;
    }
  }
  const receivedMinor = payments.reduce((sum, payment) => sum + payment.amountMinor, 0n);
  return { slices, creditMinor: receivedMinor - paidMinor };
}

function lateness(terms: Terms, today: PlainDate, next: OpenItem, daysLate: number): PaymentState {
  if (daysLate > terms.graceDays) return 'late';
  if (daysLate > 0) return 'in_grace';
  // `itemsBy` is the index of the first instalment after today. If there is no such instalment, `next.index` is smaller than this
  // index, and the state is `current`.
  return next.index > itemsBy(terms, today) ? 'paid_ahead' : 'current';
}
