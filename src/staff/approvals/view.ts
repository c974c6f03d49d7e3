import { type Actor, amountOf, type Currency } from '../../core/context.ts';
import type { Db } from '../../core/database/db.ts';
import type { ApprovalAction, ApprovalStatus } from '../../core/database/tables.ts';
import { ok } from '../../core/http/envelope.ts';
import { mayDo } from '../../rights.ts';
import type { RequestedPlanChange } from './plan-change-schema.ts';
import {
  ACTION_PERMISSIONS,
  type ApprovalRow,
  answerName,
  changedFacts,
  type Facts,
  movesOf,
  presentFacts,
} from './rules.ts';
import type { ApprovalFacts } from './schema.ts';
import { countDecidable, findSeenKeys, type PendingApproval } from './store.ts';

export const SENT_FOR_APPROVAL = 'Sent for approval.';

/** Formats an account number. Callers pass this function, because the accounts feature imports this feature. */
export type FormatAccount = (accountId: number) => string;

/** The answer (202) of a command that stored a request of the actor. */
export function sentForApproval(
  actor: Actor,
  row: ApprovalRow,
  currency: Currency,
  formatAccount: FormatAccount,
) {
  return ok(toApproval(row, movesOf(actor, row, false), currency, formatAccount), SENT_FOR_APPROVAL);
}

/** Finds what the actor may do with each of the requests. */
export async function findAllowedMoves(db: Db, actor: Actor, rows: readonly ApprovalRow[]) {
  const keys = rows.flatMap(({ status, api_key_id }) => (status === 'pending' && api_key_id) || []);
  const seen = await findSeenKeys(db, actor.userId, keys);
  return (row: ApprovalRow) => movesOf(actor, row, row.api_key_id !== null && seen.has(row.api_key_id));
}

/** How many pending requests the actor may decide on. Null for an actor who may decide on none. */
export async function countDecidableBy(db: Db, actor: Actor): Promise<number | null> {
  const { userId } = actor;
  if (userId === null || !mayDo(actor, 'approvals:decide')) return null;
  const actions = ACTIONS.filter((action) => mayDo(actor, ACTION_PERMISSIONS[action]));
  return countDecidable(db, { userId, actions });
}

const ACTIONS = Object.keys(ACTION_PERMISSIONS) as ApprovalAction[];

/** The field of a payment or an account. It is missing if no request is pending. */
export function pendingApprovalsOf(pendingApprovals: PendingApproval[]) {
  return pendingApprovals.length > 0 ? { pendingApprovals } : {};
}

export function toApproval(
  row: ApprovalRow,
  allowedMoves: ApprovalStatus[],
  currency: Currency,
  formatAccount: FormatAccount,
) {
  const now = row.status === 'pending' ? presentFacts(row) : row.final_facts;
  return {
    id: row.id,
    action: row.action,
    status: row.status,
    allowedMoves,
    accountId: row.account_id,
    accountNumber: row.account_id === null ? null : formatAccount(row.account_id),
    customerName: row.customer,
    paymentId: row.payment_id,
    bulkDeferralId: row.bulk_deferral_id,
    toAccountId: row.to_account_id,
    toAccountNumber: row.to_account_id === null ? null : formatAccount(row.to_account_id),
    amount: amountOf(row.amount_minor, currency),
    countedAmount: amountOf(row.counted_minor, currency),
    currency: currency.code,
    reason: row.reason,
    planChange: toPlanChange(row),
    requestedBy: row.requester,
    requestedByUserId: row.requested_by,
    decidedBy: row.decider,
    decisionReason: row.decision_reason,
    facts: toFacts(row.facts, currency),
    currentFacts: now && toFacts(now, currency),
    changedFacts: now ? changedFacts(row.facts, now).map(answerName) : [],
    paymentMethodName: row.payment_method,
    transactionRef: row.transaction_ref,
    creditMoveId: row.credit_move_id,
    endedAt: row.ended_at,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

/** The request that `accounts/plan-changes/` has stored, without its confirmation and the last day of its approval. */
function toPlanChange({ action, body, payplan }: ApprovalRow): RequestedPlanChange | null {
  if (action !== 'change_plan') return null;
  const { confirm, lastDay, ...request } = body as unknown as RequestedPlanChange & Record<string, unknown>;
  return { ...request, payplanName: payplan };
}

/** Facts that an earlier version stored lack those that were added later. */
function toFacts(
  { balanceMinor, creditMinor, planVersion = null, paidMinor = null, ...facts }: Facts,
  currency: Currency,
): ApprovalFacts {
  const amount = (minor: number | null) => (minor === null ? null : amountOf(minor, currency));
  return {
    ...facts,
    balance: amount(balanceMinor),
    credit: amount(creditMinor),
    planVersion,
    paid: amount(paidMinor),
  };
}
