import { dateInRun, type Run, type SingleDue } from '../../catalogue/pay-plans/rules.ts';
import type { PlanChangeKind } from '../../core/database/tables.ts';
import { compareDates, type PlainDate } from '../../core/values/dates.ts';
import type { Minor } from '../../core/values/money.ts';
import { duesOf, type Terms, termsOfRuns, totalOf } from '../schedule/rules.ts';
import { addDues, splitAfter, sumOf } from './rules.ts';

/** A change of an account that is not undone, and that undoes none. */
export interface ChangeInEffect {
  kind: PlanChangeKind;
  before: Terms;
  after: Terms;
}

export interface OriginalTerms {
  /** Undefined if they are the present terms. */
  terms: Terms | undefined;
  /** The sum of the price corrections and payoffs, <= 0. */
  correctedMinor: Minor;
}

/**
 * The terms by which the lateness of an account is shown beside its present terms, so that a change cannot hide it: the first schedule and
 * the price rises. They begin again with a sale correction, because the sale was never meant otherwise. Those of an imported account
 * are the terms that it was imported with.
 *
 * @param changes - in their order.
 */
export function originalTerms(changes: readonly ChangeInEffect[]): OriginalTerms {
  const begin = changes.findLastIndex(({ kind }) => kind === 'sale_correction' || kind === 'imported');
  const sinceSale = changes.slice(begin + 1);
  const [first] = sinceSale;
  if (!first || sinceSale.every(({ kind }) => kind === 'price_rise'))
    return { terms: undefined, correctedMinor: 0n };
  const rises = sinceSale.filter(({ kind }) => kind === 'price_rise');
  const corrections = sinceSale.filter(({ kind }) => kind === 'price_correction' || kind === 'payoff');
  return {
    terms: rises.reduce((terms, rise) => termsOfRuns(terms, withRise(duesOf(terms), rise)), first.before),
    correctedMinor: corrections.reduce(
      (sum, { before, after }) => sum + totalOf(after) - totalOf(before),
      0n,
    ),
  };
}

/** The instalments of the original terms and those that a rise has added to the schedule of its day. */
function withRise(original: readonly Run[], { before, after }: ChangeInEffect): Run[] {
  const end = lastDateOf(duesOf(before)) ?? before.activationDate;
  const [, later] = splitAfter(duesOf(after), end);
  const isAppended = sumOf(later) === totalOf(after) - totalOf(before);
  const [first] = later;
  const originalEnd = lastDateOf(original);
  const isAfterOriginal = first && (!originalEnd || compareDates(dateInRun(first, 0), originalEnd) > 0);
  return isAppended && isAfterOriginal
    ? [...original, ...later]
    : addDues(original, addedDues(before, after));
}

function addedDues(before: Terms, after: Terms): SingleDue[] {
  const had = new Map(allDues(before).map(({ date, amountMinor }) => [date, amountMinor]));
  return allDues(after)
    .map(({ date, amountMinor }) => ({ date, amountMinor: amountMinor - (had.get(date) ?? (0n as Minor)) }))
    .filter(({ amountMinor }) => amountMinor > 0n);
}

function allDues(terms: Terms): SingleDue[] {
  return duesOf(terms).flatMap((run) =>
    Array.from({ length: run.count }, (_, j) => ({ date: dateInRun(run, j), amountMinor: run.amountMinor })),
  );
}

function lastDateOf(runs: readonly Run[]): PlainDate | undefined {
  const last = runs.at(-1);
  return last && dateInRun(last, last.count - 1);
}
