import { sql } from 'kysely';
import { activateDueAccounts } from './accounts/commands.ts';
import { deleteExpiredSessions, deleteExpiredSignInStates } from './auth/store.ts';
import type { Context } from './core/context.ts';
import { deleteOldAnswers } from './core/idempotency.ts';
import type { Log } from './core/log.ts';
import { retryPendingNotifications } from './payments/inbox.ts';
import { resumeStatements } from './provider-statements/work.ts';

const INTERVAL_MS = 60_000;
const LONGEST_RUN = '5min';

/** What is due every minute. Safe to run again at any time. */
export async function runMinuteJobs(context: Context, log: Log): Promise<void> {
  const activated = await activateDueAccounts(context);
  const settled = await retryPendingNotifications(context, log);
  const resumed = await resumeStatements(context, log);
  await deleteExpiredSessions(context.db, new Date());
  await deleteExpiredSignInStates(context.db, new Date());
  await deleteOldAnswers(context.db, new Date());
  if (activated > 0) log.info(`${activated} accounts were activated on their day.`);
  if (resumed > 0) log.info(`${resumed} provider statements were brought to their end.`);
  if (settled > 0) log.info(`${settled} stored notifications were processed.`);
}

/** Runs the minute jobs now and every minute, on one instance at a time, until stopped. */
export function startMinuteJobs(context: Context, log: Log): { stop(): Promise<void> } {
  let running = Promise.resolve();
  const run = () => {
    running = running
      .then(() => onOneInstance(context, () => runMinuteJobs(context, log)))
      // The next minute tries again; an unreachable database is told by health, too.
      .catch((error) => log.error({ err: error }, 'the minute job failed'));
  };
  run();
  const timer = setInterval(run, INTERVAL_MS);
  return {
    stop: () => {
      clearInterval(timer);
      return running;
    },
  };
}

/** The lock belongs to a transaction, which ends with the process that holds it. */
async function onOneInstance({ db }: Context, work: () => Promise<void>): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await sql`select set_config('idle_in_transaction_session_timeout', ${LONGEST_RUN}, true)`.execute(tx);
    const { rows } = await sql<{ locked: boolean }>`
      select pg_try_advisory_xact_lock(hashtext('ams: minute job')) as locked`.execute(tx);
    if (rows[0]?.locked) await work();
  });
}
