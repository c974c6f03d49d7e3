import pLimit from 'p-limit';
import { type Actor, type Context, SYSTEM } from '../core/context.ts';
import { inTransaction, type Tx } from '../core/db.ts';
import type { Log } from '../core/log.ts';
import { minorToText } from '../core/money.ts';
import { getMobileMoneyId } from '../payment-methods/store.ts';
import { receiveNotification } from '../payments/inbox.ts';
import { makeBatch, resultOf } from '../reconciliations/commands.ts';
import { lockPayments } from '../reconciliations/store.ts';
import { findUser } from '../users/store.ts';
import { PROVIDER, readNotification } from '../webhooks/notification.ts';
import {
  compareLines,
  deleteMissingAtProvider,
  findMissingAtProvider,
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
import { findMissingLines, recordTakenIn } from './taking-in-store.ts';

/**
 * What is done with a statement after it came in: matching, taking in, reconciling. Each goes in steps, and
 * each step is a transaction that also keeps how far it came; whoever does the next one begins there.
 */

const LINES_A_STEP = 5_000;
const PAYMENTS_A_STEP = 20_000;
const TAKEN_IN_A_STEP = 100;
/** Of a pool of eight, so that requests go on. */
const TAKEN_IN_AT_ONCE = 3;
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
  switch (statement?.status) {
    case 'received':
    case 'matching':
    case 'reconciling':
      return inTransaction(context.db, async (tx) => {
        const locked = await lockProviderStatement(tx, id);
        if (locked?.status === 'reconciling') return reconcileNext(tx, locked);
        return locked ? matchNext(tx, context, locked) : false;
      });
    case 'taking_in':
      await takeInNext(context, log, statement);
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
  const options = { provider: PROVIDER, timeZone: context.config.BUSINESS_TIMEZONE };
  // Before its first search: what is there is of an earlier comparison.
  if (statement.searched_to_date === null && (await deleteMissingAtProvider(tx, id, PAYMENTS_A_STEP)))
    return true;
  if (await compareLines(tx, statement, { ...options, limit: LINES_A_STEP })) return true;
  const methodId = await getMobileMoneyId(tx);
  if (await findMissingAtProvider(tx, statement, { ...options, methodId, limit: PAYMENTS_A_STEP }))
    return true;
  if (await flagReversedElsewhere(tx, id, FLAGGED_A_STEP)) return true;
  await setStage(tx, id, 'done');
  return false;
}

async function takeInNext(context: Context, log: Log, statement: ProviderStatementRow): Promise<void> {
  const lines = await findMissingLines(context.db, statement, TAKEN_IN_A_STEP);
  const last = lines.at(-1);
  if (last?.line_number == null) {
    await inTransaction(context.db, async (tx) => {
      const locked = await lockProviderStatement(tx, statement.id);
      if (locked?.status === 'taking_in') await setStage(tx, statement.id, 'matching');
    });
    return;
  }
  const few = pLimit(TAKEN_IN_AT_ONCE);
  // Where one fails the others end first, so that none goes on beside what comes next.
  const ends = await Promise.allSettled(
    lines.map((line) => few(() => takeIn(context, log, statement, line))),
  );
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
  await recordTakenIn(context.db, statement, PROVIDER, last.line_number);
}

/**
 * A line is read as the notification that was lost, and goes the way that every notification goes: one payment
 * for each transaction, whoever tells of it and how often.
 */
async function takeIn(
  context: Context,
  log: Log,
  statement: ProviderStatementRow,
  line: LineRow,
): Promise<void> {
  const { decimals } = context.currency;
  const body = {
    TransactionType: 'Pay Bill',
    TransID: line.receipt,
    TransTime: line.completed_at && providerTime(new Date(line.completed_at)),
    TransAmount: line.amount_minor === null ? null : minorToText(BigInt(line.amount_minor), decimals),
    BusinessShortCode: statement.short_code,
    BillRefNumber: line.reference,
    MSISDN: line.payer,
    FirstName: line.payer_name,
    StatementId: statement.id,
    StatementLine: line.line_number,
  };
  const reading = readNotification(body, JSON.stringify(body), context.clock.now(), {
    currency: context.currency,
    timeZone: context.config.BUSINESS_TIMEZONE,
    // A file that does not tell its short code is taken at the word of whoever uploaded it.
    paybillNumbers: statement.short_code === null ? [] : context.config.paybillNumbers,
  });
  if ('problems' in reading) throw new Error(`Line ${line.line_number} was readable when it came in.`);
  const imported = { source: 'import', providerStatementId: statement.id } as const;
  await receiveNotification(context, log, { ...reading.notification, ...imported });
}

/** yyyyMMddHHmmss in East Africa Time, as notifications have it. */
function providerTime(moment: Date): string {
  const eastAfrica = new Date(moment.getTime() + 3 * 3_600_000);
  return eastAfrica.toISOString().slice(0, 19).replace(/\D/g, '');
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
    await makeBatch(tx, await reconcilerOf(tx, statement), {
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
