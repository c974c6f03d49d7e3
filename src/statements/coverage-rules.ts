import { allocate, dueDate, type Slice, type Terms } from '../accounts/schedule-rules.ts';
import { compareDates, type PlainDate } from '../core/values/dates.ts';
import { type Minor, minMinor } from '../core/values/money.ts';

// The money of an account, and its allocation to the items of the schedule.

/** A payment, or a move of credit to or from the account. */
export interface Money {
  type: 'payment' | 'transfer_in' | 'transfer_out' | 'refund';
  date: PlainDate;
  /** > 0 in both directions. */
  amountMinor: Minor;
  /** The day of the reversal. A reversed payment never counts. */
  reversedOn: PlainDate | null;
  reversalReason: string | null;
  /** The row in the database: one of the two is set. */
  paymentId: number | null;
  creditMoveId: number | null;
  /** The other account of a transfer. */
  otherAccountId: number | null;
  /** The reason of a move of credit. */
  reason: string | null;
  transactionRef: string | null;
  /** Null for a transfer. */
  paymentMethod: string | null;
  /** The ledger events that posted and reversed it; null outside the period. */
  ledgerEventId: number | null;
  reversalEventId: number | null;
}

/** The part of an item that a payment or a transfer covers. */
export interface Cover {
  paymentId: number | null;
  creditMoveId: number | null;
  paymentDate: PlainDate;
  item: number;
  dueDate: PlainDate;
  amountMinor: Minor;
}

/**
 * Allocates money to items: which items each payment covers, and which payments cover each item.
 * @param counted all unreversed money, sorted by `inOrder`.
 */
export function coverageOf(terms: Terms, counted: readonly Money[]) {
  const ofMoney = new Map<Money, Cover[]>();
  const ofItem = new Map<number, Cover[]>();
  for (const { paymentId: place, item, amountMinor } of allocateMoney(terms, counted)) {
    const source = counted[place];
    if (!source) throw new Error(`The slice refers to payment ${place}, which is not one of the payments.`);
    const { paymentId, creditMoveId, date: paymentDate } = source;
    const cover = { paymentId, creditMoveId, paymentDate, item, dueDate: dueDate(terms, item), amountMinor };
    push(ofMoney, source, cover);
    push(ofItem, item, cover);
  }
  return { ofMoney, ofItem };
}

/**
 * The payment of a slice is an index into `counted`. Credit that leaves takes the latest money on the account. If there is
 * not enough, because a payment was reversed after its credit had left, the next money replaces it first.
 */
function allocateMoney(terms: Terms, counted: readonly Money[]): Slice[] {
  const remaining: Minor[] = [];
  const available: number[] = []; // the indexes of money that has not left completely, the latest last
  let missing = 0n;
  for (const [place, one] of counted.entries()) {
    if (!isOut(one)) {
      const made = minMinor(missing, one.amountMinor);
      missing -= made;
      remaining[place] = one.amountMinor - made;
      available.push(place);
      continue;
    }
    remaining[place] = 0n;
    let left = one.amountMinor;
    for (let newest = available.at(-1); left > 0n && newest !== undefined; newest = available.at(-1)) {
      const taken = minMinor(left, remaining[newest] ?? 0n);
      remaining[newest] = (remaining[newest] ?? 0n) - taken;
      left -= taken;
      if (remaining[newest] === 0n) available.pop();
    }
    missing += left;
  }
  const payments = counted.map(({ date }, id) => ({ id, valueDate: date, amountMinor: remaining[id] ?? 0n }));
  return allocate(terms, payments).slices;
}

function push<K>(lists: Map<K, Cover[]>, key: K, cover: Cover): void {
  const list = lists.get(key);
  if (list) list.push(cover);
  else lists.set(key, [cover]);
}

/** Sorts by day, then payments before moves of credit, then by id. */
export function inOrder(a: Money, b: Money): number {
  const isMove = (one: Money) => (one.creditMoveId === null ? 0 : 1);
  const idOf = (one: Money) => one.paymentId ?? one.creditMoveId ?? 0;
  return compareDates(a.date, b.date) || isMove(a) - isMove(b) || idOf(a) - idOf(b);
}

export function isOut({ type }: Money): boolean {
  return type === 'transfer_out' || type === 'refund';
}

/** The change of the sum paid. */
export function signed(money: Money): Minor {
  return isOut(money) ? -money.amountMinor : money.amountMinor;
}

export function sumOf(money: readonly Money[]): Minor {
  return money.reduce((sum, one) => sum + signed(one), 0n);
}
