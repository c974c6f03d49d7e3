import pLimit from 'p-limit';
import { activateDueAccounts } from './accounts/activate-due-accounts.ts';
import {
  BULK_DEFERRAL_TASK,
  expireBulkDeferrals,
  queueUnfinishedBulkDeferrals,
} from './accounts/bulk-deferrals/commands.ts';
import { workOnBulkDeferral } from './accounts/bulk-deferrals/work-on-bulk-deferral.ts';
import { suspendLateAccounts } from './accounts/status/suspend-late-accounts.ts';
import { deleteOldEvents } from './changes/events/delete-old-events.ts';
import { deleteOldDeliveries } from './changes/webhook-endpoints/delivery-store.ts';
import { judgePromises } from './collections/promises/judge-promises.ts';
import type { CopyPool } from './core/database/copy-pool.ts';
import type { Connection } from './core/database/db.ts';
import type { Replica } from './core/database/replica.ts';
import { deleteOldAnswers } from './core/http/idempotency.ts';
import type { Log } from './core/log.ts';
import { expireDocuments } from './customers/kyc/commands.ts';
import { PULL_TASK, pullPayments, queueDuePulls } from './mobile-money/lost-notifications/pull-payments.ts';
import type { PullKey } from './mobile-money/lost-notifications/pull-store.ts';
import { readCoverage } from './mobile-money/lost-notifications/read-coverage.ts';
import {
  explainGaps,
  watchNotifications,
  watchSilence,
} from './mobile-money/lost-notifications/watch-notifications.ts';
import { findUnansweredPaid, postPaidRequests } from './mobile-money/payment-requests/receive-answer.ts';
import {
  queueUnfinishedStatements,
  STATEMENT_TASK,
  workOnStatement,
} from './mobile-money/provider-statements/work-on-statement.ts';
import { openProviderApis, type ProviderApis } from './mobile-money/providers/registry.ts';
import {
  deleteOldQueries,
  endUnanswered,
  queueUnsentQueries,
  SEND_QUERY_TASK,
  sendStatusQuery,
} from './mobile-money/status-queries/commands.ts';
import { retryPendingNotifications } from './payments/notifications/retry-pending-notifications.ts';
import { repairPhones } from './payments/phone-repair/repair-phones.ts';
import type { PostingContext } from './payments/posting/post-payments.ts';
import { type JobQueue, startJobQueue, type Task } from './platform/jobs/queue.ts';
import { deleteAbandonedFiles, IMPORT_TASK, queueUnfinishedImports } from './portfolio/import/commands.ts';
import { workOnImport } from './portfolio/import/work-on-import.ts';
import { checkBooksUnattended, PROOF_TASK, queueDailyCheck } from './reports/proof/check-books-unattended.ts';
import { endOutdatedApprovals } from './staff/approvals/commands.ts';
import {
  deleteExpiredRefreshTokens,
  deleteExpiredSessions,
  deleteExpiredSignInStates,
} from './staff/auth/store.ts';
import { APPROVABLE_ACTIONS } from './start/approvable-actions.ts';

const MINUTE_TASK = 'minute-jobs';

/** Work that runs every minute. It works in batches, and starts no further batch after the signal is aborted. */
export interface Step {
  /** The name for the log. */
  name: string;
  /** Returns the number of processed rows. Must be safe to run again at any time, also on two instances at once. */
  run(context: PostingContext, signal: AbortSignal, log: Log): Promise<number>;
}

/** Money first, deletions last. */
const STEPS: readonly Step[] = [
  {
    name: 'process stored notifications',
    run: (context, signal, log) => retryPendingNotifications(context, log, signal),
  },
  {
    name: 'post paid payment requests',
    run: (context, signal, log) => postPaidRequests(context, log, signal),
  },
  { name: 'look for the payments of unanswered payment requests', run: findUnansweredPaid },
  { name: 'read balances of providers', run: watchNotifications },
  { name: 'explain gaps in balances', run: explainGaps },
  { name: 'watch for silent providers', run: watchSilence },
  { name: 'queue pulls of payments', run: queueDuePulls },
  { name: 'queue unsent status queries', run: queueUnsentQueries },
  { name: 'end unanswered status queries', run: endUnanswered },
  { name: 'activate accounts', run: activateDueAccounts },
  {
    name: 'suspend late accounts',
    run: async (context, signal) => suspendLateAccounts(context, (await readCoverage(context)).until, signal),
  },
  { name: 'let documents expire', run: expireDocuments },
  { name: 'repair stored phones', run: repairPhones },
  { name: 'judge promises', run: judgePromises },
  {
    name: 'end outdated approvals',
    run: (context, signal) => endOutdatedApprovals(context, APPROVABLE_ACTIONS, signal),
  },
  { name: 'end outdated previews of bulk deferrals', run: expireBulkDeferrals },
  { name: 'queue unfinished bulk deferrals', run: queueUnfinishedBulkDeferrals },
  { name: 'queue unfinished provider statements', run: ({ db }) => queueUnfinishedStatements(db) },
  { name: 'queue unfinished portfolio imports', run: queueUnfinishedImports },
  {
    name: 'queue the daily check of the books',
    run: async (context) => {
      await queueDailyCheck(context);
      // With 0, nothing is logged: after a first start, the addresses of the service must stay the last lines of the output.
      return 0;
    },
  },
  {
    name: 'delete expired refresh tokens',
    run: ({ db }, signal) => deleteExpiredRefreshTokens(db, new Date(), signal),
  },
  { name: 'delete expired sessions', run: ({ db }, signal) => deleteExpiredSessions(db, new Date(), signal) },
  {
    name: 'delete expired sign-in states',
    run: ({ db }, signal) => deleteExpiredSignInStates(db, new Date(), signal),
  },
  {
    name: 'delete old idempotency keys',
    run: ({ db, clock }, signal) => deleteOldAnswers(db, clock.now(), signal),
  },
  {
    name: 'delete old webhook deliveries',
    run: ({ db, clock }, signal) => deleteOldDeliveries(db, clock.now(), signal),
  },
  { name: 'delete old status queries', run: deleteOldQueries },
  { name: 'delete files of abandoned portfolio imports', run: deleteAbandonedFiles },
  { name: 'delete old events', run: deleteOldEvents },
];

/**
 * Runs the steps one after another. A failed step is logged and runs again in the next minute. The other steps still run.
 * @returns whether every step ran and none failed.
 */
export async function runMinuteJobs(
  context: PostingContext,
  log: Log,
  signal?: AbortSignal,
  steps: readonly Step[] = STEPS,
  longestStepMs = context.config.limits.jobStepMs,
): Promise<boolean> {
  let isComplete = true;
  for (const { name, run } of steps) {
    if (signal?.aborted) return false;
    const ends = [AbortSignal.timeout(longestStepMs), ...(signal ? [signal] : [])];
    try {
      const done = await run(context, AbortSignal.any(ends), log);
      if (done > 0) log.info(`minute job: ${name}: ${done}`);
    } catch (error) {
      isComplete = false;
      log.error({ err: error }, `minute job: ${name}: failed`);
    }
  }
  return isComplete;
}

/** The tasks of the job queue. `startJobs` adds the minute jobs and the check of the books. */
export function createTasks(
  context: PostingContext,
  copies: CopyPool,
  log: Log,
  apis: ProviderApis = openProviderApis(context.config),
): Record<string, Task> {
  return {
    [PULL_TASK]: (payload, attempt) => pullPayments(context, log, apis, payload as PullKey, attempt),
    [SEND_QUERY_TASK]: (payload, attempt) => sendStatusQuery(context, log, apis, idOf(payload), attempt),
    [IMPORT_TASK]: (payload, attempt) => workOnImport({ context, copies, log }, idOf(payload), attempt),
    [BULK_DEFERRAL_TASK]: (payload, attempt) => workOnBulkDeferral(context, log, idOf(payload), attempt),
    [STATEMENT_TASK]: (payload, attempt) => workOnStatement(context, log, idOf(payload), attempt),
  };
}

function idOf(payload: unknown): number {
  return (payload as { id: number }).id;
}

export interface Jobs extends JobQueue {
  /** When this instance last completed the minute jobs. Undefined before the first time. Other instances run these jobs, too. */
  lastCompletedAt(): Date | undefined;
  /** Runs the minute jobs. Waits first if this instance already runs them. @returns whether every step ran and none failed. */
  runMinuteJobsNow(): Promise<boolean>;
}

/** Runs the jobs of the queue until `stop` is called. The minute jobs run immediately, and then every minute. */
export function startJobs(
  context: PostingContext,
  {
    connection,
    copies,
    replica,
  }: { connection: Connection; copies: CopyPool; replica?: Replica | undefined },
  log: Log,
): Jobs {
  let lastCompletedAt: Date | undefined;
  const inTurn = pLimit(1);
  const runInTurn = (signal?: AbortSignal) => inTurn(() => runMinuteJobs(context, log, signal));
  const queue = startJobQueue({
    connection,
    db: context.db,
    limits: context.config.limits,
    log,
    everyMinute: [MINUTE_TASK],
    tasks: {
      ...createTasks(context, copies, log),
      [PROOF_TASK]: (_payload, attempt) =>
        checkBooksUnattended(
          context.db,
          { connection, limits: context.config.limits, replica },
          log,
          attempt,
        ),
      [MINUTE_TASK]: async (_payload, { signal }) => {
        if (await runInTurn(signal)) lastCompletedAt = new Date();
      },
    },
  });
  return {
    lastCompletedAt: () => lastCompletedAt,
    runMinuteJobsNow: () => runInTurn(),
    stop: () => queue.stop(),
  };
}
