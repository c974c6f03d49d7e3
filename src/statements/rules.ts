import { balanceOf, isClosed, isToComplete } from '../accounts/rules.ts';
import {
  allocate,
  dueBy,
  dueDate,
  itemMinor,
  itemsBy,
  nextItem,
  type Position,
  position,
  type Slice,
  type Terms,
  totalMinor,
} from '../accounts/schedule.ts';
import { addDays, compareDates, type PlainDate } from '../core/dates.ts';
import { invalid, invalidField } from '../core/errors.ts';
import { type Minor, minMinor } from '../core/money.ts';
import type { AccountStatus } from '../core/tables.ts';

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

/** Money that came onto the account, or credit that left it, as it is known now. */
export interface Money {
  type: 'payment' | 'transfer_in' | 'transfer_out' | 'refund';
  date: PlainDate;
  /** > 0, also of what left. */
  amountMinor: Minor;
  /** The day on which it was taken back; from then on it never counted. */
  reversedOn: PlainDate | null;
  reversalReason: string | null;
  /** One of these two is its row in the database. */
  paymentId: number | null;
  creditMoveId: number | null;
  /** Of a transfer: from where, or to. */
  otherAccountId: number | null;
  /** Of a move of credit. */
  reason: string | null;
  transactionRef: string | null;
  /** Null for a transfer. */
  paymentMethod: string | null;
  /** The ledger's events that put it onto the account, and took it off; null outside the period. */
  ledgerEventId: number | null;
  reversalEventId: number | null;
}

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

/** A part of an item that a payment, or a transfer, covers: told from the payment and from the item. */
export interface Cover {
  paymentId: number | null;
  creditMoveId: number | null;
  paymentDate: PlainDate;
  item: number;
  dueDate: PlainDate;
  amountMinor: Minor;
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
export function statementOf(story: AccountStory, { from, to }: Period): Statement {
  const { terms, activated } = story;
  const total = totalMinor(terms);
  const within = (date: PlainDate) => compareDates(from, date) <= 0 && compareDates(date, to) <= 0;
  const events = story.events.filter(({ date }) => compareDates(date, to) <= 0);
  const end = events.find(isEnd);
  const money = story.money.filter(({ date }) => compareDates(date, to) <= 0).sort(inOrder);
  const counted = money.filter(({ reversedOn }) => reversedOn === null);

  const lastDay = end === undefined ? to : earlier(end.date, to);
  const firstItem = terms.depositMinor === 0n ? 1 : 0;
  const dueItems = activated ? itemsBy(terms, lastDay) : 0;
  const itemsBefore = Math.max(firstItem, activated ? itemsBy(terms, addDays(from, -1)) : 0);
  refuseTooMany(Math.max(0, dueItems - itemsBefore) + money.filter(({ date }) => within(date)).length);

  const figuresAt = (day: PlainDate): Figures => {
    const paid = sumOf(counted.filter(({ date }) => compareDates(date, day) <= 0));
    const there = events.some(({ type, date }) => type === 'opened' && compareDates(date, day) <= 0);
    const ended = end !== undefined && compareDates(end.date, day) <= 0 ? end.type : undefined;
    const owed = there && ended !== 'cancelled' ? total : 0n;
    // Nothing is due of a sale that was undone, and of a loss only what came in for it.
    const ofLoss = ended === 'written_off' ? minMinor(paid, total) : 0n;
    const due = ended === undefined ? (activated ? dueBy(terms, day) : 0n) : ofLoss;
    return { dueSoFarMinor: due - paid, owedInTotalMinor: owed - paid };
  };

  const slices = end?.type === 'cancelled' ? [] : allocateMoney(terms, counted);
  const coversOf = coversBy(terms, counted, slices);

  const entries: Entry[] = [
    ...events.map((event) => ({ date: event.date, rank: event === end ? RANK.end : RANK.opened, event })),
    ...money.map((one) => ({
      date: one.date,
      rank: isAfter(one, end) ? RANK.afterEnd : RANK.money,
      money: one,
    })),
    ...story.money.flatMap((one) =>
      one.reversedOn === null
        ? []
        : [{ date: one.reversedOn, rank: RANK.reversal, money: one, reversal: true }],
    ),
    ...Array.from({ length: Math.max(0, dueItems - itemsBefore) }, (_, i) => itemsBefore + i).map((item) => ({
      date: dueDate(terms, item),
      rank: RANK.item,
      item,
    })),
  ].filter(({ date }) => within(date));
  entries.sort((a, b) => compareDates(a.date, b.date) || a.rank - b.rank);

  const opening = figuresAt(addDays(from, -1));
  const rows: Row[] = [];
  let paid = sumOf(counted.filter(({ date }) => compareDates(date, from) < 0));
  let { dueSoFarMinor, owedInTotalMinor } = opening;
  let lost = end?.type === 'written_off' && compareDates(end.date, from) < 0;

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
    add({ type, date, amountMinor, dueMinor: amountMinor, item, covers: coversOf.item.get(item) ?? [] });
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
    const covers = coversOf.money.get(one) ?? [];
    const creditMinor = amountMinor - covers.reduce((sum, cover) => sum + cover.amountMinor, 0n);
    add({ type, date, amountMinor, paidMinor, covers, creditMinor, money: one });
    if (lost && recovered > 0n) {
      add({ type: 'recovery', date, amountMinor: recovered, dueMinor: recovered, money: one });
    }
  }

  for (const entry of entries) {
    if (entry.event) addEvent(entry.event);
    else if (entry.item !== undefined) addItem(entry.item, entry.date);
    else if (entry.money && entry.reversal)
      add({ type: 'reversal', date: entry.date, amountMinor: entry.money.amountMinor, money: entry.money });
    else if (entry.money) addMoney(entry.money);
  }
  refuseTooMany(rows.length);

  const closing = figuresAt(to);
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
    at: position(terms, { paidMinor: sumOf(counted), today: to, closed: end !== undefined, activated }),
    balanceMinor: over > 0n ? over : 0n,
    creditMinor: over < 0n ? -over : 0n,
  };
}

function isEnd(event: AccountEvent): event is AccountEvent & { type: 'cancelled' | 'written_off' } {
  return event.type !== 'opened';
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

function isAfter(money: Money, end: AccountEvent | undefined): boolean {
  return end !== undefined && (money.ledgerEventId ?? 0) > end.ledgerEventId;
}

function inOrder(a: Money, b: Money): number {
  const isMove = (one: Money) => (one.creditMoveId === null ? 0 : 1);
  const idOf = (one: Money) => one.paymentId ?? one.creditMoveId ?? 0;
  return compareDates(a.date, b.date) || isMove(a) - isMove(b) || idOf(a) - idOf(b);
}

function isOut({ type }: Money): boolean {
  return type === 'transfer_out' || type === 'refund';
}

/** What it adds to what the account has paid. */
function signed(money: Money): Minor {
  return isOut(money) ? -money.amountMinor : money.amountMinor;
}

function sumOf(money: readonly Money[]): Minor {
  return money.reduce((sum, one) => sum + signed(one), 0n);
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

/**
 * Which part of what came in covers which item; a slice's payment is the place in `counted`. What left took the
 * newest money that was there, and where none was left, as a payment was reversed after its credit had gone, the
 * next money makes up for it first.
 */
function allocateMoney(terms: Terms, counted: readonly Money[]): Slice[] {
  const stayed: Minor[] = [];
  const there: number[] = []; // places of what came in and has not wholly left, the newest last
  let missing = 0n;
  for (const [place, one] of counted.entries()) {
    if (!isOut(one)) {
      const made = minMinor(missing, one.amountMinor);
      missing -= made;
      stayed[place] = one.amountMinor - made;
      there.push(place);
      continue;
    }
    stayed[place] = 0n;
    let left = one.amountMinor;
    for (let newest = there.at(-1); left > 0n && newest !== undefined; newest = there.at(-1)) {
      const taken = minMinor(left, stayed[newest] ?? 0n);
      stayed[newest] = (stayed[newest] ?? 0n) - taken;
      left -= taken;
      if (stayed[newest] === 0n) there.pop();
    }
    missing += left;
  }
  const payments = counted.map(({ date }, id) => ({ id, valueDate: date, amountMinor: stayed[id] ?? 0n }));
  return allocate(terms, payments).slices;
}

/** The slices as each payment and each item sees them, in one pass. */
function coversBy(terms: Terms, counted: readonly Money[], slices: readonly Slice[]) {
  const money = new Map<Money, Cover[]>();
  const item = new Map<number, Cover[]>();
  for (const slice of slices) {
    const source = counted[slice.paymentId];
    if (!source) throw new Error(`a slice of payment ${slice.paymentId}, which was not allocated`);
    const { paymentId, creditMoveId, date: paymentDate } = source;
    const { amountMinor } = slice;
    const due = dueDate(terms, slice.item);
    const cover = { paymentId, creditMoveId, paymentDate, item: slice.item, dueDate: due, amountMinor };
    push(money, source, cover);
    push(item, slice.item, cover);
  }
  return { money, item };
}

function push<K>(lists: Map<K, Cover[]>, key: K, cover: Cover): void {
  const list = lists.get(key);
  if (list) list.push(cover);
  else lists.set(key, [cover]);
}

/** What an account has, for a quote. */
interface QuotedAccount {
  terms: Terms;
  status: AccountStatus;
  /** As known now. */
  paidMinor: Minor;
}

export interface Quote {
  /** What of amountDueMinor was dated before the day, and what is dated on it. */
  overdueMinor: Minor;
  dueOnDateMinor: Minor;
  amountDueMinor: Minor;
  /** What pays all that is owed. */
  settlementMinor: Minor;
  at: Position;
  /** Where an amount paid on the day would leave the account. */
  after: QuotedPayment | null;
}

interface QuotedPayment {
  amountMinor: Minor;
  at: Position;
  /** The items, the deposit too, that the amount would cover to the end. */
  itemsCovered: number;
  /** What of the amount would lie on the next item without covering it. */
  remainderMinor: Minor;
  balanceMinor: Minor;
  creditMinor: Minor;
  completes: boolean;
}

/**
 * What a customer could pay on a day, if nothing else is paid until then. A pending account counts as activated
 * on a day to come that is not before its activation date.
 */
export function quoteOf(
  account: QuotedAccount,
  { date, today, amountMinor }: { date: PlainDate; today: PlainDate; amountMinor: Minor | null },
): Quote {
  const { terms, status, paidMinor } = account;
  const total = totalMinor(terms);
  const closed = isClosed(status);
  const activated = isActivated(status, date, today);
  const positionOf = (paid: Minor) => position(terms, { paidMinor: paid, today: date, closed, activated });
  const at = positionOf(paidMinor);
  const before = dueBy(terms, addDays(date, -1)) - paidMinor;
  const overdueMinor = at.arrearsMinor === 0n || before < 0n ? 0n : before;
  return {
    overdueMinor,
    dueOnDateMinor: at.arrearsMinor - overdueMinor,
    amountDueMinor: at.arrearsMinor,
    settlementMinor: balanceOf({ status, totalMinor: total, paidMinor }),
    at,
    after: amountMinor === null ? null : quotedPayment(amountMinor),
  };

  function quotedPayment(amount: Minor): QuotedPayment {
    const paid = paidMinor + amount;
    const owed = (status === 'cancelled' ? 0n : total) - paid;
    const next = status === 'cancelled' ? undefined : nextItem(terms, paid);
    const begun = next === undefined ? 0n : itemMinor(terms, next.index) - next.remainderMinor;
    return {
      amountMinor: amount,
      at: positionOf(paid),
      itemsCovered: status === 'cancelled' ? 0 : itemsCovered(terms, paid) - itemsCovered(terms, paidMinor),
      remainderMinor: minMinor(amount, begun),
      balanceMinor: owed > 0n ? owed : 0n,
      creditMinor: owed < 0n ? -owed : 0n,
      completes: status !== 'completed' && isToComplete(status, paid, total),
    };
  }
}

/** A pending account is activated on its day, which one that lies ahead still can be. */
export function isActivated(status: AccountStatus, day: PlainDate, today: PlainDate): boolean {
  return status !== 'pending' || compareDates(day, today) > 0;
}

function itemsCovered(terms: Terms, paidMinor: Minor): number {
  return nextItem(terms, paidMinor)?.index ?? terms.instalmentCount + 1;
}

function earlier(a: PlainDate, b: PlainDate): PlainDate {
  return compareDates(a, b) <= 0 ? a : b;
}
