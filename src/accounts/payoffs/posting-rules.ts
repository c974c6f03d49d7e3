import { WHOLE_SHARE } from '../../catalogue/pay-plans/instalment-rounding-rules.ts';
import type { EarlyPayoff } from '../../catalogue/pay-plans/rules.ts';
import { auditRow, type ChangeRow, event } from '../../changes/events/change-rules.ts';
import type { Actor } from '../../core/context.ts';
import type { RowsOf } from '../../core/database/rows.ts';
import type { AccountStatus, Row } from '../../core/database/tables.ts';
import { compareDates, later, type PlainDate } from '../../core/values/dates.ts';
import { type Minor, maxMinor } from '../../core/values/money.ts';
import {
  chargesOf,
  nextDueDate,
  type RecordedTerms,
  recordedTermsOf,
  storedRuns,
  termColumns,
  termsOf,
  totalOf,
  withLowerPrice,
} from '../schedule/rules.ts';
import { isStatusIn } from '../status/rules.ts';
import {
  earnedPayoff,
  type NoPayoffReason,
  offerOn,
  type PayoffOffer,
  type PayoffSituation,
} from './rules.ts';

// What money does to the early payoff of an account: it earns one, or falls below its price and ends it.

type AccountRow = Row<'accounts'>;
type NewOriginalTerms = NonNullable<RowsOf<'original_terms'>['original_terms']>[number];
type NewPlanChange = NonNullable<RowsOf<'plan_changes'>['plan_changes']>[number];

/** The offer of a pay plan, as accounts are locked with it. */
export interface OfferOfPlan extends EarlyPayoff {
  roundingMinor: number | null;
}

/** An account that the transaction has locked, with what its pay plan offers for an early payoff. Null also for events without money. */
export type LockedAccount = AccountRow & { early_payoff: OfferOfPlan | null };

/** The columns of `original_terms` that do not name a change. */
export type OriginalColumns = Omit<NewOriginalTerms, 'account_id' | 'version' | 'effective_on'>;

/** What was read to decide about the early payoff of an account. */
export interface PayoffFacts {
  /** Undefined if the pay plan offers none. */
  offer: PayoffOffer | undefined;
  /** The ids for new changes of the plan. */
  changeIds: readonly number[];
  /** The sum of the unreversed payments and credit moves of each date, without those of the money events of the transaction. */
  money: ReadonlyMap<PlainDate, Minor>;
  /** The latest date of a change of the plan, without the payoff in effect. */
  latestChange: PlainDate | null;
  /** The newest original terms. Null if there are none. */
  original: OriginalColumns | null;
  /** The early payoff that is not undone. */
  inEffect: PayoffInEffect | null;
}

interface PayoffInEffect extends UndoableChange {
  effectiveOn: PlainDate;
  /** The later changes, in their order. On a paid account, staff can only correct the price, and undo this. */
  since: LaterChange[];
}

interface UndoableChange {
  id: number;
  before: RecordedTerms;
  originalBefore: OriginalColumns | null;
}

type LaterChange = UndoableChange &
  Omit<NewPlanChange, 'before'> & {
    kind: 'price_correction' | 'undo';
    effective_on: PlainDate;
    price_change_minor: number;
    undoes: number | null;
  };

/** The columns that a payoff or its undo sets, and the row of the change. */
export interface PlanMove {
  account: AccountRow;
  /** The day of the change. */
  day: PlainDate;
  changeId: number;
  byMinor: Minor;
  change: NewPlanChange;
  original: NewOriginalTerms;
  rows: ChangeRow[];
}

/** Whether money that comes to the account can earn a payoff, so that more has to be read. @param moneyMinor - the sum of the money. */
export function canEarnPayoff(account: LockedAccount, moneyMinor: Minor): boolean {
  const { early_payoff: offer, status } = account;
  if (!offer || !isStatusIn(status, 'offersPayoff')) return false;
  const { chargedMinor, instalmentsMinor } = chargesOf(termsOf(account));
  const mostMinor = (instalmentsMinor * BigInt(offer.discountBasisPoints)) / BigInt(WHOLE_SHARE);
  return BigInt(account.paid_minor) + moneyMinor >= chargedMinor - mostMinor;
}

/** The account on a day, and the sum of its money up to the end of the day. */
function situationOn(
  account: AccountRow,
  { money, latestChange }: Pick<PayoffFacts, 'money' | 'latestChange'>,
  day: PlainDate,
): { situation: PayoffSituation; paidMinor: Minor } {
  const sumOf = (counts: (date: PlainDate) => boolean) =>
    [...money].reduce((sum, [date, amountMinor]) => (counts(date) ? sum + amountMinor : sum), 0n);
  const dates = [...money.keys(), ...(latestChange === null ? [] : [latestChange])];
  const latestDate = dates.reduce<PlainDate | null>((last, date) => (last ? later(last, date) : date), null);
  const paidBeforeMinor = sumOf((date) => compareDates(date, day) < 0);
  return {
    situation: { terms: termsOf(account), status: account.status, paidBeforeMinor, latestDate },
    paidMinor: sumOf((date) => compareDates(date, day) <= 0),
  };
}

/** What decides about the offer to an account. */
export type OfferFacts = Pick<PayoffFacts, 'money' | 'latestChange'> & { offer: PayoffOffer };

export interface ShownPayoff {
  /** What the customer has to pay on the day. */
  amountMinor: Minor;
  discountMinor: Minor;
  until: PlainDate | null;
  unpaidDues: number;
}

/**
 * The early payoff that an account can earn by a payment of a day, or why it can earn none.
 * @param facts - undefined if the pay plan offers none.
 */
export function payoffShown(
  account: AccountRow,
  facts: OfferFacts | undefined,
  day: PlainDate,
): ShownPayoff | NoPayoffReason {
  if (!facts) return 'not_offered';
  const { situation, paidMinor } = situationOn(account, facts, day);
  const offered = offerOn(facts.offer, situation, day);
  if (typeof offered === 'string') return offered;
  const { discountMinor, unpaidDues } = offered;
  // At least the smallest amount, because a discount of the price alone earns no payoff.
  const amountMinor = maxMinor(totalOf(situation.terms) - discountMinor - paidMinor, 1n);
  return { amountMinor, discountMinor, until: facts.offer.until, unpaidDues };
}

/** The facts with the money of a payment or credit move. */
export function withMoney<Facts extends Pick<PayoffFacts, 'money'>>(
  facts: Facts,
  valueDate: PlainDate,
  amountMinor: Minor,
): Facts {
  const sumMinor = (facts.money.get(valueDate) ?? 0n) + amountMinor;
  return { ...facts, money: new Map(facts.money).set(valueDate, sumMinor) };
}

/**
 * The discount that new money has earned: on the latest day with money, which can be later than that of the new money. It is 0 if it has
 * earned none.
 * @param facts - with the new money.
 */
export function discountEarned(
  account: AccountRow,
  facts: OfferFacts,
  status: AccountStatus,
): { day: PlainDate; discountMinor: Minor } {
  const day = [...facts.money.keys()].reduce(later);
  const { situation, paidMinor } = situationOn(account, facts, day);
  return { day, discountMinor: earnedPayoff(facts.offer, { ...situation, status }, { day, paidMinor }) };
}

/**
 * The payoff that new money has earned. Undefined if it has earned none.
 * @param facts - with the new money.
 * @param status - that of an account that the transaction reopens. Default: the status of the account.
 */
export function payoffEarned(
  account: AccountRow,
  { offer, money, latestChange, ...facts }: PayoffFacts,
  { actor, paidMinor, status = account.status }: { actor: Actor; paidMinor: Minor; status?: AccountStatus },
): PlanMove | undefined {
  if (!offer || facts.inEffect || money.size === 0) return undefined;
  const { day, discountMinor } = discountEarned(account, { offer, money, latestChange }, status);
  if (discountMinor === 0n) return undefined;
  const { basisPoints: discountBasisPoints, until, minDues, roundingMinor } = offer;
  return loweredPrice(account, discountMinor, {
    ...{ day, actor, paidMinor, original: facts.original },
    change: {
      id: facts.changeIds[0],
      kind: 'payoff',
      // The offer can change later.
      body: { earlyPayoff: { discountBasisPoints, until, minDues }, roundingMinor: Number(roundingMinor) },
    },
  });
}

/**
 * Undoes a payoff whose price is no longer paid. The undo has the date of the payoff, so that the payoff counts on no day. Later corrections of
 * the price are undone, too, and all is made again without the payoff, with the same dates. So the price only rises by the discount.
 */
export function payoffUndone(
  account: AccountRow,
  { changeIds, inEffect }: PayoffFacts,
  { actor, paidMinor }: { actor: Actor; paidMinor: Minor },
): PlanMove[] {
  if (!inEffect || paidMinor >= BigInt(account.total_minor)) return [];
  const { since } = inEffect;
  const ids = changeIds.values();
  const moves: PlanMove[] = [];
  const present = () => moves.at(-1) ?? { account, original: null };
  const make = (day: PlainDate, change: Omit<MadeMove['change'], 'id'>) => ({
    ...{ actor, paidMinor, day, change: { ...change, id: ids.next().value } },
  });
  const undo = (undone: UndoableChange, day: PlainDate, change: object = {}) => {
    const original = undone.originalBefore ?? { corrected_minor: 0 };
    const made = make(day, { reason: UNDO_REASON, body: {}, ...change, kind: 'undo', undoes: undone.id });
    moves.push(planMove(present().account, undone.before, { ...made, original }));
  };

  const undone = new Set(since.map(({ undoes }) => undoes));
  for (const change of since.toReversed())
    if (change.kind === 'price_correction' && !undone.has(change.id)) undo(change, change.effective_on);
  undo(inEffect, inEffect.effectiveOn);

  /** The corrections that are made again, by the ids of the earlier ones. */
  const again = new Map<number, UndoableChange>();
  for (const { originalBefore: _, ...change } of since) {
    const { account: before, original } = present();
    const repeated = again.get(change.undoes ?? 0);
    if (repeated) {
      undo(repeated, change.effective_on, change);
      continue;
    }
    const made = make(change.effective_on, change);
    const move = loweredPrice(before, BigInt(-change.price_change_minor), { ...made, original });
    moves.push(move);
    again.set(change.id, {
      ...{ id: move.changeId, before: recordedTermsOf(before), originalBefore: original },
    });
  }
  return moves;
}

/** What decides about the next payoff. @param moves - by `payoffUndone`. */
export function factsAfterUndo(facts: PayoffFacts, moves: readonly PlanMove[]): PayoffFacts {
  const last = moves.at(-1);
  if (!last) return facts;
  return {
    ...facts,
    ...{ inEffect: null, original: last.original, changeIds: facts.changeIds.slice(moves.length) },
  };
}

const UNDO_REASON = 'the sum paid fell below the price of the early payoff';

interface MadeMove {
  day: PlainDate;
  actor: Actor;
  paidMinor: Minor;
  change: Omit<Partial<NewPlanChange>, 'id' | 'body' | 'before' | 'after'> &
    Pick<NewPlanChange, 'kind'> & { id: number | undefined; body?: unknown };
}

/** @param original - the original terms before the move. */
function loweredPrice(
  account: AccountRow,
  byMinor: Minor,
  { original, ...made }: MadeMove & { original: OriginalColumns | null },
): PlanMove {
  const terms = termsOf(account);
  const lowered = withLowerPrice(terms, byMinor);
  const { run_from = null, run_before_minor = null } = lowered.runs ? storedRuns(lowered) : {};
  const columns = {
    ...termColumns(lowered),
    total_minor: Number(totalOf(lowered)),
    run_from,
    run_before_minor,
  };
  const hasOriginal = original !== null && typeof original.total_minor === 'number';
  return planMove(account, columns, {
    ...made,
    original: {
      ...(hasOriginal ? original : { total_minor: account.total_minor, ...storedRuns(terms) }),
      corrected_minor: Number(original?.corrected_minor ?? 0) - Number(byMinor),
    },
  });
}

/** The type of a column for any JSON has no interfaces. */
const asJson = (terms: RecordedTerms) => terms as unknown as NewPlanChange['before'];

function planMove(
  before: AccountRow,
  columns: Partial<AccountRow>,
  { day, actor, paidMinor, change, original }: MadeMove & { original: OriginalColumns },
): PlanMove {
  const { id: accountId, total_minor: previousTotalMinor } = before;
  const { id: changeId, kind, reason = null } = change;
  if (changeId === undefined)
    throw new Error(`There is no id for a change of the plan of account ${accountId}.`);
  // The due date stays: the ledger compares the new one with that before the change.
  const account = { ...before, ...columns, plan_version: before.plan_version + 1 };
  const { total_minor: totalMinor, plan_version: version } = account;
  const byMinor = BigInt(totalMinor) - BigInt(previousTotalMinor);
  const named = { account_id: accountId, version, effective_on: day };
  const made = { kind, changeId, planVersion: version };
  return {
    day,
    account,
    changeId,
    byMinor,
    change: {
      actor_user_id: actor.userId,
      api_key_id: actor.apiKey?.id ?? null,
      ...change,
      ...named,
      id: changeId,
      body: change.body as NewPlanChange['body'],
      before: asJson(recordedTermsOf(before)),
      after: asJson(recordedTermsOf(account)),
      price_change_minor: byMinor,
    },
    original: { ...original, ...named },
    rows: [
      auditRow(actor, {
        action: 'account.change_plan',
        resource: 'account',
        resourceId: accountId,
        before: { totalMinor: previousTotalMinor },
        after: { ...made, reason, totalMinor },
        event: event(
          'account.plan_changed',
          { ...made, totalMinor, previousTotalMinor, nextDueDate: nextDueDate(account, Number(paidMinor)) },
          { id: accountId },
        ),
      }),
    ],
  };
}
