import { type Actor, amountOf, type Currency } from '../../core/context.ts';
import { okList, type Page } from '../../core/http/envelope.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import { type Minor, maxMinor } from '../../core/values/money.ts';
import { mayDo } from '../../rights.ts';
import { formatAccountNumber } from '../account-number-rules.ts';
import { balanceOf } from '../ledger/money-on-account-rules.ts';
import type { AccountRow } from '../ledger/rules.ts';
import {
  completionDate,
  datedRuns,
  position,
  type RecordedTerms,
  type Terms,
  termsOf,
  totalOf,
} from '../schedule/rules.ts';
import { dueRuleOf } from '../status/rules.ts';
import { restructuredOf, toPaymentState } from '../view.ts';
import { changedInstalments } from './outcome-rules.ts';
import type { RequestedKind } from './schema.ts';
import type { DescribedPlanChange, ListedPlanChange } from './store.ts';

export function planChangesFound(actor: Actor, page: Page<ListedPlanChange>, currency: Currency) {
  const rows = page.rows.map((row) => toPlanChange(actor, row, currency));
  return okList({ ...page, rows }, 'Changes of plans found.');
}

export function toPlanChange(actor: Actor, row: ListedPlanChange, currency: Currency) {
  return {
    id: row.id,
    accountId: row.account_id,
    accountNumber: formatAccountNumber(row.account_id),
    customerId: row.customer_id,
    customerName: mayDo(actor, 'customers:read') ? row.customer_name : null,
    currency: currency.code,
    version: row.version,
    ...toOutcome(row, currency),
    effectiveOn: row.effective_on,
    reason: row.reason,
    reasonCode: row.reason_code,
    consent: row.body.consent ?? null,
    aheadMoved: amountOf(row.ahead_moved_minor, currency),
    undoes: row.undoes,
    undoneBy: row.undone_by,
    actor: row.actor,
    approvalId: row.approval_id,
    bulkDeferralId: row.bulk_deferral_id,
    requestedBy: row.requester,
    before: toTerms(termsOf(row.before), currency),
    after: toTerms(termsOf(row.after), currency),
    createdAt: row.created_at,
  };
}

/** What a change did, as lists and histories say it. */
export function toOutcome(change: DescribedPlanChange, currency: Currency) {
  const { kind, undone_kind, undone_on } = change;
  return {
    kind,
    priceChange: amountOf(change.price_change_minor, currency),
    arrearsMoved: amountOf(change.arrears_moved_minor, currency),
    instalments: changedInstalments(kind, change.body, termsOf(change.before), termsOf(change.after)),
    payplanName: change.payplan_name,
    undoneChange:
      undone_kind === null || undone_on === null ? null : { kind: undone_kind, effectiveOn: undone_on },
  };
}

function toTerms(terms: Terms, currency: Currency) {
  return {
    deposit: amountOf(terms.depositMinor, currency),
    total: amountOf(totalOf(terms), currency),
    instalmentCount: terms.instalmentCount,
    completionDate: completionDate(terms),
  };
}

function toRuns(terms: Terms, currency: Currency) {
  return datedRuns(terms).map(({ count, amountMinor, first, last }) => ({
    count,
    amount: amountOf(amountMinor, currency),
    firstDueDate: first,
    lastDueDate: last,
  }));
}

/** What a change would do. */
export interface ShownEffect {
  kind: RequestedKind;
  readsPaid: boolean;
  needsApproval: boolean;
  terms: Terms;
  restructured: Pick<RecordedTerms, 'restructured_kind' | 'restructured_on'>;
  priceChangeMinor: Minor;
  arrearsMovedMinor: Minor;
  aheadMovedMinor: Minor;
  undoes: number | null;
}

export function toShownPlanChange(
  account: AccountRow,
  effect: ShownEffect,
  currency: Currency,
  day: PlainDate,
) {
  return {
    accountId: account.id,
    accountNumber: formatAccountNumber(account.id),
    currency: currency.code,
    kind: effect.kind,
    version: account.plan_version,
    paid: amountOf(account.paid_minor, currency),
    readsPaid: effect.readsPaid,
    effectiveOn: day,
    needsApproval: effect.needsApproval,
    priceChange: amountOf(effect.priceChangeMinor, currency),
    arrearsMoved: amountOf(effect.arrearsMovedMinor, currency),
    aheadMoved: amountOf(effect.aheadMovedMinor, currency),
    undoes: effect.undoes,
    before: toEffect(account, termsOf(account), account, currency, day),
    after: toEffect(account, effect.terms, effect.restructured, currency, day),
  };
}

/** The account on a day, with these terms. */
function toEffect(
  { status, paid_minor }: AccountRow,
  terms: Terms,
  restructured: ShownEffect['restructured'],
  currency: Currency,
  day: PlainDate,
) {
  const paidMinor = BigInt(paid_minor);
  const totalMinor = totalOf(terms);
  const state = position(terms, { paidMinor, today: day, ...dueRuleOf(status) });
  return {
    ...toTerms(terms, currency),
    runs: toRuns(terms, currency),
    ...toPaymentState(state, currency),
    arrears: amountOf(state.arrearsMinor, currency),
    balance: amountOf(balanceOf({ status, totalMinor, paidMinor }), currency),
    credit: amountOf(maxMinor(paidMinor - totalMinor, 0n), currency),
    restructured: restructuredOf(restructured),
  };
}
