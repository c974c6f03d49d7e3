import {
  dueBy,
  dueDate,
  itemMinor,
  itemsBy,
  type Position,
  position,
  type Terms,
  totalMinor,
} from '../accounts/schedule.ts';
import type { AccountStatus } from '../core/database/tables.ts';
import { invalid, invalidField } from '../core/http/errors.ts';
import { addDays, compareDates, type PlainDate } from '../core/values/dates.ts';
import { type Minor, minMinor } from '../core/values/money.ts';
import { type Cover, coverageOf, inOrder, isOut, type Money, signed, sumOf } from './coverage-rules.ts';

// A statement keeps two balances apart. `dueSoFar` is what has fallen due and is not paid: below 0 the customer
// has paid ahead. `owedInTotal` is what is not paid of the whole price: below 0 it is credit. Each row says by how
// much it raises the first (due) and the second (charged), and by how much it lowers both (paid), so that
// opening + due - paid = closing, and opening + charged - paid = closing.

/** The most rows of one statement; more are asked for in shorter periods. */
export const MAX_ROWS = 5_000;
/** On paper there are fewer, so that the printer is soon free for others. */
export const MAX_PRINTED_ROWS = 1_000;
/** The most payments of an account that one statement looks at. */
export const MAX_PAYMENTS = 50_000;

/** Business days, both included. */
export interface Period {
  from: PlainDate;
  to: PlainDate;
}

export const ROW_TYPES = [
  'opened',
  'deposit',
  'instalment',
  'payment',
  'transfer_in',
  'transfer_out',
  'refund',
  'reversal',
  'cancelled',
  'written_off',
  'recovery',
] as const;
export type RowType = (typeof ROW_TYPES)[number];

/** What changes the sum that is owed and is no payment; the ledger has an event of each. */
export interface AccountEvent {
  type: 'opened' | 'cancelled' | 'written_off';
  date: PlainDate;
  /** What was sold, undone or given up, as the ledger has it. */
  amountMinor: Minor;
  ledgerEventId: number;
  reason: string | null;
}

export interface Figures {
  dueSoFarMinor: Minor;
  owedInTotalMinor: Minor;
}

export interface Row extends Figures {
  type: RowType;
  date: PlainDate;
  /** What the row is about, whether or not it counts. */
  amountMinor: Minor;
  dueMinor: Minor;
  chargedMinor: Minor;
  paidMinor: Minor;
  /** Of a deposit or an instalment: 0 or its number. */
  item: number | null;
  /** Of a payment: the items that it covers. Of an item: the payments that cover it. */
  covers: Cover[];
  /** Of a payment: what of it is beyond the total. */
  creditMinor: Minor;
  money: Money | null;
  event: AccountEvent | null;
}

export interface Statement {
  opening: Figures;
  rows: Row[];
  closing: Figures;
  totals: { chargedMinor: Minor; dueMinor: Minor; paidMinor: Minor };
  /** How the account ended, if it did by the end of the period. */
  end: 'cancelled' | 'written_off' | null;
  /** Where the account stands at the end of the period. */
  at: Position;
  /** All that was paid by then, credit that left not counted. */
  paidMinor: Minor;
  balanceMinor: Minor;
  creditMinor: Minor;
}

interface AccountStory {
  terms: Terms;
  /** Whether the account has left the status pending by the end of the period. */
  activated: boolean;
  events: readonly AccountEvent[];
  /** All that came onto the account up to the end of the period, and what was reversed in it; in any order. */
  money: readonly Money[];
}

/**
 * The period that a statement was asked for.
 * @throws AppError VALIDATION_ERROR when it begins after its end.
 */
export function readPeriod(given: Partial<Period>, today: PlainDate, firstDay: PlainDate): Period {
  const to = given.to ?? today;
  const from = given.from ?? earlier(firstDay, to);
  if (compareDates(from, to) > 0) throw invalidField('from', `must not be after to (${to})`);
  return { from, to };
}

/**
 * What happened on an account in a period, as it is known now: a payment counts on its own day, whenever it was
 * recorded, and one that was reversed counts on none. What covers what is allocate's word for the payments dated
 * up to the end of the period. Takes time in proportion to the payments and the rows.
 *
 * @throws AppError VALIDATION_ERROR for more than MAX_ROWS rows.
 */
export function statementOf(story: AccountStory, period: Period): Statement {
  const { from, to } = period;
  const known = knownBy(story, to);
  const items = itemsWithin(known, period);
  refuseTooMany(items.length + known.money.filter(({ date }) => isWithin(period, date)).length);

  const opening = figuresAt(known, addDays(from, -1));
  const rows = rowsOf(known, entriesOf(known, items, period), opening, from);
  refuseTooMany(rows.length);

  const { terms, activated, end, counted } = known;
  const closing = figuresAt(known, to);
  const paidMinor = sumOf(counted);
  const over = closing.owedInTotalMinor;
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
    at: position(terms, { paidMinor, today: to, closed: end !== undefined, activated }),
    paidMinor,
    balanceMinor: over > 0n ? over : 0n,
    creditMinor: over < 0n ? -over : 0n,
  };
}

/** A story as far as the end of a period, and what follows from it. */
function knownBy(story: AccountStory, to: PlainDate) {
  const { terms, activated } = story;
  const events = story.events.filter(({ date }) => compareDates(date, to) <= 0);
  const end = events.find(isEnd);
  const money = story.money.filter(({ date }) => compareDates(date, to) <= 0).sort(inOrder);
  return {
    ...{ terms, activated, events, end, money },
    total: totalMinor(terms),
    counted: money.filter(({ reversedOn }) => reversedOn === null),
    reversed: story.money.filter(isReversed),
    /** After it nothing falls due any more. */
    lastDay: end === undefined ? to : earlier(end.date, to),
  };
}

type Known = ReturnType<typeof knownBy>;

/** The items that fall due in the period, by number; a deposit of nothing is none. */
function itemsWithin({ terms, activated, lastDay }: Known, { from }: Period): number[] {
  if (!activated) return [];
  const first = Math.max(terms.depositMinor === 0n ? 1 : 0, itemsBy(terms, addDays(from, -1)));
  return Array.from({ length: Math.max(0, itemsBy(terms, lastDay) - first) }, (_, i) => first + i);
}

/** The balances at the end of a day. */
function figuresAt({ terms, activated, total, events, end, counted }: Known, day: PlainDate): Figures {
  const paid = sumOf(counted.filter(({ date }) => compareDates(date, day) <= 0));
  const there = events.some(({ type, date }) => type === 'opened' && compareDates(date, day) <= 0);
  const ended = end !== undefined && compareDates(end.date, day) <= 0 ? end.type : undefined;
  const owed = there && ended !== 'cancelled' ? total : 0n;
  // Nothing is due of a sale that was undone, and of a loss only what came in for it.
  const ofLoss = ended === 'written_off' ? minMinor(paid, total) : 0n;
  const due = ended === undefined ? (activated ? dueBy(terms, day) : 0n) : ofLoss;
  return { dueSoFarMinor: due - paid, owedInTotalMinor: owed - paid };
}

/** The order of a day: what falls due, then what comes in, then how the account ends, then what comes after. */
const RANK = { opened: 0, item: 1, money: 2, end: 3, afterEnd: 4, reversal: 5 };

interface Entry {
  date: PlainDate;
  rank: number;
  event?: AccountEvent;
  money?: Money;
  item?: number;
  reversal?: boolean;
}

/** What happened in the period, in its order. */
function entriesOf({ terms, events, end, money, reversed }: Known, items: number[], period: Period): Entry[] {
  const entries: Entry[] = [
    ...events.map((event) => ({ date: event.date, rank: event === end ? RANK.end : RANK.opened, event })),
    ...money.map((one) => ({
      date: one.date,
      rank: isAfter(one, end) ? RANK.afterEnd : RANK.money,
      money: one,
    })),
    ...reversed.map((one) => ({ date: one.reversedOn, rank: RANK.reversal, money: one, reversal: true })),
    ...items.map((item) => ({ date: dueDate(terms, item), rank: RANK.item, item })),
  ];
  return entries
    .filter(({ date }) => isWithin(period, date))
    .sort((a, b) => compareDates(a.date, b.date) || a.rank - b.rank);
}

/** Each entry as a row, or as two where money recovers a loss, with the balances after it. */
function rowsOf(known: Known, entries: readonly Entry[], opening: Figures, from: PlainDate): Row[] {
  const { terms, activated, total, end, counted } = known;
  // Of a sale that was undone nothing is covered.
  const coverage = coverageOf(terms, end?.type === 'cancelled' ? [] : counted);
  const rows: Row[] = [];
  let paid = sumOf(counted.filter(({ date }) => compareDates(date, from) < 0));
  let { dueSoFarMinor, owedInTotalMinor } = opening;
  let lost = end?.type === 'written_off' && compareDates(end.date, from) < 0;

  for (const entry of entries) {
    if (entry.event) addEvent(entry.event);
    else if (entry.item !== undefined) addItem(entry.item, entry.date);
    else if (entry.money && entry.reversal)
      add({ type: 'reversal', date: entry.date, amountMinor: entry.money.amountMinor, money: entry.money });
    else if (entry.money) addMoney(entry.money);
  }
  return rows;

  function addEvent(event: AccountEvent): void {
    const { type, date } = event;
    const common = { type, date, amountMinor: event.amountMinor, event };
    const due = activated ? dueBy(terms, date) : 0n;
    if (type === 'opened') add({ ...common, chargedMinor: total });
    else if (type === 'cancelled') add({ ...common, chargedMinor: -total, dueMinor: -due });
    else {
      lost = true;
      add({ ...common, dueMinor: minMinor(paid, total) - due });
    }
  }

  function addItem(item: number, date: PlainDate): void {
    const amountMinor = itemMinor(terms, item);
    const type = item === 0 ? 'deposit' : 'instalment';
    add({ type, date, amountMinor, dueMinor: amountMinor, item, covers: coverage.ofItem.get(item) ?? [] });
  }

  function addMoney(one: Money): void {
    const { type, date, amountMinor } = one;
    if (one.reversedOn !== null) {
      add({ type, date, amountMinor, money: one });
      return;
    }
    const paidMinor = signed(one);
    const recovered = minMinor(paid + paidMinor, total) - minMinor(paid, total);
    paid += paidMinor;
    if (isOut(one)) {
      add({ type, date, amountMinor, paidMinor, dueMinor: lost ? recovered : 0n, money: one });
      return;
    }
    const covers = coverage.ofMoney.get(one) ?? [];
    const creditMinor = amountMinor - covers.reduce((sum, cover) => sum + cover.amountMinor, 0n);
    add({ type, date, amountMinor, paidMinor, covers, creditMinor, money: one });
    if (lost && recovered > 0n) {
      add({ type: 'recovery', date, amountMinor: recovered, dueMinor: recovered, money: one });
    }
  }

  function add(row: Pick<Row, 'type' | 'date' | 'amountMinor'> & Partial<Row>): void {
    const { dueMinor = 0n, chargedMinor = 0n, paidMinor = 0n } = row;
    dueSoFarMinor += dueMinor - paidMinor;
    owedInTotalMinor += chargedMinor - paidMinor;
    rows.push({
      ...{ item: null, covers: [], creditMinor: 0n, money: null, event: null },
      ...{ dueMinor, chargedMinor, paidMinor },
      ...row,
      ...{ dueSoFarMinor, owedInTotalMinor },
    });
  }
}

function isEnd(event: AccountEvent): event is AccountEvent & { type: 'cancelled' | 'written_off' } {
  return event.type !== 'opened';
}

function isReversed(money: Money): money is Money & { reversedOn: PlainDate } {
  return money.reversedOn !== null;
}

/** Whether money of the end's own day was booked after it. What is of an earlier day stands there, whenever it was booked. */
function isAfter(money: Money, end: AccountEvent | undefined): boolean {
  return end?.date === money.date && (money.ledgerEventId ?? 0) > end.ledgerEventId;
}

function isWithin({ from, to }: Period, date: PlainDate): boolean {
  return compareDates(from, date) <= 0 && compareDates(date, to) <= 0;
}

/** @throws AppError VALIDATION_ERROR for more rows than a statement may have. */
export function refuseTooMany(rows: number, most = MAX_ROWS): void {
  if (rows <= most) return;
  const message = `such a statement has at most ${most} rows: ask for a shorter period`;
  throw invalid([
    { path: 'from', message },
    { path: 'to', message },
  ]);
}

/** Whether an account is activated by a day: a pending one is on its activation date, whenever the job runs. */
export function isActivated(status: AccountStatus, { activationDate }: Terms, day: PlainDate): boolean {
  return status !== 'pending' || compareDates(activationDate, day) <= 0;
}

function earlier(a: PlainDate, b: PlainDate): PlainDate {
  return compareDates(a, b) <= 0 ? a : b;
}
