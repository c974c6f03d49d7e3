import type { ChangedInstalments } from '../../accounts/plan-changes/outcome-rules.ts';
import {
  dueBy,
  itemsWithin,
  type Position,
  position,
  type ScheduledItem,
  type Terms,
  totalOf,
} from '../../accounts/schedule/rules.ts';
import type { PlanChangeKind } from '../../core/database/tables.ts';
import { invalid, invalidField } from '../../core/http/errors.ts';
import { addDays, compareDates, earlier, type PlainDate } from '../../core/values/dates.ts';
import { type Minor, maxMinor, minMinor } from '../../core/values/money.ts';
import {
  allocationOf,
  type Cover,
  compareMoney,
  coveredBy,
  isOut,
  type MoneyMove,
  signed,
  sumOf,
} from './allocation-rules.ts';

// A statement has two balances. `dueSoFar` is the sum that has fallen due and is not paid. It is negative if the customer has paid
// ahead. `owedInTotal` is the unpaid part of the whole price. It is negative if the customer has credit. Each row adds `due` to
// `dueSoFar` and `charged` to `owedInTotal`, and subtracts `paid` from both. So opening + due - paid = closing for `dueSoFar`, and
// opening + charged - paid = closing for `owedInTotal`.

/** The maximum number of rows of one statement. Clients can request several shorter periods. */
export const MAX_ROWS = 5_000;
/** The maximum number of lines of a printed statement. This limit is lower, because documents are printed one at a time. */
export const MAX_PRINTED_LINES = 1_000;
/** The maximum number of payments, and of credit moves, that one statement reads. */
export const MAX_PAYMENTS = 50_000;
/** The maximum number of payments, and of credit moves, that the page of an account reads to show what the latest of them cover. */
export const MAX_COVERAGE = 2_000;

/** Business days, both included. */
export interface StatementPeriod {
  from: PlainDate;
  to: PlainDate;
}

export const ROW_TYPES = [
  'opened',
  'deposit',
  'instalment',
  'plan_change',
  'payment',
  'transfer_in',
  'transfer_out',
  'refund',
  'reversal',
  'cancelled',
  'written_off',
  'recovery',
] as const;
type RowType = (typeof ROW_TYPES)[number];

/** The opening, the cancellation or the write-off of the account. */
export interface AccountEvent {
  type: 'opened' | 'cancelled' | 'written_off';
  date: PlainDate;
  /** The amount sold, cancelled or written off. */
  amountMinor: Minor;
  ledgerEventId: number;
}

/** A change of the terms of the account. */
export interface TermsChange {
  id: number;
  kind: PlanChangeKind;
  /** The first day with the new terms. */
  date: PlainDate;
  reason: string | null;
  before: Terms;
  after: Terms;
  /** For a deferral: the instalments that it moved. For a revision: those that it made. */
  instalments?: ChangedInstalments | null;
}

export interface StatementFigures {
  dueSoFarMinor: Minor;
  owedInTotalMinor: Minor;
}

export interface Row extends StatementFigures {
  type: RowType;
  date: PlainDate;
  /** The amount of the item, payment or event. A reversed payment and its reversal do not change the balances. */
  amountMinor: Minor;
  dueMinor: Minor;
  chargedMinor: Minor;
  paidMinor: Minor;
  /** 0 for the deposit, the number of an instalment, null for other rows. */
  item: number | null;
  /** For a payment or transfer: the items that it covers. For an item: the payments and transfers that cover it. */
  covers: Cover[];
  /** The part of a payment or transfer that covers no item. */
  creditMinor: Minor;
  money: MoneyMove | null;
  event: AccountEvent | null;
  change: TermsChange | null;
  /** The terms of `item`, or of the items in `covers`. Others have the terms at the end of the period. */
  terms: Terms;
}

export interface Statement {
  opening: StatementFigures;
  rows: Row[];
  closing: StatementFigures;
  totals: { chargedMinor: Minor; dueMinor: Minor; paidMinor: Minor };
  /** The event that ended the account, if it ended in the period or before. */
  end: 'cancelled' | 'written_off' | null;
  /** The terms at the end of the period. */
  terms: Terms;
  /** The position at the end of the period. */
  position: Position;
  /** The unreversed payments and incoming transfers up to the end of the period, minus outgoing credit. */
  paidMinor: Minor;
  balanceMinor: Minor;
  creditMinor: Minor;
}

interface AccountHistory {
  /** The present terms. */
  terms: Terms;
  /** All changes of the terms, in their order. */
  changes?: readonly TermsChange[];
  /** Whether the account is activated at the end of the period. */
  activated: boolean;
  events: readonly AccountEvent[];
  /** All money up to the end of the period, reversed payments included, in any order. */
  money: readonly MoneyMove[];
}

/**
 * Fills in the missing days of a period. `to` defaults to today. `from` defaults to the earlier of `firstDay` and `to`.
 * @throws AppError VALIDATION_ERROR if the period ends before it starts.
 */
export function readStatementPeriod(
  given: Partial<StatementPeriod>,
  today: PlainDate,
  firstDay: PlainDate,
): StatementPeriod {
  const to = given.to ?? today;
  const from = given.from ?? earlier(firstDay, to);
  if (compareDates(from, to) > 0) throw invalidField('from', `must not be later than the field "to" (${to})`);
  return { from, to };
}

/**
 * Makes the statement of an account for a period. A payment counts on its payment date, not on the day of recording. A reversed
 * payment never counts. Only payments dated up to the end of the period are allocated.
 *
 * @throws AppError VALIDATION_ERROR for more than MAX_ROWS rows.
 */
export function statementOf(history: AccountHistory, period: StatementPeriod): Statement {
  const { from, to } = period;
  const known = knownBy(history, to);
  const items = known.activated ? itemsOf(known, { from, to: known.lastDay }) : [];
  refuseTooMany(items.length + known.money.filter(({ date }) => isWithin(period, date)).length);

  const opening = figuresAt(known, addDays(from, -1));
  const rows = rowsOf(known, entriesOf(known, items, period), opening, period);
  refuseTooMany(rows.length);

  const { activated, end, counted } = known;
  const terms = known.termsOn(to);
  const closing = figuresAt(known, to);
  const paidMinor = sumOf(counted);
  const owed = closing.owedInTotalMinor;
  return {
    opening,
    rows,
    closing,
    totals: {
      chargedMinor: rows.reduce((sum, row) => sum + row.chargedMinor, 0n),
      dueMinor: rows.reduce((sum, row) => sum + row.dueMinor, 0n),
      paidMinor: rows.reduce((sum, row) => sum + row.paidMinor, 0n),
    },
    end: end?.type ?? null,
    terms,
    position: position(terms, { paidMinor, today: to, closed: end !== undefined, activated }),
    paidMinor,
    balanceMinor: maxMinor(owed, 0n),
    creditMinor: maxMinor(-owed, 0n),
  };
}

/** Money, and the items that it covers. */
export interface CoveringMoney extends MoneyMove {
  covers: Cover[];
  creditMinor: Minor;
}

/** All money of an account, newest first, with what it covers. A reversed payment and outgoing credit cover nothing. */
export function coverageOf(terms: Terms, money: readonly MoneyMove[], isCancelled: boolean): CoveringMoney[] {
  const inOrder = money.toSorted(compareMoney);
  const counted = inOrder.filter(({ reversedOn }) => reversedOn === null);
  const { ofMoney } = allocationOf(terms, isCancelled ? [] : counted);
  return inOrder.reverse().map((one) => {
    const covers = ofMoney.get(one) ?? [];
    const isIncome = one.reversedOn === null && !isOut(one);
    return { ...one, covers, creditMinor: isIncome ? one.amountMinor - coveredBy(covers) : 0n };
  });
}

/** The history up to the end of a period, with derived values. */
function knownBy(history: AccountHistory, to: PlainDate) {
  const { terms, activated, changes = [] } = history;
  const original = changes[0]?.before ?? terms;
  const events = history.events.filter(({ date }) => compareDates(date, to) <= 0);
  const end = events.find(isEnd);
  const money = history.money.filter(({ date }) => compareDates(date, to) <= 0).sort(compareMoney);
  return {
    ...{ activated, events, end, money, original },
    changes: changes.filter(({ date }) => compareDates(date, to) <= 0),
    /** The terms at the end of a day. */
    termsOn: (day: PlainDate) =>
      changes.length === 0
        ? terms
        : (changes.findLast(({ date }) => compareDates(date, day) <= 0)?.after ?? original),
    counted: money.filter(({ reversedOn }) => reversedOn === null),
    reversed: history.money.filter(isReversed),
    /** The last day on which items can fall due. */
    lastDay: end === undefined ? to : earlier(end.date, to),
  };
}

type Known = ReturnType<typeof knownBy>;

interface Item extends ScheduledItem {
  terms: Terms;
}

/** The items that fall due in a period, each by the terms before the changes of its day. */
function itemsOf({ changes, termsOn }: Known, { from, to }: StatementPeriod): Item[] {
  const items: Item[] = [];
  let [start, terms] = [from, termsOn(addDays(from, -1))];
  const addUntil = (last: PlainDate) => {
    for (const item of itemsWithin(terms, { from: start, to: last })) items.push({ ...item, terms });
  };
  for (const { date, after } of changes) {
    if (compareDates(date, from) < 0 || compareDates(date, to) > 0) continue;
    addUntil(date);
    [start, terms] = [addDays(date, 1), after];
  }
  addUntil(to);
  return items;
}

/** The balances at the end of a day. */
function figuresAt({ activated, termsOn, events, end, counted }: Known, day: PlainDate): StatementFigures {
  const terms = termsOn(day);
  const total = totalOf(terms);
  const paid = sumOf(counted.filter(({ date }) => compareDates(date, day) <= 0));
  const isOpened = events.some(({ type, date }) => type === 'opened' && compareDates(date, day) <= 0);
  const ended = end !== undefined && compareDates(end.date, day) <= 0 ? end.type : undefined;
  const owed = isOpened && ended !== 'cancelled' ? total : 0n;
  // After a cancellation nothing is due. After a write-off only the paid part of the total counts as due.
  const dueAfterEnd = ended === 'written_off' ? minMinor(paid, total) : 0n;
  const due = ended === undefined ? (activated ? dueBy(terms, day) : 0n) : dueAfterEnd;
  return { dueSoFarMinor: due - paid, owedInTotalMinor: owed - paid };
}

/** The order of the entries of one day. See `isAfter` for `afterEnd`. */
const RANK = { opened: 0, item: 1, change: 2, money: 3, end: 4, afterEnd: 5, reversal: 6 };

interface Entry {
  date: PlainDate;
  rank: number;
  event?: AccountEvent;
  money?: MoneyMove;
  item?: Item;
  change?: TermsChange;
  reversal?: boolean;
}

/** The entries of the period, in the order of date and rank. */
function entriesOf(
  { events, end, money, reversed, changes }: Known,
  items: readonly Item[],
  period: StatementPeriod,
): Entry[] {
  const entries: Entry[] = [
    ...events.map((event) => ({ date: event.date, rank: event === end ? RANK.end : RANK.opened, event })),
    ...money.map((one) => ({
      date: one.date,
      rank: isAfter(one, end) ? RANK.afterEnd : RANK.money,
      money: one,
    })),
    ...reversed.map((one) => ({ date: one.reversedOn, rank: RANK.reversal, money: one, reversal: true })),
    ...items.map((item) => ({ date: item.date, rank: RANK.item, item })),
    ...changes.map((change) => ({ date: change.date, rank: RANK.change, change })),
  ];
  return entries
    .filter(({ date }) => isWithin(period, date))
    .sort((a, b) => compareDates(a.date, b.date) || a.rank - b.rank);
}

/** One row for each entry, with the balances after the entry. Money that recovers a written-off amount has a second row. */
function rowsOf(
  known: Known,
  entries: readonly Entry[],
  opening: StatementFigures,
  { from, to }: StatementPeriod,
): Row[] {
  const { activated, termsOn, end, counted } = known;
  const closingTerms = termsOn(to);
  // If the account is cancelled, no item is covered.
  const allocationBy = onceFor((terms: Terms) =>
    allocationOf(terms, end?.type === 'cancelled' ? [] : counted),
  );
  const rows: Row[] = [];
  let paid = sumOf(counted.filter(({ date }) => compareDates(date, from) < 0));
  let { dueSoFarMinor, owedInTotalMinor } = opening;
  let isWrittenOff = end?.type === 'written_off' && compareDates(end.date, from) < 0;

  for (const entry of entries) {
    if (entry.event) addEvent(entry.event);
    else if (entry.item) addItem(entry.item);
    else if (entry.change) addChange(entry.change);
    else if (entry.money && entry.reversal)
      add({ type: 'reversal', date: entry.date, amountMinor: entry.money.amountMinor, money: entry.money });
    else if (entry.money) addMoney(entry.money);
  }
  return rows;

  function addEvent(event: AccountEvent): void {
    const { type, date } = event;
    const common = { type, date, amountMinor: event.amountMinor, event };
    const terms = termsOn(date);
    const total = totalOf(terms);
    const due = activated ? dueBy(terms, date) : 0n;
    if (type === 'opened') add({ ...common, chargedMinor: totalOf(known.original) });
    else if (type === 'cancelled') add({ ...common, chargedMinor: -total, dueMinor: -due });
    else {
      isWrittenOff = true;
      add({ ...common, dueMinor: minMinor(paid, total) - due });
    }
  }

  function addItem({ index: item, date, amountMinor, terms }: Item): void {
    const type = item === 0 ? 'deposit' : 'instalment';
    const covers = allocationBy(terms).ofItem.get(item) ?? [];
    add({ type, date, amountMinor, dueMinor: amountMinor, item, covers, terms });
  }

  function addChange(change: TermsChange): void {
    const { date, before, after } = change;
    const chargedMinor = totalOf(after) - totalOf(before);
    const dueWith = (terms: Terms) =>
      isWrittenOff ? minMinor(paid, totalOf(terms)) : activated ? dueBy(terms, date) : 0n;
    const amountMinor = chargedMinor < 0n ? -chargedMinor : chargedMinor;
    add({
      ...{ type: 'plan_change', date, amountMinor, chargedMinor, change },
      dueMinor: dueWith(after) - dueWith(before),
    });
  }

  function addMoney(one: MoneyMove): void {
    const { type, date, amountMinor } = one;
    if (one.reversedOn !== null) {
      add({ type, date, amountMinor, money: one });
      return;
    }
    const paidMinor = signed(one);
    const total = totalOf(termsOn(date));
    const recovered = minMinor(paid + paidMinor, total) - minMinor(paid, total);
    paid += paidMinor;
    if (isOut(one)) {
      add({ type, date, amountMinor, paidMinor, dueMinor: isWrittenOff ? recovered : 0n, money: one });
      return;
    }
    const covers = allocationBy(closingTerms).ofMoney.get(one) ?? [];
    const creditMinor = amountMinor - coveredBy(covers);
    add({ type, date, amountMinor, paidMinor, covers, creditMinor, money: one });
    if (isWrittenOff && recovered > 0n) {
      add({ type: 'recovery', date, amountMinor: recovered, dueMinor: recovered, money: one });
    }
  }

  function add(row: Pick<Row, 'type' | 'date' | 'amountMinor'> & Partial<Row>): void {
    const { dueMinor = 0n, chargedMinor = 0n, paidMinor = 0n } = row;
    dueSoFarMinor += dueMinor - paidMinor;
    owedInTotalMinor += chargedMinor - paidMinor;
    rows.push({
      ...{ item: null, covers: [], creditMinor: 0n, money: null, event: null, change: null },
      terms: closingTerms,
      ...{ dueMinor, chargedMinor, paidMinor },
      ...row,
      ...{ dueSoFarMinor, owedInTotalMinor },
    });
  }
}

function onceFor<Key, Value>(make: (key: Key) => Value): (key: Key) => Value {
  const made = new Map<Key, Value>();
  return (key) => {
    const value = made.get(key) ?? make(key);
    made.set(key, value);
    return value;
  };
}

function isEnd(event: AccountEvent): event is AccountEvent & { type: 'cancelled' | 'written_off' } {
  return event.type !== 'opened';
}

function isReversed(money: MoneyMove): money is MoneyMove & { reversedOn: PlainDate } {
  return money.reversedOn !== null;
}

/** Whether the money has the date of the account's end, but was posted after the event that ended the account. */
function isAfter(money: MoneyMove, end: AccountEvent | undefined): boolean {
  return end?.date === money.date && (money.ledgerEventId ?? 0) > end.ledgerEventId;
}

function isWithin({ from, to }: StatementPeriod, date: PlainDate): boolean {
  return compareDates(from, date) <= 0 && compareDates(date, to) <= 0;
}

/** @throws AppError VALIDATION_ERROR if a statement has too many rows, or too many printed lines. */
export function refuseTooMany(rows: number, most = MAX_ROWS): void {
  if (rows <= most) return;
  const message = `a statement has at most ${most} rows; request a shorter period`;
  throw invalid([
    { path: 'from', message },
    { path: 'to', message },
  ]);
}
