import { allocate, itemOf, type Slice, type Terms } from '../../accounts/schedule/rules.ts';
import { compareDates, type PlainDate } from '../../core/values/dates.ts';
import { type Minor, minMinor } from '../../core/values/money.ts';

// The money of an account, and its allocation to the items of the schedule.

export const MONEY_TYPES = ['payment', 'transfer_in', 'transfer_out', 'refund'] as const;

/** A payment, or a credit move to or from the account. */
export interface MoneyMove {
  type: (typeof MONEY_TYPES)[number];
  date: PlainDate;
  /** Greater than 0, also for outgoing money. */
  amountMinor: Minor;
  /** The day of the reversal. A reversed payment does not change any balance. */
  reversedOn: PlainDate | null;
  /** The id of the database row. Either `paymentId` or `creditMoveId` is set. */
  paymentId: number | null;
  creditMoveId: number | null;
  /** The other account of a transfer. */
  otherAccountId: number | null;
  transactionRef: string | null;
  /** Null for a transfer. */
  paymentMethod: string | null;
  /** The ledger event that posted the money. Null for an unreversed payment before the period. */
  ledgerEventId: number | null;
  /** The ledger event that reversed the money. Null for unreversed money. */
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
 * Allocates money to items. @returns the items that each payment covers, and the payments that cover each item.
 * @param counted - all unreversed money, sorted by `compareMoney`.
 */
export function allocationOf(terms: Terms, counted: readonly MoneyMove[]) {
  const ofMoney = new Map<MoneyMove, Cover[]>();
  const ofItem = new Map<number, Cover[]>();
  for (const { paymentId: place, item, amountMinor } of allocateMoney(terms, counted)) {
    const source = counted[place];
    if (!source) throw new Error(`A slice refers to the payment at position ${place}, which does not exist.`);
    const { paymentId, creditMoveId, date: paymentDate } = source;
    const cover = {
      paymentId,
      creditMoveId,
      paymentDate,
      item,
      dueDate: itemOf(terms, item).date,
      amountMinor,
    };
    push(ofMoney, source, cover);
    push(ofItem, item, cover);
  }
  return { ofMoney, ofItem };
}

/**
 * Takes outgoing credit from the latest payments and incoming transfers. If a payment was reversed after its credit had been
 * transferred or refunded, some credit is missing (`missing`). The next money that arrives replaces the missing credit first.
 * @returns slices whose `paymentId` is an index into `counted`.
 */
function allocateMoney(terms: Terms, counted: readonly MoneyMove[]): Slice[] {
  const remaining: Minor[] = [];
  /** The indexes of money that outgoing credit has not used up, oldest first. */
  const available: number[] = [];
  let missing = 0n;
  for (const [place, one] of counted.entries()) {
    if (!isOut(one)) {
      const covered = minMinor(missing, one.amountMinor);
      missing -= covered;
      remaining[place] = one.amountMinor - covered;
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

/** Neighbouring instalments that are covered as a whole, or one item. The deposit is never in a run with instalments. */
export interface CoverRun {
  firstItem: number;
  lastItem: number;
  firstDueDate: PlainDate;
  lastDueDate: PlainDate;
  amountMinor: Minor;
  /** Whether the money covers the whole amount of each item. */
  isWhole: boolean;
}

/** What one payment, or several payments together, cover. @param covers - in the order of items; an item can be in it repeatedly. */
export function coverRuns(covers: readonly Cover[], terms: Terms): CoverRun[] {
  const ofItem = new Map<number, { item: number; dueDate: PlainDate; amountMinor: Minor }>();
  for (const { item, dueDate, amountMinor } of covers) {
    const already = ofItem.get(item)?.amountMinor ?? 0n;
    ofItem.set(item, { item, dueDate, amountMinor: already + amountMinor });
  }
  const runs: CoverRun[] = [];
  for (const { item, dueDate, amountMinor } of ofItem.values()) {
    const isWhole = amountMinor === itemOf(terms, item).amountMinor;
    const last = runs.at(-1);
    if (isWhole && last?.isWhole && last.firstItem > 0 && last.lastItem === item - 1) {
      last.lastItem = item;
      last.lastDueDate = dueDate;
      last.amountMinor += amountMinor;
    } else {
      runs.push({
        ...{ firstItem: item, lastItem: item, firstDueDate: dueDate, lastDueDate: dueDate },
        ...{ amountMinor, isWhole },
      });
    }
  }
  return runs;
}

export function coveredBy(covers: readonly Cover[]): Minor {
  return covers.reduce((sum, { amountMinor }) => sum + amountMinor, 0n);
}

/** Sorts by day, then payments before credit moves, then by id. */
export function compareMoney(a: MoneyMove, b: MoneyMove): number {
  const rankOf = (one: MoneyMove) => (one.creditMoveId === null ? 0 : 1);
  const idOf = (one: MoneyMove) => one.paymentId ?? one.creditMoveId ?? 0;
  return compareDates(a.date, b.date) || rankOf(a) - rankOf(b) || idOf(a) - idOf(b);
}

export function isOut({ type }: MoneyMove): boolean {
  return type === 'transfer_out' || type === 'refund';
}

/** The change of the paid amount: negative for outgoing credit. */
export function signed(money: MoneyMove): Minor {
  return isOut(money) ? -money.amountMinor : money.amountMinor;
}

export function sumOf(money: readonly MoneyMove[]): Minor {
  return money.reduce((sum, one) => sum + signed(one), 0n);
}
