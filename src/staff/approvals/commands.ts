import { isDeepStrictEqual } from 'node:util';
import { event } from '../../changes/events/change-rules.ts';
import { audit } from '../../changes/events/change-store.ts';
import { type Actor, type Context, SYSTEM } from '../../core/context.ts';
import type { Db, Tx } from '../../core/database/db.ts';
import { LostRace } from '../../core/database/postgres-errors.ts';
import type { ApprovalAction } from '../../core/database/tables.ts';
import { inTransaction } from '../../core/database/transactions.ts';
import { AppError, type FieldProblem, notFound } from '../../core/http/errors.ts';
import type { Minor } from '../../core/values/money.ts';
import {
  type ApprovalRow,
  alreadyPending,
  changedFacts,
  factsOf,
  illegalApprovalMove,
  isRequester,
  needsApproval,
  OutdatedRequest,
  outdated,
  presentFacts,
  requireDecider,
  type Subject,
} from './rules.ts';
import {
  type Ending,
  findApproval,
  findPendingApproval,
  findSeenKeys,
  getSubjectState,
  insertApproval,
  lockApproval,
  lockPendingApprovals,
  setEnded,
} from './store.ts';

/** How a feature executes an approved action. */
export interface ApprovableAction {
  /** Locks the accounts and the payment that the action changes. */
  lock(tx: Tx, context: Context, request: ApprovalRow): Promise<void>;
  /** Why nobody can approve the request any more, although no fact has changed: for example, its day has passed. */
  expiry?(context: Context, request: ApprovalRow): FieldProblem | undefined;
  /**
   * Does the action in the transaction `context.db`.
   * @returns the id of the credit move that a transfer or refund posts; null for other actions.
   */
  execute(context: Context, actor: Actor, request: ApprovalRow): Promise<number | null>;
}

export type ApprovableActions = Readonly<Record<ApprovalAction, ApprovableAction>>;

export interface RequestedAction extends Subject {
  amountMinor: Minor;
  /** True if the action needs approval at any amount, provided that approvals are on. */
  isAlwaysApproved?: boolean;
  /** The amount that is compared with the limit. Default: `amountMinor`. */
  countedMinor?: Minor;
  reason: string;
  /** The body of the call. The request stores the body, and `execute` reads it from there. */
  body: object;
  /** True for a PUT: if the requester repeats the call, `requestApproval` returns the pending request. */
  isRepeatable?: true;
  /** Whether the request is obsolete if the sum paid changes. */
  readsPaid?: boolean;
}

/**
 * Stores a request if the action needs the approval of a second user. Call this after all checks of the action, in a transaction
 * that has locked the accounts and the payment.
 * @returns the request; undefined if the caller must do the action now.
 * @throws AppError DUPLICATE_ENTRY if another request for the payment or the account is pending.
 */
export async function requestApproval(
  tx: Tx,
  { config }: Context,
  actor: Actor,
  {
    amountMinor,
    countedMinor = amountMinor,
    reason,
    body,
    isRepeatable,
    isAlwaysApproved = false,
    readsPaid = false,
    ...subject
  }: RequestedAction,
): Promise<ApprovalRow | undefined> {
  if (actor.approval || !needsApproval(config, countedMinor, isAlwaysApproved)) return undefined;
  const facts = factsOf(subject.action, await getSubjectState(tx, subject), readsPaid);
  const id = await insertApproval(tx, {
    ...subject,
    amountMinor,
    countedMinor,
    reason,
    body,
    facts,
    requestedBy: actor.userId,
    apiKeyId: actor.apiKey?.id ?? null,
  });
  if (id === undefined) {
    const pending = await findPendingApproval(tx, subject);
    if (!pending) throw new LostRace('the pending request has ended');
    if (isRepeatable && isRequester(pending, actor) && isDeepStrictEqual(pending.body, body)) return pending;
    throw alreadyPending(pending);
  }
  const row = await getApproval(tx, id);
  await audit(tx, actor, {
    action: 'approval.request',
    resource: 'approval',
    resourceId: id,
    after: { ...subject, amountMinor, reason },
    event: event('approval.requested', eventDataOf(row)),
  });
  return row;
}

/**
 * Approves a request and does its action in the same transaction.
 * @throws OutdatedRequest if a fact has changed since the request. Nothing is done then.
 */
export async function approve(
  context: Context,
  actions: ApprovableActions,
  actor: Actor,
  id: number,
): Promise<ApprovalRow> {
  return inTransaction(context.db, async (tx) => {
    const seen = await getApproval(tx, id);
    await checkDecider(tx, actor, seen);
    if (seen.status !== 'pending') throw illegalApprovalMove(seen, 'approved');
    const action = actions[seen.action];
    await action.lock(tx, context, seen);
    const row = await lockPending(tx, id, 'approved');
    const state = await getSubjectState(tx, subjectOf(row));
    const refusal = outdated(row, presentFacts({ ...row, state }), context.currency);
    if (refusal) throw refusal;
    const expiry = action.expiry?.(context, { ...row, state });
    if (expiry) throw new OutdatedRequest([expiry]);
    const approver = { ...actor, approval: { id, requestedBy: row.requester } };
    const creditMoveId = await action.execute({ ...context, db: tx }, approver, row);
    return end(tx, actor, row, { status: 'approved', decidedBy: actor.userId, creditMoveId });
  });
}

export async function reject(
  context: Context,
  actor: Actor,
  id: number,
  reason: string,
): Promise<ApprovalRow> {
  return inTransaction(context.db, async (tx) => {
    await checkDecider(tx, actor, await getApproval(tx, id));
    const row = await lockPending(tx, id, 'rejected');
    return end(tx, actor, row, { status: 'rejected', decidedBy: actor.userId, decisionReason: reason });
  });
}

export async function withdraw(context: Context, actor: Actor, id: number): Promise<ApprovalRow> {
  return inTransaction(context.db, async (tx) => {
    const seen = await getApproval(tx, id);
    if (!isRequester(seen, actor))
      throw new AppError('FORBIDDEN', 'Only the requester may withdraw a request. Reject it instead.');
    const row = await lockPending(tx, id, 'withdrawn');
    return end(tx, actor, row, { status: 'withdrawn' });
  });
}

const BATCH_SIZE = 100;

/**
 * Ends pending requests that nobody can approve any more, because a fact has changed or their day has passed. One batch per transaction.
 * @param signal - stops the job between two batches.
 * @returns the number of ended requests.
 */
export async function endOutdatedApprovals(
  context: Context,
  actions: ApprovableActions,
  signal: AbortSignal,
): Promise<number> {
  let ended = 0;
  let afterId: number | undefined = 0;
  while (afterId !== undefined && !signal.aborted) {
    const from: number = afterId;
    afterId = await inTransaction(context.db, async (tx) => {
      const rows = await lockPendingApprovals(tx, from, BATCH_SIZE);
      for (const row of rows) ended += Number(await endIfOutdated(tx, context, actions, row));
      return rows.length < BATCH_SIZE ? undefined : rows.at(-1)?.id;
    });
  }
  return ended;
}

/**
 * Ends a request as obsolete if a fact has changed or its day has passed. Call this after `approve` has thrown OutdatedRequest: `approve` cannot end the
 * request itself, because its transaction is rolled back.
 */
export async function endOutdatedApproval(
  context: Context,
  actions: ApprovableActions,
  id: number,
): Promise<void> {
  await inTransaction(context.db, async (tx) => {
    const row = await lockApproval(tx, id);
    if (row?.status === 'pending') await endIfOutdated(tx, context, actions, row);
  });
}

async function endIfOutdated(
  tx: Tx,
  context: Context,
  actions: ApprovableActions,
  row: ApprovalRow,
): Promise<boolean> {
  const finalFacts = presentFacts(row);
  const isOutdated =
    changedFacts(row.facts, finalFacts).length > 0 ||
    actions[row.action].expiry?.(context, row) !== undefined;
  if (!isOutdated) return false;
  await end(tx, SYSTEM, row, { status: 'obsolete', finalFacts });
  return true;
}

/** @throws AppError NOT_FOUND */
export async function getApproval(db: Db, id: number): Promise<ApprovalRow> {
  const row = await findApproval(db, id);
  if (!row) throw notFound('approval', id);
  return row;
}

async function checkDecider(tx: Tx, actor: Actor, row: ApprovalRow): Promise<void> {
  const keys = row.api_key_id === null ? [] : [row.api_key_id];
  requireDecider(actor, row, (await findSeenKeys(tx, actor.userId, keys)).size > 0);
}

async function lockPending(tx: Tx, id: number, to: Ending['status']): Promise<ApprovalRow> {
  const row = await lockApproval(tx, id);
  if (!row) throw notFound('approval', id);
  if (row.status !== 'pending') throw illegalApprovalMove(row, to);
  return row;
}

async function end(tx: Tx, actor: Actor, row: ApprovalRow, ending: Ending): Promise<ApprovalRow> {
  const { status, decisionReason } = ending;
  await setEnded(tx, row.id, ending);
  await audit(tx, actor, {
    action: AUDITED_AS[status],
    resource: 'approval',
    resourceId: row.id,
    before: { status: row.status },
    after: {
      status,
      ...(decisionReason !== undefined && { reason: decisionReason }),
      ...(status === 'approved' && { requestedBy: row.requester }),
    },
    event: event(`approval.${status}`, eventDataOf(row)),
  });
  return getApproval(tx, row.id);
}

const AUDITED_AS = {
  approved: 'approval.approve',
  rejected: 'approval.reject',
  withdrawn: 'approval.withdraw',
  obsolete: 'approval.end',
} as const satisfies Record<Ending['status'], string>;

function subjectOf(row: ApprovalRow): Subject {
  return {
    action: row.action,
    accountId: row.account_id,
    paymentId: row.payment_id,
    toAccountId: row.to_account_id,
    bulkDeferralId: row.bulk_deferral_id,
  };
}

function eventDataOf(row: ApprovalRow) {
  const { accountId, paymentId, bulkDeferralId = null } = subjectOf(row);
  return { action: row.action, accountId, paymentId, bulkDeferralId, amountMinor: row.amount_minor };
}
