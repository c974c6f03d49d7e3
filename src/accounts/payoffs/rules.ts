import { WHOLE_SHARE } from '../../catalogue/pay-plans/instalment-rounding-rules.ts';
import { MAX_RUNS } from '../../catalogue/pay-plans/rules.ts';
import type { AccountStatus } from '../../core/database/tables.ts';
import { compareDates, type PlainDate } from '../../core/values/dates.ts';
import { type Minor, maxMinor } from '../../core/values/money.ts';
import { dueBy, duesOf, itemCount, itemsBy, itemsCovered, type Terms, totalOf } from '../schedule/rules.ts';
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

/** Why an account has no offer. */
export const NO_PAYOFF_REASONS = [
  /** The pay plan offers no early payoff. */
  'not_offered',
  /** The last day of the offer is before the day. */
  'ended',
  /** The account is not active, suspended or defaulted, or it was activated after the day. */
  'status',
  /** Money or a change of the plan is dated after the day. Before the two reasons that money of a later day can end. */
  'later_entries',
  'deposit_unpaid',
  /** Fewer instalments are unpaid than the pay plan says. */
  'too_few_dues',
  /** The discount would be below the rounding unit. */
  'too_small',
  /** The schedule has as many runs as an account can store, and the discount could add one. */
  'too_many_runs',
] as const;
export type NoPayoffReason = (typeof NO_PAYOFF_REASONS)[number];

interface OfferOfDay {
  discountMinor: Minor;
  /** The number of unpaid instalments after the day. */
  unpaidDues: number;
}

/** The discount for an account that pays all that is left on a day, or why none is offered. */
export function offerOn(
  { basisPoints, until, minDues, roundingMinor }: PayoffOffer,
  { terms, status, paidBeforeMinor, latestDate }: PayoffSituation,
  day: PlainDate,
): OfferOfDay | NoPayoffReason {
  if (until !== null && compareDates(day, until) > 0) return 'ended';
  if (!isStatusIn(status, 'offersPayoff')) return 'status';
  if (latestDate !== null && compareDates(latestDate, day) > 0) return 'later_entries';
  if (compareDates(day, terms.activationDate) < 0) return 'status';
  if (paidBeforeMinor < terms.depositMinor) return 'deposit_unpaid';
  const unpaidDues = itemCount(terms) - Math.max(itemsCovered(terms, paidBeforeMinor), itemsBy(terms, day));
  if (unpaidDues < minDues) return 'too_few_dues';
  const unpaidMinor = totalOf(terms) - maxMinor(paidBeforeMinor, dueBy(terms, day));
  const wholeUnits = (unpaidMinor * BigInt(basisPoints)) / (BigInt(WHOLE_SHARE) * roundingMinor);
  const discountMinor = wholeUnits * roundingMinor;
  if (discountMinor === 0n) return 'too_small';
  // What is cut off the end, also by later corrections of the price, adds at most one run.
  return duesOf(terms).length + 1 > MAX_RUNS ? 'too_many_runs' : { discountMinor, unpaidDues };
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
  const offered = offerOn(offer, situation, day);
  if (typeof offered === 'string') return 0n;
  const { discountMinor } = offered;
  return paidMinor >= totalOf(situation.terms) - discountMinor ? discountMinor : 0n;
}
