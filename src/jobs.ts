import { activateDueAccounts, suspendLateAccounts } from './accounts/commands.ts';
import {
  deleteExpiredRefreshTokens,
  deleteExpiredSessions,
  deleteExpiredSignInStates,
} from './auth/store.ts';
import type { Context } from './core/context.ts';
import type { Connection } from './core/database/db.ts';
import { deleteOldAnswers } from './core/http/idempotency.ts';
import type { Log } from './core/log.ts';
import { retryPendingNotifications } from './payments/notifications/commands.ts';
import { type JobQueue, startJobQueue, type Task } from './platform/jobs/queue.ts';
import {
  queueUnfinishedStatements,
  STATEMENT_TASK,
  workOnStatement,
} from './provider-statements/commands.ts';

const MINUTE_TASK = 'minute-jobs';
/** After this a step starts no further batch, so that the steps after it have their turn. */
const LONGEST_STEP_MS = 60_000;

/** One kind of work that is due every minute. It works in batches and starts none once the signal is aborted. */
export interface Step {
  /** What it does, for the log. */
  name: string;
  /** Returns how much was done. Safe to run again at any time, also on two instances at once. */
  run(context: Context, log: Log, signal: AbortSignal): Promise<number>;
}

/** Money first, deletions last. */
const STEPS: readonly Step[] = [
  { name: 'process stored notifications', run: retryPendingNotifications },
  { name: 'activate accounts', run: (context, _log, signal) => activateDueAccounts(context, signal) },
  { name: 'suspend late accounts', run: (context, _log, signal) => suspendLateAccounts(context, signal) },
  { name: 'queue unfinished provider statements', run: ({ db }) => queueUnfinishedStatements(db) },
  {
    name: 'delete expired refresh tokens',
    run: ({ db }, _log, signal) => deleteExpiredRefreshTokens(db, new Date(), signal),
  },
  {
    name: 'delete expired sessions',
    run: ({ db }, _log, signal) => deleteExpiredSessions(db, new Date(), signal),
  },
  {
    name: 'delete expired sign-in states',
    run: ({ db }, _log, signal) => deleteExpiredSignInStates(db, new Date(), signal),
  },
  {
    name: 'delete old answers',
    run: ({ db, clock }, _log, signal) => deleteOldAnswers(db, clock.now(), signal),
  },
];

/**
 * Runs each step in turn. A step that fails is logged, does not keep the others from running, and runs again next minute.
 * @returns whether every step ran and none failed.
 */
export async function runMinuteJobs(
  context: Context,
  log: Log,
  signal?: AbortSignal,
  steps: readonly Step[] = STEPS,
  longestStepMs = LONGEST_STEP_MS,
): Promise<boolean> {
  let isComplete = true;
  for (const { name, run } of steps) {
    if (signal?.aborted) return false;
    const ends = [AbortSignal.timeout(longestStepMs), ...(signal ? [signal] : [])];
    try {
      const done = await run(context, log, AbortSignal.any(ends));
      if (done > 0) log.info(`minute job: ${name}: ${done}`);
    } catch (error) {
      isComplete = false;
      log.error({ err: error }, `minute job: ${name}: failed`);
    }
  }
  return isComplete;
}

/** The tasks that requests add jobs for. */
export function requestTasks(context: Context, log: Log): Record<string, Task> {
  return {
    [STATEMENT_TASK]: (payload, attempt) =>
      workOnStatement(context, log, (payload as { id: number }).id, attempt),
  };
}

export interface Jobs extends JobQueue {
  /** When this instance last completed the minute jobs; undefined before. Another instance may have done so since. */
  lastCompletedAt(): Date | undefined;
}

/** Runs the jobs that requests add, and the minute jobs at once and every minute, until stopped. */
export function startJobs(context: Context, connection: Connection, log: Log): Jobs {
  let lastCompletedAt: Date | undefined;
  const queue = startJobQueue({
    connection,
    db: context.db,
    log,
    everyMinute: [MINUTE_TASK],
    tasks: {
      ...requestTasks(context, log),
      [MINUTE_TASK]: async (_payload, { signal }) => {
        if (await runMinuteJobs(context, log, signal)) lastCompletedAt = new Date();
      },
    },
  });
  return { lastCompletedAt: () => lastCompletedAt, stop: () => queue.stop() };
}
