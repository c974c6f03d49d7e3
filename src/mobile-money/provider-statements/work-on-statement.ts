import { getMethodId } from '../../catalogue/payment-methods/store.ts';
import { event, eventRow } from '../../changes/events/change-rules.ts';
import { audit, writeChanges } from '../../changes/events/change-store.ts';
import { type Actor, type Context, SYSTEM, today } from '../../core/context.ts';
import type { Db, Tx } from '../../core/database/db.ts';
import { inTransaction } from '../../core/database/transactions.ts';
import { invalidField, notFound } from '../../core/http/errors.ts';
import type { Log } from '../../core/log.ts';
import { compareDates, type PlainDate } from '../../core/values/dates.ts';
import { referenceKey } from '../../core/values/reference.ts';
import { importNotifications } from '../../payments/notifications/receive-notification.ts';
import type { PostingContext } from '../../payments/posting/post-payments.ts';
import type { Notification } from '../../payments/posting/rules.ts';
import { methodCodeOf } from '../../payments/provider-name-rules.ts';
import { createBatch } from '../../payments/reconciliations/reconcile.ts';
import { resultOf } from '../../payments/reconciliations/rules.ts';
import { lockPayments } from '../../payments/reconciliations/store.ts';
import { type Attempt, addJob, jobOf, queueUnfinished } from '../../platform/jobs/queue.ts';
import { apiKeyActor } from '../../staff/api-keys/rules.ts';
import { getApiKey } from '../../staff/api-keys/store.ts';
import { actorOfJob } from '../../staff/users/view.ts';
import { STATEMENT_PROVIDER } from '../providers/registry.ts';
import { notificationFields } from '../providers/rules.ts';
import {
  addMissingAtProvider,
  compareLines,
  compareOtherLines,
  countBreaks,
  deleteMissingAtProvider,
  findMatchedPayments,
  findMissingLines,
  findUnreportedLines,
  markReversedElsewhere,
  recordImported,
  recordReconciled,
} from './comparison-store.ts';
import { checkStage, type Stage } from './rules.ts';
import {
  findIdsAtWork,
  findStatement,
  lockStatement,
  type ProviderStatementRow,
  recordStatementFailure,
  type StatementLineRow,
  setStatus,
} from './store.ts';

/**
 * A request starts a stage of a statement (matching, importing, reconciling). A job does the stage in steps. Each step stores the
 * position that it has reached, so that any instance can continue with the next step.
 */

export const STATEMENT_TASK = 'provider-statement';

const COMPARED_PER_STEP = 5_000;
const SEARCHED_PER_STEP = 20_000;
const IMPORTED_PER_STEP = 250;
const RECONCILED_PER_STEP = 10_000;
const MARKED_PER_STEP = 5_000;

/**
 * Starts a stage of a statement: matching (again), importing its missing payments, or reconciling its matched payments. If the
 * same stage is running, only queues its job.
 * @throws AppError VALIDATION_ERROR if the status does not allow the stage, or the date is before the last day of the statement.
 */
export async function startStage(
  context: Context,
  actor: Actor,
  id: number,
  stage: Stage,
  reconciliationDate?: PlainDate,
): Promise<void> {
  await inTransaction(context.db, async (tx) => {
    const statement = await lockStatement(tx, id);
    if (!statement) throw notFound('provider_statement', id);
    await queueStatement(tx, id);
    if (statement.status === stage) return;
    if (stage === 'matching' && statement.status === 'received') return;
    checkStage(statement.status, stage);
    const reconciling =
      stage === 'reconciling' ? { by: actor, date: reconciliationDate ?? today(context) } : undefined;
    if (reconciling) checkReconciliationDate(statement, reconciling.date);
    await setStatus(tx, statement, stage, reconciling);
    await audit(tx, actor, {
      action: `provider_statement.${stage}`,
      resource: 'provider_statement',
      resourceId: id,
      before: { status: statement.status },
      after: { status: stage, ...(reconciling && { reconciliationDate: reconciling.date }) },
      event: event(`statement.${stage}_started`, { previousStatus: statement.status }),
    });
  });
}

/** A payment cannot have been reconciled before it arrived. */
function checkReconciliationDate({ period_end: lastDay }: ProviderStatementRow, date: PlainDate): void {
  if (lastDay !== null && compareDates(date, lastDay) < 0) {
    throw invalidField('reconciliationDate', `must not be before ${lastDay}, the last day of the statement`);
  }
}

export async function queueStatement(db: Db, id: number): Promise<void> {
  await addJob(db, jobOf(STATEMENT_TASK, id));
}

/** @returns the number of unfinished statements that had no job. */
export async function queueUnfinishedStatements(db: Db): Promise<number> {
  return queueUnfinished(db, STATEMENT_TASK, await findIdsAtWork(db), (id) =>
    recordStatementFailure(db, id, 'The work on the statement ended several times without a result.'),
  );
}

/** Works on a stage of a statement for at most `statementTurnMs`. If the last attempt fails, sets the status `failed`. */
export async function workOnStatement(
  context: PostingContext,
  log: Log,
  id: number,
  { isLast, signal }: Attempt,
): Promise<void> {
  const turn = AbortSignal.any([signal, AbortSignal.timeout(context.config.limits.statementTurnMs)]);
  try {
    while (!turn.aborted) if (!(await takeStep(context, log, id))) return;
  } catch (error) {
    if (isLast)
      await recordStatementFailure(context.db, id, error instanceof Error ? error.message : String(error));
    throw error;
  }
  await queueStatement(context.db, id);
}

/** @returns false if the stage is complete. */
async function takeStep(context: PostingContext, log: Log, id: number): Promise<boolean> {
  const statement = await findStatement(context.db, id);
  if (statement?.status === 'matching' && (await linkNext(context, log, statement))) return true;
  switch (statement?.status) {
    case 'received':
    case 'matching':
    case 'reconciling':
      return inTransaction(context.db, async (tx) => {
        const locked = await lockStatement(tx, id);
        if (locked?.status === 'reconciling') return reconcileNext(tx, locked);
        return locked ? matchNext(tx, context, locked) : false;
      });
    case 'importing':
      await importNext(context, log, statement);
      return true;
    case 'done':
    case 'failed':
    case undefined:
      return false;
  }
}

async function matchNext(tx: Tx, context: Context, statement: ProviderStatementRow): Promise<boolean> {
  const { id, status } = statement;
  if (status === 'received') await setStatus(tx, statement, 'matching');
  if (status !== 'matching') return true;
  const options = { provider: STATEMENT_PROVIDER.name, timeZone: context.config.BUSINESS_TIMEZONE };
  // Before `addMissingAtProvider` adds the first line `missing_at_provider`, delete the lines of an earlier match.
  if (statement.searched_to_date === null && (await deleteMissingAtProvider(tx, id, SEARCHED_PER_STEP)))
    return true;
  if (statement.compared_to_line === 0) await compareOtherLines(tx, id, options.provider);
  if (await compareLines(tx, statement, { ...options, limit: COMPARED_PER_STEP })) return true;
  const methodId = await getMethodId(tx, methodCodeOf(options.provider));
  if (await addMissingAtProvider(tx, statement, { ...options, methodId, limit: SEARCHED_PER_STEP }))
    return true;
  if (await markReversedElsewhere(tx, id, MARKED_PER_STEP)) return true;
  await setStatus(tx, statement, 'done');
  const breakCount = await countBreaks(tx, id);
  if (breakCount > 0) {
    const found = event('statement.break_found', { breakCount });
    await writeChanges(tx, [eventRow(SYSTEM, { resource: 'provider_statement', resourceId: id }, found)]);
  }
  return false;
}

/**
 * Staff have recorded the transactions of some lines as manual payments. Processes the next of these lines in the same way as
 * notifications, which links the payments to the transactions, or stores conflicts. This must happen before the lines are compared.
 * @returns false if there is no such line among the lines that are compared next.
 */
async function linkNext(
  context: PostingContext,
  log: Log,
  statement: ProviderStatementRow,
): Promise<boolean> {
  const lines = await findUnreportedLines(context.db, statement, {
    provider: STATEMENT_PROVIDER.name,
    compared: COMPARED_PER_STEP,
    limit: IMPORTED_PER_STEP,
  });
  if (lines.length > 0) await importLines(context, log, statement, lines);
  return lines.length > 0;
}

async function importNext(context: PostingContext, log: Log, statement: ProviderStatementRow): Promise<void> {
  const lines = await findMissingLines(context.db, statement, IMPORTED_PER_STEP);
  const last = lines.at(-1);
  if (last?.line_number == null) {
    await inTransaction(context.db, async (tx) => {
      const locked = await lockStatement(tx, statement.id);
      if (locked?.status === 'importing') await setStatus(tx, locked, 'matching');
    });
    return;
  }
  await importLines(context, log, statement, lines);
  await recordImported(context.db, statement, STATEMENT_PROVIDER.name, last.line_number);
}

function importLines(
  context: PostingContext,
  log: Log,
  statement: ProviderStatementRow,
  lines: readonly StatementLineRow[],
) {
  return importNotifications(
    context,
    log,
    lines.map((line) => notificationOfLine(context, statement, line)),
  );
}

function notificationOfLine(
  { config }: Context,
  statement: ProviderStatementRow,
  line: StatementLineRow,
): Notification {
  const { receipt, amount_minor: amount, completed_at: completedAt } = line;
  if (receipt === null || amount === null || completedAt === null) {
    throw new Error(`Line ${line.line_number} is a payment, but has no receipt, amount or time.`);
  }
  const facts = {
    // Earlier versions kept the quotes of a receipt.
    transId: referenceKey(receipt),
    amountMinor: BigInt(amount),
    time: completedAt,
    businessShortCode: statement.short_code,
    reference: line.reference,
    payer: line.payer,
    payerName: line.payer_name,
  };
  // A file without a short code counts as ours, because a user of the business uploaded it.
  const paybillNumbers = statement.short_code === null ? [] : config.paybillNumbers;
  const content = { statementId: statement.id, line: line.line_number, ...facts, amountMinor: amount };
  return {
    ...notificationFields(STATEMENT_PROVIDER, facts, { paybillNumbers }),
    source: 'import',
    providerStatementId: statement.id,
    rawBody: JSON.stringify(content),
    transTime: new Date(completedAt),
  };
}

async function reconcileNext(tx: Tx, statement: ProviderStatementRow): Promise<boolean> {
  const next = await findMatchedPayments(tx, statement, RECONCILED_PER_STEP);
  if (!next || statement.reconciling_date === null) {
    await setStatus(tx, statement, 'done');
    return false;
  }
  const date = statement.reconciling_date;
  const locked = await lockPayments(tx, next.paymentIds);
  const payments = locked.filter((payment) => resultOf(payment, date) === 'reconciled');
  if (payments.length > 0) {
    await createBatch(tx, await reconcilerOf(tx, statement), {
      date,
      payments,
      providerStatementId: statement.id,
    });
  }
  await recordReconciled(tx, statement.id, payments.length, next.lastLine);
  return true;
}

/** The user or the API key that requested the reconciliation. */
async function reconcilerOf(tx: Tx, statement: ProviderStatementRow): Promise<Actor> {
  const { reconciling_by: userId, reconciling_api_key_id: keyId } = statement;
  if (keyId !== null) return apiKeyActor(await getApiKey(tx, keyId), null);
  return actorOfJob(tx, userId);
}
