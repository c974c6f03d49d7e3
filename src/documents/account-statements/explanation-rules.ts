import { type Charges, chargesOf, type Terms } from '../../accounts/schedule/rules.ts';
import { isStatusIn, statusOn } from '../../accounts/status/rules.ts';
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
export interface DebtExplanation extends Charges {
  state: ExplanationState;
  status: AccountStatus;
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
  const all = chargesOf(terms);
  const total = all.chargedMinor;
  const facts = {
    ...all,
    status,
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
  if (isStatusIn(status, 'saleUndone')) {
    return {
      ...facts,
      state: 'cancelled',
      depositMinor: 0n,
      instalmentCount: 0,
      instalments: [],
      instalmentsMinor: 0n,
      chargedMinor: 0n,
      creditMinor: maxMinor(paidMinor, 0n),
      remainingMinor: maxMinor(-paidMinor, 0n),
    };
  }
  if (position.paymentState === 'paid_off') {
    return { ...facts, state: 'paid_off', creditMinor: paidMinor - total };
  }
  if (isStatusIn(status, 'closed')) {
    return { ...facts, state: 'written_off', remainingMinor: total - paidMinor };
  }
  if (position.paymentState === 'not_due') {
    return { ...facts, state: 'not_started', remainingMinor: total - paidMinor };
  }
  const charges = chargesOf(terms, date);
  const aheadMinor = maxMinor(paidMinor - charges.chargedMinor, 0n);
  return { ...facts, ...charges, state: stateOf(quote, aheadMinor), aheadMinor };
}

function stateOf({ overdueMinor, dueOnDateMinor }: Quote, aheadMinor: Minor): ExplanationState {
  if (overdueMinor > 0n) return 'late';
  if (dueOnDateMinor > 0n) return 'due';
  return aheadMinor > 0n ? 'ahead' : 'up_to_date';
}
