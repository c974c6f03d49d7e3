import { sql } from 'kysely';
import { activateDueAccounts, suspendLateAccounts } from './accounts/commands.ts';
import {
  deleteExpiredRefreshTokens,
  deleteExpiredSessions,
  deleteExpiredSignInStates,
} from './auth/store.ts';
import type { Context } from './core/context.ts';
import { deleteOldAnswers } from './core/http/idempotency.ts';
import type { Log } from './core/log.ts';
import { retryPendingNotifications } from './payments/notifications/commands.ts';
import { resumeProviderStatements } from './provider-statements/work.ts';

const INTERVAL_MS = 60_000;
/** After this no step begins another batch. */
const LONGEST_RUN_MS = 4.5 * 60_000;
/** After this PostgreSQL takes the lock away, whatever its holder does. */
const LONGEST_LOCK = '5min';

/** One thing that is due every minute. It works in batches and begins none once the signal is aborted. */
export interface Step {
  /** What it does, for the log. */
  name: string;
  /** After this it begins no other batch, so that the steps behind it have their turn. */
  longestMs?: number;
  /** The number of things done. Safe to run again at any time, also on two instances at once. */
  run(context: Context, log: Log, signal: AbortSignal): Promise<number>;
}

/** In this order: money first, tidying last. */
const STEPS: readonly Step[] = [
  // Each of them may fail slowly, and those that failed before come last in the next run.
  { name: 'process stored notifications', run: retryPendingNotifications, longestMs: 60_000 },
  { name: 'activate accounts', run: (context, _log, signal) => activateDueAccounts(context, signal) },
  { name: 'suspend late accounts', run: (context, _log, signal) => suspendLateAccounts(context, signal) },
  { name: 'go on with provider statements', run: resumeProviderStatements },
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
 * Does what is due. A step that fails is logged, keeps no other from its turn, and is tried again next minute.
 * @returns whether every step was run and none failed.
 */
export async function runMinuteJobs(
  context: Context,
  log: Log,
  signal: AbortSignal = AbortSignal.timeout(LONGEST_RUN_MS),
  steps: readonly Step[] = STEPS,
): Promise<boolean> {
  let isComplete = true;
  for (const { name, run, longestMs = LONGEST_RUN_MS } of steps) {
    if (signal.aborted) return false;
    try {
      const done = await run(context, log, AbortSignal.any([signal, AbortSignal.timeout(longestMs)]));
      if (done > 0) log.info(`minute job: ${name}: ${done}`);
    } catch (error) {
      isComplete = false;
      log.error({ err: error }, `minute job: ${name}: failed`);
    }
  }
  return isComplete;
}

export interface MinuteJobs {
  /** When this instance last did all that was due; undefined before. Another instance may have done it since. */
  lastCompletedAt(): Date | undefined;
  stop(): Promise<void>;
}

/**
 * Runs the minute jobs now and every minute, on one instance at a time, until stopped. A run that takes longer
 * than a minute is not overtaken by the next; a stop waits for the batch at hand alone.
 */
export function startMinuteJobs(
  context: Context,
  log: Log,
  { steps = STEPS, intervalMs = INTERVAL_MS }: { steps?: readonly Step[]; intervalMs?: number } = {},
): MinuteJobs {
  let lastCompletedAt: Date | undefined;
  const stopping = new AbortController();
  let running: Promise<void> | undefined;
  const tick = () => {
    running ??= run().finally(() => {
      running = undefined;
    });
  };
  async function run(): Promise<void> {
    const signal = AbortSignal.any([stopping.signal, AbortSignal.timeout(LONGEST_RUN_MS)]);
    try {
      await onOneInstance(context, async () => {
        if (await runMinuteJobs(context, log, signal, steps)) lastCompletedAt = new Date();
      });
    } catch (error) {
      // The next minute tries again; an unreachable database is told by health, too.
      log.error({ err: error }, 'the minute job failed');
    }
  }
  tick();
  const timer = setInterval(tick, intervalMs);
  return {
    lastCompletedAt: () => lastCompletedAt,
    stop: async () => {
      clearInterval(timer);
      stopping.abort();
      await running;
    },
  };
}

/** The lock belongs to a transaction, which ends with the process that holds it. */
async function onOneInstance({ db }: Context, work: () => Promise<void>): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await sql`select set_config('idle_in_transaction_session_timeout', ${LONGEST_LOCK}, true)`.execute(tx);
    const { rows } = await sql<{ locked: boolean }>`
      select pg_try_advisory_xact_lock(hashtext('ams: minute job')) as locked`.execute(tx);
    if (rows[0]?.locked) await work();
  });
}
