import type { Actor } from '../../core/context.ts';
import type { AppError } from '../../core/http/errors.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import type { Minor } from '../../core/values/money.ts';
import {
  canEarnPayoff,
  factsAfterUndo,
  type LockedAccount,
  type PlanMove,
  payoffEarned,
  payoffUndone,
  withMoney,
} from '../payoffs/posting-rules.ts';
import { type StatusHistory, statusBeforeCompletion } from '../status/paid-amount-rules.ts';
import { isStatusIn, isToReopen } from '../status/rules.ts';
import type { AccountBooks } from './money-on-account-rules.ts';
import { type MoneyEvent, postEvent, type RunningBooks, runningBooksOf } from './rules.ts';

// Posts money events, and the early payoffs that they earn or end.

/**
 * The accounts that the movements may give an early payoff, or take one from. Only for them, more has to be read. A completed account may
 * lose its payoff, or be reopened and earn one, unless money only arrives.
 */
export function accountsNearPayoff(
  accounts: ReadonlyMap<number, LockedAccount>,
  movements: MoneyEvent['movements'],
): LockedAccount[] {
  const moneyIn = new Map<number, Minor>();
  const canReopen = new Set<number>();
  for (const { accountId, movement } of movements) {
    if (movement.kind !== 'money_in') canReopen.add(accountId);
    const amountMinor = movement.kind === 'money_in' ? movement.amountMinor : 0n;
    moneyIn.set(accountId, (moneyIn.get(accountId) ?? 0n) + amountMinor);
  }
  return [...moneyIn].flatMap(([id, inMinor]) => {
    const account = accounts.get(id);
    if (!account) return [];
    const isNear = isStatusIn(account.status, 'paidInFull')
      ? canReopen.has(id) && (account.plan_version > 0 || account.early_payoff)
      : inMinor > 0n && canEarnPayoff(account, inMinor);
    return isNear ? [account] : [];
  });
}

/** Posts an event, and the early payoffs that its money earns. @returns the error if the event does not pass the checks of an account. */
export function postWithPayoffs(running: RunningBooks, event: MoneyEvent): AppError | undefined {
  const refusal = postEvent(running, event);
  if (refusal) return refusal;
  for (const { accountId, movement } of event.movements) {
    const facts = running.payoffs.get(accountId);
    // `money_out` takes back a payment, whose money is not in the facts.
    if (!facts || (movement.kind !== 'money_in' && movement.kind !== 'credit_out')) continue;
    const amountMinor = movement.kind === 'money_in' ? movement.amountMinor : -movement.amountMinor;
    const now = withMoney(facts, event.valueDate, amountMinor);
    const { account, paidMinor } = present(running, accountId);
    const { actor } = event;
    const payoff = amountMinor > 0n ? payoffEarned(account, now, { actor, paidMinor }) : undefined;
    // The account is completed, so it has no offer any more.
    running.payoffs.set(accountId, payoff ? { ...now, offer: undefined } : now);
    if (payoff) postMoves(running, actor, payoff.day, [payoff]);
  }
  return undefined;
}

/**
 * The books of an account just before a payment, with the price after the early payoff that the payment earns. Undefined for an account that the
 * transaction has not locked.
 */
export function booksToPay(
  running: RunningBooks,
  accountId: number,
  { actor, amountMinor, valueDate }: Pick<MoneyEvent, 'actor' | 'valueDate'> & { amountMinor: Minor },
): AccountBooks | undefined {
  const books = runningBooksOf(running, accountId);
  const account = running.accounts.get(accountId);
  const facts = running.payoffs.get(accountId);
  if (!books || !account || !facts) return books;
  const { paidMinor, totalMinor } = books;
  const payoff = payoffEarned(account, withMoney(facts, valueDate, amountMinor), { actor, paidMinor });
  return payoff ? { ...books, totalMinor: totalMinor + payoff.byMinor } : books;
}

/**
 * Undoes the early payoffs of accounts that no longer pay their price after all events. If a transaction reopens an account to which it also
 * brings money, as the correction of an amount can, the money can earn a payoff: as if it came after the account was reopened.
 */
export function closePayoffs(running: RunningBooks, histories: ReadonlyMap<number, StatusHistory>): void {
  for (const [accountId, facts] of running.payoffs) {
    const own = running.posted.filter(({ movements }) =>
      movements.some((one) => one.accountId === accountId),
    );
    const actor = own.at(-1)?.actor;
    if (!actor) continue;
    const { account, paidMinor } = present(running, accountId);
    const moves = payoffUndone(account, facts, { actor, paidMinor });
    if (facts.inEffect) postMoves(running, actor, facts.inEffect.effectiveOn, moves);

    const { account: undone } = present(running, accountId);
    const hasNewMoney = own.some(({ movements }) =>
      movements.some((one) => one.accountId === accountId && one.movement.kind === 'money_in'),
    );
    if (!hasNewMoney || !isToReopen(undone.status, paidMinor, BigInt(undone.total_minor))) continue;
    const status = statusBeforeCompletion(histories.get(accountId));
    const payoff = payoffEarned(undone, factsAfterUndo(facts, moves), { actor, paidMinor, status });
    if (payoff) postMoves(running, actor, payoff.day, [payoff]);
  }
}

function present(running: RunningBooks, accountId: number) {
  const account = running.accounts.get(accountId);
  const books = runningBooksOf(running, accountId);
  if (!account || !books) throw new Error(`Account ${accountId} is not locked.`);
  return { account, paidMinor: books.paidMinor };
}

/** Posts the difference of the prices before the first and after the last change. */
function postMoves(
  running: RunningBooks,
  actor: Actor,
  valueDate: PlainDate,
  moves: readonly PlanMove[],
): void {
  const account = moves.at(-1)?.account;
  if (!account) return;
  running.accounts.set(account.id, account);
  const byMinor = moves.reduce((sum, move) => sum + move.byMinor, 0n);
  const refusal = postEvent(running, {
    ...{ event: 'price_discounted', actor, valueDate, contra: [], planMoves: moves },
    rows: { changes: moves.flatMap(({ rows }) => rows) },
    movements: [{ accountId: account.id, movement: { kind: 'change_price', byMinor } }],
  });
  if (refusal) throw refusal;
}
