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
import { deleteOldEvents } from './events/commands.ts';
import { retryPendingNotifications } from './payments/notifications/commands.ts';
import { type JobQueue, startJobQueue, type Task } from './platform/jobs/queue.ts';
import {
  queueUnfinishedStatements,
  STATEMENT_TASK,
  workOnStatement,
} from './provider-statements/commands.ts';
import { deleteOldDeliveries } from './webhook-endpoints/delivery-store.ts';

const MINUTE_TASK = 'minute-jobs';
/** After this time a step starts no further batch, so that the next steps can run. */
const LONGEST_STEP_MS = 60_000;

/** Work that runs every minute. It works in batches, and starts no further batch after the signal is aborted. */
export interface Step {
  /** The name for the log. */
  name: string;
  /** Returns the number of processed rows. Must be safe to run again at any time, also on two instances at once. */
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
  {
    name: 'delete old webhook deliveries',
    run: ({ db, clock }, _log, signal) => deleteOldDeliveries(db, clock.now(), signal),
  },
  { name: 'delete old events', run: (context, _log, signal) => deleteOldEvents(context, signal) },
];

/**
 * Runs the steps one after another. A failed step is logged and runs again in the next minute. The other steps still run.
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
  /**
   * When this instance last completed the minute jobs. Undefined if it has not yet. Another instance may have completed them
   * later.
   */
  lastCompletedAt(): Date | undefined;
}

/** Until stopped, runs the jobs that requests add, and the minute jobs: immediately and then every minute. */
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
