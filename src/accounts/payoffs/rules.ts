import { WHOLE_SHARE } from '../../catalogue/pay-plans/rules.ts';
import type { AccountStatus } from '../../core/database/tables.ts';
import { compareDates, type PlainDate } from '../../core/values/dates.ts';
import { type Minor, maxMinor } from '../../core/values/money.ts';
import { dueBy, itemCount, itemsBy, itemsCovered, type Terms, totalOf } from '../schedule/rules.ts';
import { isStatusIn } from '../status/rules.ts';

// A pay plan can offer a discount to a customer who pays all that is left on one day. The offer counts only money dated before this day,
// so that two payments of the day are as good as one.

export interface PayoffOffer {
  /** The part of the unpaid instalments after the day of the payoff that is discounted. */
  basisPoints: number;
  /** The last day of the offer. Null for an offer without end. */
  until: PlainDate | null;
  /** The number of unpaid instalments after the day of the payoff that an account needs. */
  minDues: number;
  /** The discount is rounded down to a multiple of this amount. */
  roundingMinor: Minor;
}

export interface PayoffSituation {
  terms: Terms;
  status: AccountStatus;
  /** The sum of the unreversed payments and credit moves that are dated before the day of the payoff. */
  paidBeforeMinor: Minor;
  /** The latest date of money, and of changes of the plan. Null if there are none. */
  latestDate: PlainDate | null;
}

/** The discount for an account that pays all that is left on a day. 0 if none is offered. */
export function payoffOffer(
  { basisPoints, until, minDues, roundingMinor }: PayoffOffer,
  { terms, status, paidBeforeMinor, latestDate }: PayoffSituation,
  day: PlainDate,
): Minor {
  const isOffered = until === null || compareDates(day, until) <= 0;
  const isLatest = latestDate === null || compareDates(latestDate, day) <= 0;
  const hasDeposit = paidBeforeMinor >= terms.depositMinor;
  if (!isOffered || !isLatest || !hasDeposit || !isStatusIn(status, 'offersPayoff')) return 0n;
  const total = totalOf(terms);
  const unpaidDues = itemCount(terms) - Math.max(itemsCovered(terms, paidBeforeMinor), itemsBy(terms, day));
  if (unpaidDues < minDues) return 0n;
  const unpaidMinor = total - maxMinor(paidBeforeMinor, dueBy(terms, day));
  const wholeUnits = (unpaidMinor * BigInt(basisPoints)) / (BigInt(WHOLE_SHARE) * roundingMinor);
  return wholeUnits * roundingMinor;
}

/**
 * The discount to post when money arrives: the offer, if the money up to the day pays the rest. What is paid beyond it is credit.
 * @param paidMinor - the sum of the unreversed money dated up to the day.
 */
export function earnedPayoff(
  offer: PayoffOffer,
  situation: PayoffSituation,
  { day, paidMinor }: { day: PlainDate; paidMinor: Minor },
): Minor {
  const discountMinor = payoffOffer(offer, situation, day);
  return paidMinor >= totalOf(situation.terms) - discountMinor ? discountMinor : 0n;
}
