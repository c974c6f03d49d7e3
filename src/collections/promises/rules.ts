import { balanceOf } from '../../accounts/ledger/money-on-account-rules.ts';
import { nextInstalment, position, termsOf } from '../../accounts/schedule/rules.ts';
import { dueRuleOf, isStatusIn } from '../../accounts/status/rules.ts';
import type { AccountStatus, JudgedPromiseState } from '../../core/database/tables.ts';
import { invalidField } from '../../core/http/errors.ts';
import { addDays, compareDates, type PlainDate } from '../../core/values/dates.ts';
import { type Minor, minMinor } from '../../core/values/money.ts';

export const JUDGED_STATES = [
  'kept',
  'partly_kept',
  'broken',
  'void',
  'replaced',
] as const satisfies JudgedPromiseState[];

/** A promise is open until the end of its date. */
export const PROMISE_STATES = ['open', ...JUDGED_STATES] as const;
export type PromiseState = (typeof PROMISE_STATES)[number];

export const MAX_PROMISE_DAYS = 30;
/**
 * Events tell of a changed judgement only until this many days after the date of a promise. Without an end, the check of each hour would
 * read all promises that were ever made. Answers derive the state of older promises too.
 */
export const JUDGED_AGAIN_DAYS = 90;

/** What a customer can promise for an account on a day. */
export interface PromiseLimits {
  minimumMinor: Minor;
  maximumMinor: Minor;
  from: PlainDate;
  until: PlainDate;
}

/**
 * From the lower of the next instalment and the arrears, up to the balance, and at most 30 days ahead. If nothing is late, from the next
 * instalment, so that a promise is never a formality.
 */
export function limitsOf(
  account: { instalmentMinor: Minor; arrearsMinor: Minor; balanceMinor: Minor },
  today: PlainDate,
): PromiseLimits {
  const { instalmentMinor, arrearsMinor, balanceMinor } = account;
  const lower = arrearsMinor > 0n ? minMinor(instalmentMinor, arrearsMinor) : instalmentMinor;
  return {
    minimumMinor: lower > 0n ? minMinor(lower, balanceMinor) : balanceMinor,
    maximumMinor: balanceMinor,
    from: today,
    until: addDays(today, MAX_PROMISE_DAYS),
  };
}

/** What a customer can promise now for an account. Undefined if nothing is expected: the account is paid off, closed or not active yet. */
export function promiseLimitsOf(
  row: Parameters<typeof termsOf>[0] & { status: AccountStatus; paid_minor: number; total_minor: number },
  day: PlainDate,
): PromiseLimits | undefined {
  const { status } = row;
  if (!isStatusIn(status, 'called')) return undefined;
  const paidMinor = BigInt(row.paid_minor);
  const terms = termsOf(row);
  const { arrearsMinor } = position(terms, { paidMinor, today: day, ...dueRuleOf(status) });
  const balanceMinor = balanceOf({ status, totalMinor: BigInt(row.total_minor), paidMinor });
  if (balanceMinor <= 0n) return undefined;
  return limitsOf({ instalmentMinor: nextInstalment(terms, paidMinor), arrearsMinor, balanceMinor }, day);
}

/** @throws AppError VALIDATION_ERROR that names the limit. @param show - the text of an amount. */
export function checkPromise(
  { amountMinor, date }: { amountMinor: Minor; date: PlainDate },
  { minimumMinor, maximumMinor, from, until }: PromiseLimits,
  show: (minor: Minor) => string,
): void {
  if (amountMinor < minimumMinor || amountMinor > maximumMinor) {
    throw invalidField(
      'promise.amount',
      `must be from ${show(minimumMinor)} (the lower of the next instalment and the arrears, or the next instalment if nothing is late) to ${show(maximumMinor)} (the balance)`,
    );
  }
  if (compareDates(date, from) < 0 || compareDates(date, until) > 0) {
    throw invalidField(
      'promise.date',
      `must be from ${from} to ${until}, at most ${MAX_PROMISE_DAYS} days ahead`,
    );
  }
}
