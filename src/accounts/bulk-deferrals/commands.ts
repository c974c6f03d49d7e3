import { event } from '../../changes/events/change-rules.ts';
import type { AuditAction } from '../../changes/events/change-schema.ts';
import { audit } from '../../changes/events/change-store.ts';
import { type Actor, type Context, today } from '../../core/context.ts';
import type { Tx } from '../../core/database/db.ts';
import { inTransaction } from '../../core/database/transactions.ts';
import { type FieldProblem, invalid, invalidField, notFound } from '../../core/http/errors.ts';
import { type BodyConditions, readBodyConditions } from '../../core/lists/query.ts';
import { addDays, compareDates, type PlainDate } from '../../core/values/dates.ts';
import { addJob, jobOf, queueUnfinished } from '../../platform/jobs/queue.ts';
import { requireAll } from '../../rights.ts';
import { type ApprovableAction, requestApproval } from '../../staff/approvals/commands.ts';
import { alreadyPending, bulkDeferralIdOf, type DoneOrRequested } from '../../staff/approvals/rules.ts';
import { findPendingApproval } from '../../staff/approvals/store.ts';
import { checkFields } from '../plan-changes/request-rules.ts';
import { checkMove, needsMove, STOPPED } from './rules.ts';
import { FILTER_FIELDS, MAX_ACCOUNTS, type NewBulkDeferral } from './schema.ts';
import {
  type BulkDeferralRow,
  countStates,
  deleteSelectedAccounts,
  findIdsAtWork,
  findPreviewsBefore,
  insertBulkDeferral,
  lockBulkDeferral,
  setAtWork,
  setEnded,
  skipWaitingAccounts,
  sumBalances,
} from './store.ts';

// A user asks for the preview, the deferral or its undo. A job does this work, one account after another, see work-on-bulk-deferral.ts.

export const BULK_DEFERRAL_TASK = 'bulk-deferral';

/**
 * Stores the accounts that the filter selects, and starts the preview of their deferral.
 * @returns the id.
 * @throws AppError VALIDATION_ERROR; FORBIDDEN if the filter reads customers, and the actor may not.
 */
export async function prepareBulkDeferral(
  context: Context,
  actor: Actor,
  { filter, ...fields }: NewBulkDeferral,
): Promise<number> {
  if (filter.customerMetadata) requireAll(actor, ['customers:read']);
  const body = { kind: 'deferral' as const, ...fields };
  checkFields(body, context.config.planChangeReasons);
  const day = today(context);
  const { metadata, customerMetadata, ...conditions } = filter;
  const read = readBodyConditions(FILTER_FIELDS, conditions as BodyConditions, context, 'filter');
  if (read.problems.length > 0) throw invalid(read.problems);
  if (compareDates(body.from, day) <= 0)
    throw invalidField('from', `must be after ${day}, the day on which the change takes effect`);
  return inTransaction(context.db, async (tx) => {
    const { id, count } = await insertBulkDeferral(
      tx,
      { filter, body, day, caller: callerOf(actor) },
      { filters: read.filters, metadata, customerMetadata },
      MAX_ACCOUNTS,
    );
    if (id === null)
      throw invalidField(
        'filter',
        count === 0
          ? 'selects no account'
          : `selects more than ${MAX_ACCOUNTS} accounts; select fewer, for example by their status`,
      );
    await addJob(tx, jobOf(BULK_DEFERRAL_TASK, id));
    return id;
  });
}

function callerOf(actor: Actor) {
  return { userId: actor.userId, apiKeyId: actor.apiKey?.id ?? null };
}

/**
 * Starts the deferral of all accounts that the preview found possible, or sends it for approval.
 * @throws AppError NOT_FOUND; VALIDATION_ERROR if there is no preview of today, or if it found no account; DUPLICATE_ENTRY if a request
 * is pending.
 */
export function startBulkDeferral(
  context: Context,
  actor: Actor,
  id: number,
): Promise<DoneOrRequested<number>> {
  return inTransaction(context.db, async (tx) => {
    const row = await getLocked(tx, id);
    checkMove(row.status, 'running');
    const expiry = actor.approval ? undefined : expiryOf(row, today(context));
    if (expiry) throw invalid([expiry]);
    const { waiting: accountCount = 0 } = await countStates(tx, id);
    if (accountCount === 0)
      throw invalidField('id', 'must refer to a bulk deferral with accounts that can be deferred');
    return startWork(tx, context, actor, row, {
      work: 'running',
      accountCount,
      amountMinor: BigInt(row.balance_minor ?? 0),
      reason: row.body.reason,
    });
  });
}

/**
 * Starts to undo the deferral of each account whose newest change it is, or sends the undo for approval.
 * @throws AppError NOT_FOUND; VALIDATION_ERROR if the deferral is not done, or if no account is deferred; DUPLICATE_ENTRY if a request is
 * pending.
 */
export function undoBulkDeferral(
  context: Context,
  actor: Actor,
  id: number,
  reason: string,
): Promise<DoneOrRequested<number>> {
  return inTransaction(context.db, async (tx) => {
    const row = await getLocked(tx, id);
    checkMove(row.status, 'undoing');
    const { deferred: accountCount = 0 } = await countStates(tx, id);
    if (accountCount === 0)
      throw invalidField('id', 'must refer to a bulk deferral that has deferred accounts');
    const amountMinor = await sumBalances(tx, id, 'deferred');
    return startWork(tx, context, actor, row, { work: 'undoing', accountCount, amountMinor, reason });
  });
}

async function getLocked(tx: Tx, id: number): Promise<BulkDeferralRow> {
  const row = await lockBulkDeferral(tx, id);
  if (!row) throw notFound('bulk_deferral', id);
  return row;
}

interface Work {
  work: 'running' | 'undoing';
  accountCount: number;
  amountMinor: bigint;
  reason: string;
}

async function startWork(
  tx: Tx,
  context: Context,
  actor: Actor,
  { id, status, body: { from } }: BulkDeferralRow,
  { work, accountCount, amountMinor, reason }: Work,
): Promise<DoneOrRequested<number>> {
  const isUndo = work === 'undoing';
  const subject = subjectOf(id);
  // Also if this call is below the limit, for example because a customer has paid since the request.
  await checkNonePending(tx, actor, subject);
  const requested = await requestApproval(tx, context, actor, {
    action: isUndo ? 'undo_bulk_deferral' : 'start_bulk_deferral',
    ...subject,
    toAccountId: null,
    amountMinor,
    reason,
    body: { from, accountCount },
  });
  if (requested) return { requested };
  const approvalId = actor.approval?.id ?? null;
  await setAtWork(tx, id, work, { ...callerOf(actor), approvalId, ...(isUndo && { undoReason: reason }) });
  await audit(tx, actor, {
    action: isUndo ? 'bulk_deferral.undo' : 'bulk_deferral.start',
    resource: 'bulk_deferral',
    resourceId: id,
    before: { status },
    after: { status: work, accountCount, reason },
    event: event(isUndo ? 'bulk_deferral.undo_started' : 'bulk_deferral.started', { accountCount }),
  });
  await addJob(tx, jobOf(BULK_DEFERRAL_TASK, id));
  return { done: id };
}

/**
 * Ends a preview, and deletes its accounts. Does nothing if it has expired.
 * @throws AppError NOT_FOUND; VALIDATION_ERROR with status 409 if the deferral has started; DUPLICATE_ENTRY if a request for approval is
 * pending.
 */
export function discardBulkDeferral(context: Context, actor: Actor, id: number): Promise<void> {
  return inTransaction(context.db, async (tx) => {
    const row = await getLocked(tx, id);
    if (!needsMove(row.status, 'expired')) return;
    await checkNonePending(tx, actor, subjectOf(id));
    const { userId: actor_user_id, apiKeyId: api_key_id } = callerOf(actor);
    await setEnded(tx, id, 'expired', { actor_user_id, api_key_id });
    await deleteSelectedAccounts(tx, id);
    await audit(tx, actor, {
      action: 'bulk_deferral.discard',
      resource: 'bulk_deferral',
      resourceId: id,
      before: { status: row.status },
      after: { status: 'expired' },
      event: event('bulk_deferral.discarded', {}),
    });
  });
}

/**
 * Stops a deferral: the accounts that it has deferred remain deferred, and can be undone. The others are skipped. Does nothing if it has
 * ended.
 * @throws AppError NOT_FOUND; VALIDATION_ERROR with status 409 if the deferral has not started, or if it was undone.
 */
export function stopBulkDeferral(context: Context, actor: Actor, id: number): Promise<void> {
  return inTransaction(context.db, async (tx) => {
    const row = await getLocked(tx, id);
    if (!needsMove(row.status, 'done')) return;
    await skipWaitingAccounts(tx, id, STOPPED);
    await endWork(tx, actor, row, 'done', 'bulk_deferral.stop');
  });
}

function subjectOf(id: number) {
  return { accountId: null, paymentId: null, bulkDeferralId: id };
}

async function checkNonePending(tx: Tx, actor: Actor, subject: ReturnType<typeof subjectOf>): Promise<void> {
  const pending = actor.approval ? undefined : await findPendingApproval(tx, subject);
  if (pending) throw alreadyPending(pending);
}

/** Why a draft cannot be confirmed any more. */
function expiryOf({ prepared_on: preparedOn }: BulkDeferralRow, day: PlainDate): FieldProblem | undefined {
  if (preparedOn === day) return undefined;
  return { path: 'id', message: `must refer to a preview of today; this one is of ${preparedOn}` };
}

/** Why a request for approval cannot be approved any more. It can be until the first instalment that moves. */
function expiryOfRequest(from: PlainDate, day: PlainDate): FieldProblem | undefined {
  if (compareDates(day, from) < 0) return undefined;
  return { path: 'from', message: `was possible until ${addDays(from, -1)}, and today is ${day}` };
}

async function lockForApproval(tx: Tx, _context: Context, request: Parameters<ApprovableAction['lock']>[2]) {
  await lockBulkDeferral(tx, bulkDeferralIdOf(request));
}

/** The actions on many accounts that can need approval. */
export const BULK_DEFERRAL_ACTIONS = {
  start_bulk_deferral: {
    lock: lockForApproval,
    expiry: (context, { body }) => expiryOfRequest((body as { from: PlainDate }).from, today(context)),
    execute: async (context, actor, request) => {
      await startBulkDeferral(context, actor, bulkDeferralIdOf(request));
      return null;
    },
  },
  undo_bulk_deferral: {
    lock: lockForApproval,
    execute: async (context, actor, request) => {
      await undoBulkDeferral(context, actor, bulkDeferralIdOf(request), request.reason);
      return null;
    },
  },
} as const satisfies Record<string, ApprovableAction>;

/**
 * Queues unfinished work that has no job. If all attempts of its job have failed, for example because the database was down, the work
 * continues, except for a preview.
 * @returns the number of new jobs.
 */
export async function queueUnfinishedBulkDeferrals({ db }: Pick<Context, 'db'>): Promise<number> {
  return queueUnfinished(db, BULK_DEFERRAL_TASK, await findIdsAtWork(db), async (id) => {
    await failPreview({ db }, id);
    await addJob(db, jobOf(BULK_DEFERRAL_TASK, id));
  });
}

/** Ends a preview, and deletes its accounts. Does nothing if it has ended in the meantime. */
export async function failPreview({ db }: Pick<Context, 'db'>, id: number): Promise<void> {
  await inTransaction(db, async (tx) => {
    const row = await lockBulkDeferral(tx, id);
    if (row?.status !== 'previewing') return;
    await setEnded(tx, id, 'failed', { failure: FAILURE });
    await deleteSelectedAccounts(tx, id);
  });
}

const FAILURE = 'The preview failed several times. The reason is in the log.';

/** Ends the work on a bulk deferral that the transaction has locked. */
export async function endWork(
  tx: Tx,
  actor: Actor,
  { id, status }: BulkDeferralRow,
  to: 'done' | 'undone',
  action: AuditAction = to === 'undone' ? 'bulk_deferral.end_undo' : 'bulk_deferral.end',
): Promise<void> {
  const counts = await countStates(tx, id);
  const isUndo = to === 'undone';
  const [changedCount = 0, skippedCount = 0] = isUndo
    ? [counts.undone, counts.not_undone]
    : [counts.deferred, counts.skipped];
  await setEnded(tx, id, to);
  await audit(tx, actor, {
    action,
    resource: 'bulk_deferral',
    resourceId: id,
    before: { status },
    after: { status: to, changedCount, skippedCount },
    event: event(isUndo ? 'bulk_deferral.undo_ended' : 'bulk_deferral.ended', { changedCount, skippedCount }),
  });
}

/**
 * Ends the previews of earlier days that nobody has confirmed, and deletes their accounts.
 * @returns the number of ended previews.
 */
export async function expireBulkDeferrals(context: Context, signal: AbortSignal): Promise<number> {
  const day = today(context);
  let expired = 0;
  for (const id of await findPreviewsBefore(context.db, day)) {
    if (signal.aborted) break;
    await inTransaction(context.db, async (tx) => {
      await lockBulkDeferral(tx, id);
      if (!(await findPreviewsBefore(tx, day)).includes(id)) return;
      await setEnded(tx, id, 'expired');
      await deleteSelectedAccounts(tx, id);
      expired += 1;
    });
  }
  return expired;
}
