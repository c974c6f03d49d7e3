import type { BalanceGapState } from '../../core/database/tables.ts';
import type { Minor } from '../../core/values/money.ts';

// Follows the running balance of a short code. If the balance after a payment is not the balance before the next payment, a
// notification was lost or money left the short code.

/** A notification with the balance after its payment. */
export interface BalanceReport {
  time: Date;
  amountMinor: Minor;
  balanceMinor: Minor;
  receivedAt: Date;
}

/** Payments that follow one another without a gap. */
export interface Segment {
  beforeMinor: Minor;
  afterMinor: Minor;
  firstTime: Date;
  lastTime: Date;
  /** When the first notification of the segment was received. */
  receivedAt: Date;
}

export interface Gap {
  fromTime: Date;
  untilTime: Date;
  /** The change of the balance that no notification explains. Negative if the balance fell. */
  differenceMinor: Minor;
}

/** A payment whose notification came late: its gap had already been reported. */
export interface LateReport {
  time: Date;
  amountMinor: Minor;
}

/** Notifications may arrive in another order than their payments, so a gap is reported only after this time. */
const PATIENCE_MS = 10 * 60_000;
/** The provider's times are in seconds, and the times of concurrent payments are not always in the order of the balances. */
const TOLERANCE_MS = 60_000;

/** Adds a payment to the segments that it continues or connects. */
export function addReport(segments: readonly Segment[], report: BalanceReport): Segment[] {
  const { time, amountMinor, balanceMinor: afterMinor, receivedAt } = report;
  const beforeMinor = afterMinor - amountMinor;
  // Use the latest segment that fits, because an earlier segment may have ended at the same balance.
  const previous = segments.findLast(
    (one) => one.afterMinor === beforeMinor && time.getTime() >= one.lastTime.getTime() - TOLERANCE_MS,
  );
  const next = segments.find(
    (one) =>
      one !== previous &&
      one.beforeMinor === afterMinor &&
      time.getTime() <= one.firstTime.getTime() + TOLERANCE_MS,
  );
  const added: Segment = { beforeMinor, afterMinor, firstTime: time, lastTime: time, receivedAt };
  const parts = [previous, added, next].filter((part) => part !== undefined);
  const others = segments.filter((one) => one !== previous && one !== next);
  return inOrder([...others, joined(parts)]);
}

/**
 * Finds the gaps that no notification has closed in time, and the payments whose notification came late.
 * @returns `segments`: the segments to keep, because later notifications may connect them.
 */
export function findGaps(
  segments: readonly Segment[],
  now: Date,
): { segments: Segment[]; gaps: Gap[]; late: LateReport[] } {
  const gaps: Gap[] = [];
  const late: LateReport[] = [];
  let [current, ...waiting] = segments;
  while (current) {
    const following = waiting[0];
    if (!following || now.getTime() - following.receivedAt.getTime() < PATIENCE_MS) break;
    waiting = waiting.slice(1);
    if (following.lastTime < current.lastTime) {
      late.push({ time: following.firstTime, amountMinor: following.afterMinor - following.beforeMinor });
      continue;
    }
    const differenceMinor = following.beforeMinor - current.afterMinor;
    const fromTime = earlier(current.lastTime, following.firstTime);
    if (differenceMinor !== 0n) gaps.push({ fromTime, untilTime: following.firstTime, differenceMinor });
    current = joined([current, following]);
  }
  return { segments: current ? [current, ...waiting] : [], gaps, late };
}

function earlier(a: Date, b: Date): Date {
  return new Date(Math.min(a.getTime(), b.getTime()));
}

function joined(parts: readonly Segment[]): Segment {
  const [first, last] = [parts[0], parts.at(-1)];
  if (!first || !last) throw new RangeError('There is no segment to join.');
  const receivedAtMs = parts.map((part) => part.receivedAt.getTime());
  const lastTimeMs = parts.map((part) => part.lastTime.getTime());
  return {
    beforeMinor: first.beforeMinor,
    afterMinor: last.afterMinor,
    firstTime: first.firstTime,
    lastTime: new Date(Math.max(...lastTimeMs)),
    receivedAt: new Date(Math.min(...receivedAtMs)),
  };
}

function inOrder(segments: readonly Segment[]): Segment[] {
  return [...segments].sort((a, b) => a.firstTime.getTime() - b.firstTime.getTime());
}

interface Explanation {
  differenceMinor: Minor;
  lateMinor: Minor;
  foundMinor: Minor;
  /** Whether the provider has listed all payments of the period, or cannot be asked. */
  isComplete: boolean;
}

/**
 * The state of a gap. If the balance grew by more than the found payments, the gap stays open: the provider does not list one of
 * the payments.
 */
export function stateOfGap({
  differenceMinor,
  lateMinor,
  foundMinor,
  isComplete,
}: Explanation): BalanceGapState {
  const unexplainedMinor = differenceMinor - lateMinor - foundMinor;
  if (unexplainedMinor === 0n) return 'payments_found';
  return isComplete && unexplainedMinor < 0n ? 'money_left' : 'open';
}
