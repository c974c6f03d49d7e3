import type { AppError } from '../../core/http/errors.ts';
import type { Minor } from '../../core/values/money.ts';
import { type PayoffFacts, type PlanMove, payoffEarned, payoffUndone } from '../payoffs/posting-rules.ts';
import { type AccountRow, type MoneyEvent, postEvent, type RunningBooks, runningBooksOf } from './rules.ts';

// Posts money events, and the early payoffs that they earn or end.

/** Posts an event, and the early payoffs that its money earns. @returns the error if the event does not pass the checks of an account. */
export function postWithPayoffs(running: RunningBooks, event: MoneyEvent): AppError | undefined {
  const refusal = postEvent(running, event);
  if (refusal) return refusal;
  for (const { accountId, movement } of event.movements) {
    const facts = running.payoffs.get(accountId);
    if (!facts || (movement.kind !== 'money_in' && movement.kind !== 'credit_out')) continue;
    const amountMinor = movement.kind === 'money_in' ? movement.amountMinor : -movement.amountMinor;
    const now = withMoney(facts, event, amountMinor);
    running.payoffs.set(accountId, now);
    if (movement.kind === 'money_in')
      postMoves(running, accountId, event, (account, paidMinor) =>
        payoffEarned(account, now, { day: event.valueDate, actor: event.actor, paidMinor }),
      );
  }
  return undefined;
}

/** Undoes the early payoffs of accounts that no longer pay their price after all events. */
export function undoPayoffs(running: RunningBooks): void {
  for (const [accountId, facts] of running.payoffs) {
    const event = running.posted.findLast(({ movements }) =>
      movements.some((one) => one.accountId === accountId),
    );
    if (event)
      postMoves(running, accountId, event, (account, paidMinor) =>
        payoffUndone(account, facts, { actor: event.actor, paidMinor }),
      );
  }
}

/** The money without that of reversed payments, which was not read. */
function withMoney(facts: PayoffFacts, { valueDate }: MoneyEvent, amountMinor: Minor): PayoffFacts {
  const sumMinor = (facts.money.get(valueDate) ?? 0n) + amountMinor;
  return { ...facts, money: new Map(facts.money).set(valueDate, sumMinor) };
}

function postMoves(
  running: RunningBooks,
  accountId: number,
  { actor }: MoneyEvent,
  decide: (account: AccountRow, paidMinor: Minor) => readonly PlanMove[],
): void {
  const account = running.accounts.get(accountId);
  const books = runningBooksOf(running, accountId);
  for (const move of account && books ? decide(account, books.paidMinor) : []) {
    running.accounts.set(accountId, move.account);
    const refusal = postEvent(running, {
      event: move.event,
      actor,
      valueDate: move.valueDate,
      movements: [{ accountId, movement: { kind: 'change_price', byMinor: move.byMinor } }],
      contra: [],
      rows: { changes: move.rows },
      planMove: move,
    });
    if (refusal) throw refusal;
  }
}
