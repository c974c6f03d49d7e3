import { instalmentsShare, roundedUp } from '../../catalogue/pay-plans/instalment-rounding-rules.ts';
import { shapeOf } from '../../catalogue/pay-plans/rules.ts';
import { findPayPlanRow, type PayPlanRow } from '../../catalogue/pay-plans/store.ts';
import { auditRow, event } from '../../changes/events/change-rules.ts';
import { type Actor, amountOf, type Context, type Currency, readAmount, today } from '../../core/context.ts';
import type { Tx } from '../../core/database/db.ts';
import type { AccountStatus, PlanChangeKind } from '../../core/database/tables.ts';
import { inTransaction } from '../../core/database/transactions.ts';
import { type FieldProblem, invalid, invalidField, notFound } from '../../core/http/errors.ts';
import { addDays, compareDates, daysBetween, earlier, type PlainDate } from '../../core/values/dates.ts';
import { type Minor, maxMinor } from '../../core/values/money.ts';
import { type ApprovableAction, requestApproval } from '../../staff/approvals/commands.ts';
import {
  type ApprovalRow,
  accountIdOf,
  type DoneOrRequested,
  needsApproval,
} from '../../staff/approvals/rules.ts';
import { post } from '../ledger/commands.ts';
import type { AccountRow } from '../ledger/rules.ts';
import { lockAccounts } from '../ledger/store.ts';
import {
  completionDate,
  firstInstalmentDate,
  instalmentDateFrom,
  itemsWithin,
  type RecordedTerms,
  type Terms,
  termsOf,
  totalOf,
} from '../schedule/rules.ts';
import { isStatusIn } from '../status/rules.ts';
import { getAccountRow } from '../store.ts';
import { originalTerms } from './original-rules.ts';
import {
  checkFields,
  checkPaid,
  checkVersion,
  firstChangedDue,
  isRestructuring,
  ledgerEventOf,
  planChangeOf,
  statusProblem,
} from './request-rules.ts';
import { changedPlan, endOfSaleCorrection, type PlanSituation, readsPaid } from './rules.ts';
import type { NewPlanChange, RequestedKind } from './schema.ts';
import {
  findChangesInEffect,
  getPlanChange,
  insertOriginalTerms,
  insertPlanChange,
  type ListedPlanChange,
  type PlanChangeRow,
  sumLowered,
  updateTerms,
} from './store.ts';
import type { ShownEffect } from './view.ts';

/** What a change would do to an account, or what it has done. */
type Outcome = { shown: { account: AccountRow; effect: ShownEffect } } | DoneOrRequested<ListedPlanChange>;

/**
 * Changes the terms of an account, or undoes the newest change. Without `confirm`, changes nothing, and returns what the change would
 * do. If the price changes by more than the approval limit or, for a change that keeps the price, the balance is above the limit, the
 * change is sent for approval instead.
 */
export async function changePlan(
  context: Context,
  actor: Actor,
  id: number,
  body: NewPlanChange,
): Promise<Outcome> {
  checkFields(body, context.config.planChangeReasons);
  const { confirm } = body;
  return inTransaction(context.db, async (tx) => {
    const account = confirm ? (await lockAccounts(tx, [id])).get(id) : await getAccountRow(tx, id);
    if (!account) throw notFound('account', id);
    const effect = await effectOf(tx, context, account, body);
    if (!confirm) return { shown: { account, effect } };
    const requested = await requestApproval(tx, context, actor, {
      action: 'change_plan',
      accountId: id,
      paymentId: null,
      toAccountId: null,
      amountMinor: effect.approvedMinor,
      countedMinor: effect.countedMinor,
      reason: body.reason ?? '',
      body: {
        ...body,
        confirm: confirmedOnAnyDay(confirm),
        ...(effect.lastDay && { lastDay: effect.lastDay }),
      } satisfies StoredRequest,
      readsPaid: effect.readsPaid,
    });
    if (requested) return { requested };
    return { done: await applyChange(tx, context, actor, account, { body, effect }) };
  });
}

/** A change that is approved takes effect on the day of the approval, not on the day that was shown to the requester. */
function confirmedOnAnyDay({ version, paid }: NonNullable<NewPlanChange['confirm']>) {
  return { version, ...(paid !== undefined && { paid }) };
}

/** The request of an approval. */
interface StoredRequest extends NewPlanChange {
  /** The last day on which it can be approved. */
  lastDay?: PlainDate;
}

/** The action on the plan of an account that can need approval. */
export const PLAN_ACTIONS = {
  change_plan: {
    lock: async (tx, _context, request) => {
      await lockAccounts(tx, [accountIdOf(request)]);
    },
    expiry: expiryOf,
    execute: async (context, actor, request) => {
      const { lastDay, ...body } = requestOf(request);
      await changePlan(context, actor, accountIdOf(request), body);
      return null;
    },
  },
} as const satisfies Record<string, ApprovableAction>;

function requestOf({ body }: Pick<ApprovalRow, 'body'>): StoredRequest {
  return body as unknown as StoredRequest; // The column is any JSON, and changePlan stored this.
}

function expiryOf(context: Context, { body, state }: ApprovalRow): FieldProblem | undefined {
  const { kind, lastDay, ...request } = requestOf({ body });
  const { accountStatus: status } = state;
  const problem = status === null ? undefined : statusProblem(kind, status);
  if (problem) return problem;
  const day = today(context);
  if (!lastDay || compareDates(day, lastDay) <= 0) return undefined;
  const path = firstChangedDue({ kind, ...request })?.path ?? 'payplanId';
  return { path, message: `was possible until ${lastDay}, and today is ${day}` };
}

export interface Effect extends ShownEffect {
  /** The day of the change. */
  day: PlainDate;
  payplanId: number;
  /** The kind of the change, or of the change that is undone. */
  kindOfChange: Exclude<PlanChangeKind, 'undo'>;
  /** The amount that is approved. */
  approvedMinor: Minor;
  /** The amount that is compared with the approval limit. */
  countedMinor: Minor;
  /** The earlier changes that stay in effect. */
  inEffect: readonly PlanChangeRow[];
  /** The last day on which the change is possible. */
  lastDay: PlainDate | undefined;
}

/**
 * @throws AppError VALIDATION_ERROR if the change is not possible, or (409) if the account is no longer as the confirmation says;
 *   NOT_FOUND for an unknown pay plan.
 */
export async function effectOf(
  tx: Tx,
  context: Context,
  account: AccountRow,
  body: NewPlanChange,
): Promise<Effect> {
  const { kind, confirm } = body;
  const day = today(context);
  // First, so that a change that is no longer possible because the account has changed says so.
  if (confirm) checkVersion(confirm, account.plan_version, day);
  const request = kind === 'undo' ? undefined : await readRequest(tx, context, account, { ...body, kind });
  if (confirm && request && readsPaid(request.change))
    checkPaid(confirm, amountOf(account.paid_minor, context.currency));
  const problem = statusProblem(kind, account.status);
  if (problem) throw invalid([problem]);
  const inEffect = await findChangesInEffect(tx, account.id);
  const change = request
    ? await effectOfChange(tx, context, account, request, { day, inEffect })
    : effectOfUndo(account, inEffect);
  const { priceChangeMinor } = change;
  const balanceMinor = maxMinor(BigInt(account.total_minor) - BigInt(account.paid_minor), 0n);
  const priceMinor = priceChangeMinor < 0n ? -priceChangeMinor : priceChangeMinor;
  const approvedMinor = priceMinor > 0n ? priceMinor : balanceMinor;
  // Together, so that several small reductions of a day cannot stay below the limit.
  const countedMinor = approvedMinor + (priceChangeMinor < 0n ? await sumLowered(tx, account.id, day) : 0n);
  return {
    ...{ ...change, kind, day, approvedMinor, countedMinor },
    needsApproval: needsApproval(context.config, countedMinor),
  };
}

type ComputedChange = Omit<Effect, 'kind' | 'day' | 'approvedMinor' | 'countedMinor' | 'needsApproval'>;

/** The terms before the newest change that is not undone. */
function effectOfUndo(account: AccountRow, inEffect: readonly PlanChangeRow[]): ComputedChange {
  const change = inEffect.findLast(({ kind }) => kind !== 'imported');
  if (!change)
    throw invalidField('kind', 'must be another kind: the account has no change that could be undone');
  if (change.kind === 'payoff')
    throw invalidField(
      'kind',
      'cannot be undo: an early payoff came after the other changes, and ends if a payment is reversed',
    );
  const { before } = change;
  const terms = termsOf(before);
  return {
    terms,
    payplanId: before.payplan_id,
    restructured: before,
    kindOfChange: change.kind as Exclude<PlanChangeKind, 'undo'>,
    priceChangeMinor: totalOf(terms) - BigInt(account.total_minor),
    arrearsMovedMinor: 0n,
    aheadMovedMinor: 0n,
    readsPaid: false,
    undoes: change.id,
    inEffect: inEffect.filter(({ id }) => id !== change.id),
    lastDay: undefined,
  };
}

type ChangeRequest = Parameters<typeof planChangeOf>[0];

/** A requested change, and the pay plan of a sale correction. */
async function readRequest(tx: Tx, { currency }: Context, account: AccountRow, body: ChangeRequest) {
  const plan = body.payplanId === undefined ? undefined : await planOf(tx, account, body.payplanId);
  return { body, plan, change: planChangeOf(body, currency, plan && shapeOf(plan)) };
}

async function effectOfChange(
  tx: Tx,
  context: Context,
  account: AccountRow,
  { body, plan, change }: Awaited<ReturnType<typeof readRequest>>,
  { day, inEffect }: { day: PlainDate; inEffect: readonly PlanChangeRow[] },
): Promise<ComputedChange> {
  const { currency } = context;
  const present = termsOf(account);
  const soldPlan = await findPayPlanRow(tx, account.payplan_id);
  if (!soldPlan) throw new Error(`The pay plan ${account.payplan_id} does not exist.`);
  const { rounding_minor: rounding } = soldPlan;
  const roundingMinor = rounding === null ? readAmount(1, currency) : BigInt(rounding);
  const original = originalTerms(inEffect.map(readTerms)).terms ?? present;
  const situation = {
    terms: present,
    originalTerms: original,
    paidMinor: BigInt(account.paid_minor),
    day,
    roundingMinor,
    ...agreedTerms(inEffect, account, { plan: soldPlan, currency, roundingMinor }),
    decimals: currency.decimals,
  };
  const result = changedPlan(situation, change);
  if (change.kind === 'deferral')
    refuseTooManyDays(context, inEffect, {
      path: 'days' in change.by ? 'days' : 'periods',
      days: daysDeferred(present, result.terms, change.from),
      day,
    });
  const firstOfPlan = plan && firstInstalmentDate(result.terms);
  const end = endOfSaleCorrection(situation);
  const first = plan ? earlier(end, firstOfPlan ?? end) : firstChangedDue(body)?.date;
  return {
    ...result,
    terms: plan ? { ...result.terms, graceDays: plan.grace_days } : result.terms,
    payplanId: plan?.id ?? account.payplan_id,
    restructured: isRestructuring(body.kind)
      ? { restructured_kind: body.kind, restructured_on: day }
      : account,
    kindOfChange: body.kind,
    readsPaid: readsPaid(change),
    undoes: null,
    inEffect,
    lastDay: first && addDays(first, -1),
  };
}

/** By how many days the first instalment moves. */
function daysDeferred(before: Terms, after: Terms, from: PlainDate): number {
  const [first, moved] = [instalmentDateFrom(before, from), instalmentDateFrom(after, from)];
  return first && moved ? daysBetween(first, moved) : 0;
}

/** @throws AppError VALIDATION_ERROR if all deferrals within a year, with this one, move the instalments by more days than is allowed. */
function refuseTooManyDays(
  { config }: Pick<Context, 'config'>,
  changes: readonly PlanChangeRow[],
  { path, days, day }: { path: string; days: number; day: PlainDate },
): void {
  const most = config.MAX_DEFERRED_DAYS;
  const since = addDays(day, -DAYS_OF_LIMIT + 1);
  const sum = changes
    .filter(({ kind, effective_on: date }) => kind === 'deferral' && compareDates(date, since) >= 0)
    .flatMap(({ before, after, body: { from } }) =>
      from ? [daysDeferred(termsOf(before), termsOf(after), from)] : [],
    )
    .reduce((total, one) => total + one, 0);
  if (sum + days <= most) return;
  throw invalidField(
    path,
    `would defer the instalments by ${sum + days} days within ${DAYS_OF_LIMIT} days; at most ${most} are possible (MAX_DEFERRED_DAYS), and ${sum} are used`,
  );
}

const DAYS_OF_LIMIT = 365;

/** What the newest revision or sale correction has agreed, or else the sale. */
function agreedTerms(
  inEffect: readonly PlanChangeRow[],
  account: AccountRow,
  { plan, currency, roundingMinor }: { plan: PayPlanRow; currency: Currency; roundingMinor: Minor },
): Pick<PlanSituation, 'monthsWithoutDues' | 'instalmentMinor'> {
  const newest = inEffect.findLast(({ kind }) => kind === 'revision' || kind === 'sale_correction');
  if (newest?.kind === 'revision') {
    const { monthsWithoutDues = [], instalmentAmount, instalmentCount = 1, harvest } = newest.body;
    const terms = termsOf(newest.after);
    const [first, second] = itemsWithin(terms, {
      from: newest.body.firstDueDate ?? newest.effective_on,
      to: completionDate(terms),
    });
    // The only instalment is a rest, which can be less than the instalment that was computed from the count.
    const computedMinor =
      first && !second
        ? roundedUp(instalmentsShare(first.amountMinor, instalmentCount), roundingMinor)
        : first?.amountMinor;
    const givenMinor =
      instalmentAmount === undefined ? computedMinor : readAmount(instalmentAmount, currency);
    return { monthsWithoutDues, instalmentMinor: harvest ? undefined : givenMinor };
  }
  const sold = termsOf(newest?.after ?? inEffect[0]?.before ?? account);
  // An import can give an account another schedule than that of its pay plan.
  const soldMinor = account.import_id === null ? BigInt(plan.instalment_minor) : sold.instalmentMinor;
  return {
    monthsWithoutDues: plan.months_without_dues,
    instalmentMinor: plan.harvest_months ? undefined : soldMinor,
  };
}

function readTerms({ kind, before, after }: PlanChangeRow) {
  return { kind, before: termsOf(before), after: termsOf(after) };
}

/** The pay plan of a sale correction. */
async function planOf(tx: Tx, account: AccountRow, id: number): Promise<PayPlanRow> {
  const plan = await findPayPlanRow(tx, id);
  if (!plan) throw notFound('payplan', id, 'payplanId');
  if (id === account.payplan_id)
    throw invalidField('payplanId', 'must be another pay plan than that of the account');
  if (!plan.active) throw invalidField('payplanId', 'must refer to an active pay plan');
  if (plan.product_id !== null && plan.product_id !== account.product_id)
    throw invalidField(
      'payplanId',
      `must refer to a pay plan for this product; this pay plan is for product ${plan.product_id}`,
    );
  return plan;
}

/** Only an undo, or the deposit of a corrected sale, can be due before the change. A completed account can become active by it. */
function restartsGrace(kind: RequestedKind, status: AccountStatus): boolean {
  const isInPast = kind === 'undo' || kind === 'sale_correction';
  return isInPast && (isStatusIn(status, 'suspendedWhenLate') || isStatusIn(status, 'paidInFull'));
}

interface AppliedChange {
  body: NewPlanChange;
  effect: Effect;
  bulkDeferralId?: number | null;
}

/**
 * Writes the terms, the change and its ledger entries. The status follows. The transaction has locked the account.
 * @param bulkDeferralId - the bulk deferral to which the change belongs.
 */
export async function applyChange(
  tx: Tx,
  context: Context,
  actor: Actor,
  before: AccountRow,
  { body, effect, bulkDeferralId = null }: AppliedChange,
): Promise<ListedPlanChange> {
  const { day, kind, priceChangeMinor, undoes } = effect;
  const { id } = before;
  const changes = effect.inEffect.map(readTerms);
  if (undoes === null) changes.push({ kind, before: termsOf(before), after: effect.terms });
  // Before the account, whose trigger reads them.
  const version = before.plan_version + 1;
  await insertOriginalTerms(tx, { id, version, effectiveOn: day }, originalTerms(changes));
  const after = await updateTerms(tx, id, {
    terms: effect.terms,
    payplan_id: effect.payplanId,
    ...restructuredColumns(effect.restructured),
    graceRestartsOn: restartsGrace(kind, before.status) ? day : null,
  });
  const { confirm, ...request } = body;
  const changeId = await insertPlanChange(tx, {
    ...{ kind, effectiveOn: day, before, after, undoes, priceChangeMinor },
    reason: body.reason ?? null,
    reasonCode: body.reasonCode ?? null,
    body: request,
    arrearsMovedMinor: effect.arrearsMovedMinor,
    aheadMovedMinor: effect.aheadMovedMinor,
    actorUserId: actor.userId,
    apiKeyId: actor.apiKey?.id ?? null,
    approvalId: actor.approval?.id ?? null,
    bulkDeferralId,
  });
  const totals = { totalMinor: after.total_minor, previousTotalMinor: before.total_minor };
  const changed = event(
    'account.plan_changed',
    { kind, changeId, planVersion: after.plan_version, ...totals, nextDueDate: after.next_due_date },
    { id },
  );
  // The ledger compares the due date with the one before the change.
  const account = { ...after, next_due_date: before.next_due_date, early_payoff: null };
  await post(tx, context, new Map([[id, account]]), {
    event: ledgerEventOf(effect.kindOfChange),
    actor,
    valueDate: day,
    movements: [{ accountId: id, movement: { kind: 'change_price', byMinor: priceChangeMinor } }],
    contra: [],
    rows: {
      changes: [
        auditRow(actor, {
          action: 'account.change_plan',
          resource: 'account',
          resourceId: id,
          before: { totalMinor: before.total_minor, payplanId: before.payplan_id },
          after: {
            ...{ kind, changeId, planVersion: after.plan_version, reason: body.reason ?? null },
            ...{ totalMinor: after.total_minor, payplanId: after.payplan_id },
          },
          event: changed,
        }),
      ],
    },
  });
  return getPlanChange(tx, changeId);
}

function restructuredColumns({
  restructured_kind,
  restructured_on,
}: Pick<RecordedTerms, 'restructured_kind' | 'restructured_on'>) {
  return { restructured_kind, restructured_on };
}
