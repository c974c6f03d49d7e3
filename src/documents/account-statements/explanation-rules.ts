import { itemsBy, type Terms } from '../../accounts/schedule/rules.ts';
import { isStatusIn, statusOn } from '../../accounts/status/rules.ts';
import { totalMinor } from '../../catalogue/pay-plans/rules.ts';
import type { AccountStatus } from '../../core/database/tables.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import { type Minor, maxMinor } from '../../core/values/money.ts';
import type { Quote } from './quote-rules.ts';

// Why a customer owes an amount, as figures that add up to the minor unit.

/** The state of an account on a day is the first of these that applies, in the order of `explainDebt`. */
export const EXPLANATION_STATES = [
  'paid_off',
  'cancelled',
  'written_off',
  'not_started',
  'late',
  'due',
  'ahead',
  'up_to_date',
] as const;
export type ExplanationState = (typeof EXPLANATION_STATES)[number];

/** charged − paid = late + dueOnDate + remaining − ahead − credit. */
export interface DebtExplanation {
  state: ExplanationState;
  status: AccountStatus;
  /** The part of `chargedMinor` that is the deposit. */
  depositMinor: Minor;
  /** The number of instalments in `chargedMinor`. */
  instalmentCount: number;
  instalmentMinor: Minor;
  chargedMinor: Minor;
  paidMinor: Minor;
  lateMinor: Minor;
  lateSince: PlainDate | null;
  dueOnDateMinor: Minor;
  aheadMinor: Minor;
  creditMinor: Minor;
  /** Unpaid, and not due on the day. */
  remainingMinor: Minor;
  startsOn: PlainDate;
  nextDueDate: PlainDate | null;
  nextDueMinor: Minor | null;
}

interface ExplainedAccount {
  terms: Terms;
  status: AccountStatus;
  paidMinor: Minor;
}

/** @param quote - the quote of the account on the date, by `quoteOf`. */
export function explainDebt(account: ExplainedAccount, quote: Quote, date: PlainDate): DebtExplanation {
  const { terms, paidMinor } = account;
  const { position } = quote;
  const status = statusOn(account.status, terms.activationDate, date);
  const total = totalMinor(terms);
  const facts = {
    status,
    instalmentMinor: terms.instalmentMinor,
    paidMinor,
    lateMinor: quote.overdueMinor,
    lateSince: quote.overdueMinor > 0n ? position.nextDueDate : null,
    dueOnDateMinor: quote.dueOnDateMinor,
    aheadMinor: 0n,
    creditMinor: 0n,
    remainingMinor: 0n,
    startsOn: terms.activationDate,
    nextDueDate: position.nextDueDate,
    nextDueMinor: position.nextDueAmountMinor,
  };
  const all = {
    depositMinor: terms.depositMinor,
    instalmentCount: terms.instalmentCount,
    chargedMinor: total,
  };
  if (isStatusIn(status, 'saleUndone')) {
    return {
      ...facts,
      state: 'cancelled',
      depositMinor: 0n,
      instalmentCount: 0,
      chargedMinor: 0n,
      creditMinor: maxMinor(paidMinor, 0n),
      remainingMinor: maxMinor(-paidMinor, 0n),
    };
  }
  if (position.paymentState === 'paid_off') {
    return { ...facts, ...all, state: 'paid_off', creditMinor: paidMinor - total };
  }
  if (isStatusIn(status, 'closed')) {
    return { ...facts, ...all, state: 'written_off', remainingMinor: total - paidMinor };
  }
  if (position.paymentState === 'not_due') {
    return { ...facts, ...all, state: 'not_started', remainingMinor: total - paidMinor };
  }
  const instalmentCount = itemsBy(terms, date) - 1;
  const chargedMinor = terms.depositMinor + BigInt(instalmentCount) * terms.instalmentMinor;
  const aheadMinor = maxMinor(paidMinor - chargedMinor, 0n);
  return {
    ...facts,
    state: stateOf(quote, aheadMinor),
    depositMinor: terms.depositMinor,
    instalmentCount,
    chargedMinor,
    aheadMinor,
  };
}

function stateOf({ overdueMinor, dueOnDateMinor }: Quote, aheadMinor: Minor): ExplanationState {
  if (overdueMinor > 0n) return 'late';
  if (dueOnDateMinor > 0n) return 'due';
  return aheadMinor > 0n ? 'ahead' : 'up_to_date';
}
