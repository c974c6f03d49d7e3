import type { Minor } from '../../core/values/money.ts';

/**
 * Compares the balance after each transaction with the amounts. If cells of a line are shifted, its amount or its balance is
 * another figure, so the line no longer fits the lines beside it.
 */

/** A completed line that moved money. */
export interface BalanceLine {
  /** Negative for a withdrawal, never 0. */
  amountMinor: Minor;
  /** The balance after the transaction. Null if the line has none. */
  balanceMinor: Minor | null;
}

interface Step {
  before: Minor;
  after: Minor;
  amount: Minor;
}

/** The lines in one of the two possible orders of time. */
interface Chain {
  lines: readonly (BalanceLine | null)[];
  /** Undefined for a line without a balance, and for an unreadable line. */
  steps: readonly (Step | undefined)[];
  starts: ReadonlySet<Minor>;
  ends: ReadonlySet<Minor>;
}

/**
 * Finds the lines that the balances contradict. The lines can begin with the oldest or the newest. Lines of the same second can be
 * in the wrong order, so a line follows if any line ends with the balance before it. Finds nothing if fewer than half of the lines
 * fit another line: then the file has no running balance, or leaves out many lines.
 * @param lines - null for an unreadable line. Its neighbours are not compared with it.
 * @returns the indexes of the contradicted lines.
 */
export function findContradictions(lines: readonly (BalanceLine | null)[]): Set<number> {
  const steps = lines.map(toStep);
  const known = steps.filter((step) => step !== undefined);
  const oldestFirst: Chain = {
    lines,
    steps,
    starts: new Set(known.map(({ before }) => before)),
    ends: new Set(known.map(({ after }) => after)),
  };
  const newestFirst = { ...oldestFirst, lines: lines.toReversed(), steps: steps.toReversed() };
  const isReversed = countJoints(newestFirst) > countJoints(oldestFirst);
  const chain = isReversed ? newestFirst : oldestFirst;
  const indexes = [...lines.keys()];
  const fitting = indexes.filter((index) => isLinked(chain, index) || isBesideWrongBalance(chain, index));
  const comparable = lines.filter((line) => line !== null);
  if (fitting.length * 2 < comparable.length) return new Set();
  const found = indexes.filter((index) => isContradicted(chain, index));
  return new Set(found.map((index) => (isReversed ? lines.length - 1 - index : index)));
}

/**
 * Follows the balances of the completed lines of a whole file.
 * @returns `add`, which takes the next line, and `ends`, which returns the balances before the oldest and after the newest line.
 *   Null if the file has no balances, or if fewer than half of its lines fit the line beside them.
 */
export function followBalances() {
  let first: Step | undefined;
  let last: Step | undefined;
  let pairs = 0;
  const joints = { oldestFirst: 0, newestFirst: 0 };
  return {
    add(line: BalanceLine): void {
      const step = toStep(line);
      if (!step) return;
      if (last) pairs += 1;
      if (last?.after === step.before) joints.oldestFirst += 1;
      if (last?.before === step.after) joints.newestFirst += 1;
      first ??= step;
      last = step;
    },
    ends(): { openingMinor: Minor; closingMinor: Minor } | null {
      if (!first || !last || Math.max(joints.oldestFirst, joints.newestFirst) * 2 < pairs) return null;
      const [oldest, newest] = joints.oldestFirst >= joints.newestFirst ? [first, last] : [last, first];
      return { openingMinor: oldest.before, closingMinor: newest.after };
    },
  };
}

function toStep(line: BalanceLine | null): Step | undefined {
  if (line === null || line.balanceMinor === null) return undefined;
  const { amountMinor: amount, balanceMinor: after } = line;
  return { before: after - amount, after, amount };
}

function isContradicted(chain: Chain, index: number): boolean {
  const { steps } = chain;
  const step = steps[index];
  if (!step) return !isImplied(chain, index);
  if (follows(chain, step)) return false;
  if (startsBelow0(chain, index)) return true;
  const previous = startsBelow0(chain, index - 1) ? undefined : steps[index - 1];
  if (!previous) return index > 0 && !isFollowed(chain, step) && fits(chain, index + 1);
  if (!isFollowed(chain, step))
    return fits(chain, index - 1) || fits(chain, index + 1) || hasWrongBalance(chain, index);
  // The next line confirms this balance. If the balance moved against the amount, the file leaves out lines before this one.
  const hasMovedLikeAmount = step.after > previous.after === step.amount > 0n;
  return hasMovedLikeAmount && (fits(chain, index - 1) || index === 1);
}

/** Whether the balance before a line is below 0, although no other line shows such a balance. */
function startsBelow0(chain: Chain, index: number): boolean {
  const step = chain.steps[index];
  if (!step || step.before >= 0n || follows(chain, step)) return false;
  return index > 0 || !isFollowed(chain, step);
}

/**
 * Whether a line without a balance explains the difference between the balances around it, together with other such lines. True for
 * an unreadable line.
 */
function isImplied({ lines, steps }: Chain, index: number): boolean {
  let from = index;
  let to = index;
  while (lines[from] && !steps[from]) from -= 1;
  while (lines[to] && !steps[to]) to += 1;
  const [previous, next] = [steps[from], steps[to]];
  if (!previous || !next) return true; // The balances around it are unknown.
  const moved = lines.slice(from + 1, to).reduce((sum, line) => sum + (line?.amountMinor ?? 0n), 0n);
  return previous.after + moved === next.before;
}

function follows({ ends }: Chain, { before }: Step): boolean {
  return ends.has(before);
}

function isFollowed({ starts }: Chain, { after }: Step): boolean {
  return starts.has(after);
}

function isLinked(chain: Chain, index: number): boolean {
  const step = chain.steps[index];
  return step !== undefined && (follows(chain, step) || isFollowed(chain, step));
}

function fits(chain: Chain, index: number): boolean {
  return isLinked(chain, index) && !startsBelow0(chain, index);
}

/** Whether the lines around this one fit each other if its amount is right and its balance is wrong. */
function hasWrongBalance({ steps }: Chain, index: number): boolean {
  const [previous, step, next] = [steps[index - 1], steps[index], steps[index + 1]];
  if (!previous || !step || !next || step.before === previous.after) return false;
  return previous.after + step.amount === next.before && previous.after !== next.after;
}

function isBesideWrongBalance(chain: Chain, index: number): boolean {
  return hasWrongBalance(chain, index - 1) || hasWrongBalance(chain, index + 1);
}

/** The number of lines that confirm this order of time. */
function countJoints(chain: Chain): number {
  const { steps } = chain;
  const joints = steps.filter((step, index) => step && step.before === steps[index - 1]?.after);
  return joints.length + [...steps.keys()].filter((index) => hasWrongBalance(chain, index)).length;
}
