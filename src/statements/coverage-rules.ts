import { allocate, dueDate, type Slice, type Terms } from '../accounts/schedule.ts';
import { compareDates, type PlainDate } from '../core/values/dates.ts';
import { type Minor, minMinor } from '../core/values/money.ts';

// The money of an account, and which part of it covers which item of the schedule.

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

/** A part of an item that a payment, or a transfer, covers: told from the payment and from the item. */
export interface Cover {
  paymentId: number | null;
  creditMoveId: number | null;
  paymentDate: PlainDate;
  item: number;
  dueDate: PlainDate;
  amountMinor: Minor;
}

/**
 * What each payment covers, and what covers each item.
 * @param counted all that counts, in order.
 */
export function coverageOf(terms: Terms, counted: readonly Money[]) {
  const ofMoney = new Map<Money, Cover[]>();
  const ofItem = new Map<number, Cover[]>();
  for (const { paymentId: place, item, amountMinor } of allocateMoney(terms, counted)) {
    const source = counted[place];
    if (!source) throw new Error(`a slice of payment ${place}, which was not allocated`);
    const { paymentId, creditMoveId, date: paymentDate } = source;
    const cover = { paymentId, creditMoveId, paymentDate, item, dueDate: dueDate(terms, item), amountMinor };
    push(ofMoney, source, cover);
    push(ofItem, item, cover);
  }
  return { ofMoney, ofItem };
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

function push<K>(lists: Map<K, Cover[]>, key: K, cover: Cover): void {
  const list = lists.get(key);
  if (list) list.push(cover);
  else lists.set(key, [cover]);
}

/** By day, and on a day payments before moves of credit, each by id. */
export function inOrder(a: Money, b: Money): number {
  const isMove = (one: Money) => (one.creditMoveId === null ? 0 : 1);
  const idOf = (one: Money) => one.paymentId ?? one.creditMoveId ?? 0;
  return compareDates(a.date, b.date) || isMove(a) - isMove(b) || idOf(a) - idOf(b);
}

export function isOut({ type }: Money): boolean {
  return type === 'transfer_out' || type === 'refund';
}

/** What it adds to what the account has paid. */
export function signed(money: Money): Minor {
  return isOut(money) ? -money.amountMinor : money.amountMinor;
}

export function sumOf(money: readonly Money[]): Minor {
  return money.reduce((sum, one) => sum + signed(one), 0n);
}
