import {
  addDays,
  earlier,
  firstOfMonth,
  lastOfMonth,
  later,
  type PlainDate,
} from '../../core/values/dates.ts';
import type { Minor } from '../../core/values/money.ts';
import { coveredBy } from './allocation-rules.ts';
import type { Row, StatementFigures, StatementPeriod } from './rules.ts';

// The lines of a printed statement. Each row of the statement is in exactly one line, and a line has the sums of its rows. So the
// lines add up like the rows. A short statement is one or two pages:
//
// 1. Instalments without another row between them are one line, if all are paid or all are open. Every other row is a line.
// 2. If there are more than MAX_SHORT_LINES lines, the instalments of a month are one line, and so are the payments of a month.
// 3. If there are still more, the statement begins later, on the first day of a month.
//
// A statement with every payment stops after step 1.

/** The number of lines for which a statement is one or two pages. */
export const MAX_SHORT_LINES = 34;

export interface Line {
  /** In the order of the statement. All are of the same type. */
  rows: readonly [Row, ...Row[]];
  dueMinor: Minor;
  chargedMinor: Minor;
  paidMinor: Minor;
  /** The balances after the last row. Null if earlier rows are in a later line: the account never had balances of this line. */
  after: StatementFigures | null;
}

/** Every payment is a line of its own. */
export function fullLines(rows: readonly Row[]): Line[] {
  const groups: [Row, ...Row[]][] = [];
  for (const row of rows) {
    const group = groups.at(-1);
    const last = group?.at(-1);
    if (last && isRun(last, row)) group?.push(row);
    else groups.push([row]);
  }
  return groups.map((group) => lineOf(group, true));
}

/** As few lines as possible, without leaving out a row. */
export function shortLines(rows: readonly Row[]): Line[] {
  const full = fullLines(rows);
  if (full.length <= MAX_SHORT_LINES) return full;
  const monthly = monthlyLines(rows);
  return monthly.length < full.length ? monthly : full;
}

/** The first day of a short statement: that of the period, or the first day of a later month if there are too many lines. */
export function shortFrom(rows: readonly Row[], { from, to }: StatementPeriod): PlainDate {
  const lines = shortLines(rows);
  const lastLeftOut = lines.at(-MAX_SHORT_LINES - 1)?.rows.at(-1);
  if (!lastLeftOut) return from;
  const nextMonth = addDays(lastOfMonth(lastLeftOut.date), 1);
  return later(from, earlier(nextMonth, firstOfMonth(to)));
}

/**
 * Folds the rows between two events, such as the opening or a reversal. In each month, the instalments are one line, the payments are
 * one line, and so are the recoveries. Months without a payment continue the line of instalments.
 */
function monthlyLines(rows: readonly Row[]): Line[] {
  const lines: Line[] = [];
  let stretch: Row[] = [];
  for (const row of rows) {
    const last = stretch.at(-1);
    if (last && !continues(stretch, last, row)) end();
    stretch.push(row);
  }
  end();
  return lines;

  function end(): void {
    const groups = FOLDED.map((type) => stretch.filter((row) => row.type === type)).filter(isFilled);
    const [first] = stretch;
    if (first && !isFolded(first)) lines.push(lineOf([first], true));
    else lines.push(...groups.map((group, at) => lineOf(group, at === groups.length - 1, stretch.at(-1))));
    stretch = [];
  }
}

const FOLDED = ['instalment', 'payment', 'recovery'] as const;

/** A reversed payment is not folded: it does not count. */
function isFolded({ type, money }: Row): boolean {
  return FOLDED.some((folded) => folded === type) && !money?.reversedOn;
}

function continues(stretch: readonly Row[], last: Row, row: Row): boolean {
  if (!isFolded(last) || !isFolded(row)) return false;
  const isSameMonth = firstOfMonth(last.date) === firstOfMonth(row.date);
  return isSameMonth || stretch.every(({ type }) => type === 'instalment');
}

function isFilled(rows: Row[]): rows is [Row, ...Row[]] {
  return rows.length > 0;
}

function lineOf(rows: readonly [Row, ...Row[]], hasBalances: boolean, last = rows.at(-1) ?? rows[0]): Line {
  const sum = (of: 'dueMinor' | 'chargedMinor' | 'paidMinor') => rows.reduce((all, row) => all + row[of], 0n);
  const { dueSoFarMinor, owedInTotalMinor } = last;
  return {
    rows,
    dueMinor: sum('dueMinor'),
    chargedMinor: sum('chargedMinor'),
    paidMinor: sum('paidMinor'),
    after: hasBalances ? { dueSoFarMinor, owedInTotalMinor } : null,
  };
}

function isRun(last: Row, row: Row): boolean {
  const state = stateOf(last);
  return (
    last.type === 'instalment' &&
    row.type === 'instalment' &&
    last.amountMinor === row.amountMinor &&
    state !== 'partly' &&
    state === stateOf(row)
  );
}

function stateOf({ covers, amountMinor }: Row): 'open' | 'partly' | 'paid' {
  if (covers.length === 0) return 'open';
  return coveredBy(covers) === amountMinor ? 'paid' : 'partly';
}
