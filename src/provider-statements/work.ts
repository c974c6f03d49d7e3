import { type Actor, type Context, SYSTEM } from '../core/context.ts';
import type { Tx } from '../core/database/db.ts';
import { inTransaction } from '../core/database/transactions.ts';
import type { Log } from '../core/log.ts';
import { getMethodId } from '../payment-methods/store.ts';
import { importNotifications } from '../payments/notifications/commands.ts';
import type { Notification } from '../payments/posting/rules.ts';
import { STATEMENT_PROVIDER } from '../payments/providers/registry.ts';
import { notificationFields } from '../payments/providers/rules.ts';
import { createBatch } from '../reconciliations/commands.ts';
import { resultOf } from '../reconciliations/rules.ts';
import { lockPayments } from '../reconciliations/store.ts';
import { findUser } from '../users/store.ts';
import { findMissingLines, recordTakenIn } from './importing-store.ts';
import {
  compareLines,
  deleteMissingAtProvider,
  findMissingAtProvider,
  findUnreportedLines,
  flagReversedElsewhere,
} from './matching-store.ts';
import { findMatchedPayments, recordReconciled } from './reconciling-store.ts';
import { findStalledIds, recordFailure, setStage, touchWaiting } from './stage-store.ts';
import {
  findProviderStatementRow,
  type LineRow,
  lockProviderStatement,
  type ProviderStatementRow,
} from './store.ts';

/**
 * What is done with a statement after it came in: matching, importing, reconciling. Each goes in steps, and
 * each step is a transaction that also keeps how far it came; whoever does the next one begins there.
 */

const LINES_A_STEP = 5_000;
const PAYMENTS_A_STEP = 20_000;
const TAKEN_IN_A_STEP = 250;
const RECONCILED_A_STEP = 10_000;
const FLAGGED_A_STEP = 5_000;

/** No step takes as long: then its process has died. */
const STALL_SECONDS = 30;
/** How often those that wait behind another are said to be in good hands. */
const TOUCH_MS = 10_000;
const STATEMENTS_A_MINUTE = 10;
const LONGEST_RESUMED_MS = 15_000;
const MOST_ATTEMPTS = 5;

export interface ProviderStatementWork {
  /** Does the statement's work after that of those which were started before. */
  start(id: number): void;
  /** Ends after the step that is under way. */
  stop(): Promise<void>;
}

export function createProviderStatementWork(context: Context, log: Log): ProviderStatementWork {
  let stopped = false;
  let running = Promise.resolve();
  const queue = new Set<number>();
  let touchedAt = Number.NEGATIVE_INFINITY;

  /** Without it the minute job would work on those that wait here as well. */
  async function goesOn(): Promise<boolean> {
    if (stopped) return false;
    if (performance.now() - touchedAt > TOUCH_MS) {
      await touchWaiting(context.db, [...queue]);
      touchedAt = performance.now();
    }
    return true;
  }

  return {
    start(id) {
      queue.add(id);
      running = running.then(async () => {
        await workOn(context, log, id, goesOn);
        queue.delete(id);
      });
    },
    stop() {
      stopped = true;
      return running;
    },
  };
}

/**
 * Goes on with statements whose process died or failed; for a while, as other jobs wait.
 * @returns how many were brought to their end.
 */
export async function resumeProviderStatements(
  context: Context,
  log: Log,
  signal: AbortSignal,
): Promise<number> {
  const end = performance.now() + LONGEST_RESUMED_MS;
  const ids = await findStalledIds(context.db, STALL_SECONDS, STATEMENTS_A_MINUTE);
  let ended = 0;
  const goesOn = () => performance.now() < end && !signal.aborted;
  for (const id of ids) if (await workOn(context, log, id, goesOn)) ended += 1;
  return ended;
}

/** @returns whether the work came to its end; a failure is kept at the statement, to be tried again. */
async function workOn(
  context: Context,
  log: Log,
  id: number,
  goesOn: () => boolean | Promise<boolean>,
): Promise<boolean> {
  try {
    while (await goesOn()) if (!(await takeStep(context, log, id))) return true;
    return false;
  } catch (error) {
    log.error({ err: error, statementId: id }, 'the work on a provider statement failed');
    const failure = error instanceof Error ? error.message : String(error);
    await recordFailure(context.db, id, failure, MOST_ATTEMPTS).catch((lost: unknown) =>
      log.error({ err: lost, statementId: id }, 'a failed provider statement will be tried again'),
    );
    return false;
  }
}

/** @returns false when there is nothing left to do. */
async function takeStep(context: Context, log: Log, id: number): Promise<boolean> {
  const statement = await findProviderStatementRow(context.db, id);
  if (statement?.status === 'matching' && (await reportNext(context, log, statement))) return true;
  switch (statement?.status) {
    case 'received':
    case 'matching':
    case 'reconciling':
      return inTransaction(context.db, async (tx) => {
        const locked = await lockProviderStatement(tx, id);
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
  if (status === 'received') return Boolean(await setStage(tx, id, 'matching'));
  if (status !== 'matching') return true;
  const options = { provider: STATEMENT_PROVIDER.name, timeZone: context.config.BUSINESS_TIMEZONE };
  // Before its first search: what is there is of an earlier comparison.
  if (statement.searched_to_date === null && (await deleteMissingAtProvider(tx, id, PAYMENTS_A_STEP)))
    return true;
  if (await compareLines(tx, statement, { ...options, limit: LINES_A_STEP })) return true;
  const methodId = await getMethodId(tx, STATEMENT_PROVIDER.methodCode);
  if (await findMissingAtProvider(tx, statement, { ...options, methodId, limit: PAYMENTS_A_STEP }))
    return true;
  if (await flagReversedElsewhere(tx, id, FLAGGED_A_STEP)) return true;
  await setStage(tx, id, 'done');
  return false;
}

/**
 * Posts what the next lines report of transactions that staff have recorded, as notifications would: each payment is
 * linked to its transaction or becomes a conflict. Every line is posted before it is compared.
 * @returns false when no line is left to post before the next comparison.
 */
async function reportNext(context: Context, log: Log, statement: ProviderStatementRow): Promise<boolean> {
  const lines = await findUnreportedLines(context.db, statement, {
    provider: STATEMENT_PROVIDER.name,
    compared: LINES_A_STEP,
    limit: TAKEN_IN_A_STEP,
  });
  if (lines.length === 0) return false;
  await importLines(context, log, statement, lines);
  await touchWaiting(context.db, [statement.id]);
  return true;
}

async function importNext(context: Context, log: Log, statement: ProviderStatementRow): Promise<void> {
  const lines = await findMissingLines(context.db, statement, TAKEN_IN_A_STEP);
  const last = lines.at(-1);
  if (last?.line_number == null) {
    await inTransaction(context.db, async (tx) => {
      const locked = await lockProviderStatement(tx, statement.id);
      if (locked?.status === 'importing') await setStage(tx, statement.id, 'matching');
    });
    return;
  }
  await importLines(context, log, statement, lines);
  await recordTakenIn(context.db, statement, STATEMENT_PROVIDER.name, last.line_number);
}

function importLines(context: Context, log: Log, statement: ProviderStatementRow, lines: readonly LineRow[]) {
  return importNotifications(
    context,
    log,
    lines.map((line) => notificationOfLine(context, statement, line)),
  );
}

/** A line says what the notification would have said that was lost. */
function notificationOfLine(
  { config }: Context,
  statement: ProviderStatementRow,
  line: LineRow,
): Notification {
  const { receipt, amount_minor: amount, completed_at: completedAt } = line;
  if (receipt === null || amount === null || completedAt === null) {
    throw new Error(`Line ${line.line_number} was readable when it came in.`);
  }
  const facts = {
    transId: receipt,
    amountMinor: BigInt(amount),
    time: completedAt,
    businessShortCode: statement.short_code,
    reference: line.reference,
    payer: line.payer,
    payerName: line.payer_name,
  };
  // A file that does not name its short code is taken at the word of whoever uploaded it.
  const paybillNumbers = statement.short_code === null ? [] : config.paybillNumbers;
  const said = { statementId: statement.id, line: line.line_number, ...facts, amountMinor: amount };
  return {
    ...notificationFields(STATEMENT_PROVIDER, facts, { paybillNumbers }),
    source: 'import',
    providerStatementId: statement.id,
    rawBody: JSON.stringify(said),
    transTime: new Date(completedAt),
  };
}

async function reconcileNext(tx: Tx, statement: ProviderStatementRow): Promise<boolean> {
  const next = await findMatchedPayments(tx, statement, RECONCILED_A_STEP);
  if (!next || statement.reconciling_date === null) {
    await setStage(tx, statement.id, 'done');
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

/** Who asked for it: the work may go on in another process. */
async function reconcilerOf(tx: Tx, statement: ProviderStatementRow): Promise<Actor> {
  const user = statement.reconciling_by === null ? undefined : await findUser(tx, statement.reconciling_by);
  return user ? { ...SYSTEM, userId: user.id, name: user.email } : SYSTEM;
}
