import { EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Logger, type Runner, run, runMigrations, type WorkerEvents } from 'graphile-worker';
import { sql } from 'kysely';
import type pg from 'pg';
import { type Connection, type Db, openPool } from '../../core/database/db.ts';
import type { Log } from '../../core/log.ts';
import type { TimeLimits } from '../../core/time-limits.ts';

/**
 * Background jobs in PostgreSQL, run by graphile-worker. A failed job is retried after 3, 7, 20 and 55 seconds.
 * See docs/decisions/0017-job-queue.md.
 */

const MAX_ATTEMPTS = 5;
/** Pauses of the queue, in milliseconds. */
export const QUEUE_PAUSES = {
  /** NOTIFY announces a new job. Polling finds retries, and jobs whose queue was busy. */
  pollMs: 2_000,
  /** Before a worker that ended is started again. */
  restartMs: 5_000,
  /**
   * A task of `everyMinute` also runs once when the instance starts. A start job that still waits would be merged with the first
   * minute job, because both have the same key. So the first minute job is added only after this delay: the start job runs by then.
   */
  firstMinuteJobMs: 5_000,
  /** Less than a minute, so that no minute is left out. */
  nextMinuteJobMs: 50_000,
  retryMinuteJobMs: 5_000,
  /** The first heartbeat waits this long, so that the library sends its LISTEN on the same connection first. */
  firstHeartbeatMs: 500,
  heartbeatMs: 5_000,
} as const;

export type QueuePauses = Readonly<Record<keyof typeof QUEUE_PAUSES, number>>;

/** The first of the two keys of an advisory lock. Each live worker holds one. */
const ALIVE_LOCK = 720_316_041;
const CONNECT_TIMEOUT_MS = 10_000;

export interface Attempt {
  /** Whether this is the last attempt. If it fails, the job does not run again. */
  isLast: boolean;
  /** Aborted when the instance stops. The task then ends after its current batch. */
  signal: AbortSignal;
}

/**
 * The work of a job. It must be safe to run again at any time, because an instance can die before its job is recorded as
 * completed.
 */
export type Task = (payload: unknown, attempt: Attempt) => Promise<void>;

interface JobQueueOptions {
  /** The address of PostgreSQL itself, not of a pooler: a pooler in transaction mode does not forward NOTIFY. */
  connection: Connection;
  db: Db;
  limits: Pick<TimeLimits, 'silenceMs' | 'jobStopMs'>;
  /** Default: `QUEUE_PAUSES`. */
  pauses?: QueuePauses;
  log: Log;
  /** The tasks, by the name that `addJob` uses. */
  tasks: Readonly<Record<string, Task>>;
  /** Names of the tasks that run at the start and at every full minute. */
  everyMinute?: readonly string[];
}

export interface JobQueue {
  /** Aborts the signals of the running jobs, and waits at most `jobStopMs` for these jobs. */
  stop(): Promise<void>;
}

/** Creates the tables of the queue, or migrates them to the version of the library. Only one instance may run this at a time. */
export async function installJobQueue(pool: pg.Pool): Promise<void> {
  await runMigrations({ pgPool: pool });
  // The library enables row-level security without policies, so only the owner of the tables has access. It is disabled here, so
  // that other roles with rights on the tables can use them.
  await pool.query(`do $$ declare name regclass; begin
    for name in select oid from pg_class where relnamespace = 'graphile_worker'::regnamespace and relrowsecurity loop
      execute format('alter table %s disable row level security', name);
    end loop; end $$`);
}

interface Job {
  task: string;
  /** The new job replaces a waiting job with this key. If a job with this key is running, the new job runs after it. */
  key: string;
  payload?: object;
  /** Adds the job only if no other job has the key, not even a running or failed job. */
  onlyIfMissing?: boolean;
}

const ADD_JOB = sql`select revision = 0 as "isNew" from graphile_worker.add_job`;

/**
 * Adds a job. The queue starts the job after the transaction has committed. The jobs of a task run one at a time.
 * @returns false if the job replaced another job, or was not added.
 */
export async function addJob(db: Db, { task, key, payload = {}, onlyIfMissing }: Job): Promise<boolean> {
  const { rows } = await sql<{ isNew: boolean }>`
    ${ADD_JOB}(${task}, payload := ${JSON.stringify(payload)}::json,
      queue_name := ${task}, max_attempts := ${MAX_ATTEMPTS}, job_key := ${key},
      job_key_mode := ${onlyIfMissing ? 'unsafe_dedupe' : 'replace'})`.execute(db);
  return rows[0]?.isNew === true;
}

/**
 * Adds a job for the next full minute of PostgreSQL's clock, if none with its key is waiting. All instances add it with the same
 * key, so it runs once for all of them together.
 */
async function addForNextMinute(db: Db, task: string): Promise<void> {
  await sql`${ADD_JOB}(${task}, queue_name := ${task}, max_attempts := ${MAX_ATTEMPTS}, job_key := ${task},
    run_at := date_trunc('minute', clock_timestamp()) + interval '1 minute', job_key_mode := 'preserve_run_at')`.execute(
    db,
  );
}

/** The job that does the work of a task on a row. */
export function jobOf(task: string, id: number): Job {
  return { task, key: `${task}:${id}`, payload: { id } };
}

/**
 * Queues unfinished work on rows that have no job, for example after a restore: a backup contains no jobs.
 * @param giveUp - ends the work on a row if all attempts of its job have failed, or ended because their process died.
 * @returns the number of new jobs.
 */
export async function queueUnfinished(
  db: Db,
  task: string,
  ids: readonly number[],
  giveUp: (id: number) => Promise<void>,
): Promise<number> {
  let queued = 0;
  for (const id of ids) {
    const job = jobOf(task, id);
    if (await isGivenUp(db, job.key)) await giveUp(id);
    else if (await addJob(db, { ...job, onlyIfMissing: true })) queued += 1;
  }
  return queued;
}

/** Whether all attempts of the job with the key have failed, or ended because their process died. */
export async function isGivenUp(db: Db, key: string): Promise<boolean> {
  const { rows } = await sql`
    select from graphile_worker.jobs
    where key = ${key} and locked_at is null and attempts >= max_attempts`.execute(db);
  return rows.length > 0;
}

/** Runs jobs until `stop` is called. If a worker ends, for example because the database is down, it is started again. */
export function startJobQueue(options: JobQueueOptions): JobQueue {
  const { limits, pauses = QUEUE_PAUSES, log } = options;
  const stopping = new AbortController();
  let runner: Runner | undefined;

  async function runUntilStopped(): Promise<void> {
    while (!stopping.signal.aborted) {
      // Each runner has its own pool. Closing the pool releases the advisory lock of a runner that ended.
      const pool = openQueuePool(options);
      try {
        runner = await startRunner(pool, options, stopping.signal);
        if (stopping.signal.aborted) await runner.stop();
        await runner.promise;
      } catch (error) {
        log.error({ err: error }, 'the job queue ended and is being restarted');
      }
      await Promise.race([pool.end(), sleep(pauses.restartMs)]); // Closing a connection can take for ever.
      await sleep(pauses.restartMs, undefined, { signal: stopping.signal }).catch(() => {});
    }
  }

  const running = Promise.all([runUntilStopped(), addMinuteJobs(options, stopping.signal)]);
  return {
    async stop() {
      stopping.abort();
      const stopped = runner?.stop().catch(() => {}); // The runner may already have ended.
      await Promise.race([
        Promise.all([stopped, running]),
        sleep(limits.jobStopMs, undefined, { ref: false }),
      ]);
    },
  };
}

/** Adds the jobs of `everyMinute` for each full minute, until the signal is aborted. */
export async function addMinuteJobs(
  {
    db,
    pauses = QUEUE_PAUSES,
    log,
    everyMinute = [],
  }: Pick<JobQueueOptions, 'db' | 'pauses' | 'log' | 'everyMinute'>,
  signal: AbortSignal,
): Promise<void> {
  let pauseMs = pauses.firstMinuteJobMs;
  for (;;) {
    await sleep(pauseMs, undefined, { signal }).catch(() => {});
    if (signal.aborted) return;
    try {
      for (const task of everyMinute) await addForNextMinute(db, task);
      pauseMs = pauses.nextMinuteJobMs;
    } catch (error) {
      log.warn({ err: error }, 'the next minute job was not added; another attempt follows in 5 s');
      pauseMs = pauses.retryMinuteJobMs;
    }
  }
}

function openQueuePool({ connection, log, tasks }: JobQueueOptions): pg.Pool {
  return openPool({
    connection,
    onConnectionLost: (error) => log.warn(`A connection of the job queue was lost: ${error.message}`),
    application_name: 'account-management-service jobs',
    max: Math.max(2, concurrencyOf(tasks)), // One connection listens. The others take and complete jobs.
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
  });
}

/** One worker for each task. A task runs only one job at a time, so no task waits for another. */
function concurrencyOf(tasks: JobQueueOptions['tasks']): number {
  return Math.max(Object.keys(tasks).length, 1);
}

async function startRunner(
  pool: pg.Pool,
  { db, limits, pauses = QUEUE_PAUSES, log, tasks, everyMinute = [] }: JobQueueOptions,
  signal: AbortSignal,
): Promise<Runner> {
  for (const task of everyMinute) await addJob(db, { task, key: task });
  const events: WorkerEvents = new EventEmitter();
  releaseJobsOfDeadInstances(events, limits, log, pauses);
  return run({
    pgPool: pool,
    events,
    logger: loggerOf(log),
    noHandleSignals: true,
    concurrency: concurrencyOf(tasks),
    pollInterval: pauses.pollMs,
    // Completes jobs in batches. Without batches, version 0.17 of the library does not catch the error of a failed completion,
    // and this error would end the process.
    preset: { worker: { completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
    taskList: Object.fromEntries(
      Object.entries(tasks).map(([name, task]) => [
        name,
        (payload, { job }) => task(payload, { isLast: job.attempts >= job.max_attempts, signal }),
      ]),
    ),
  });
}

/**
 * Releases the jobs of dead workers, which the library would keep locked for four hours. Each worker holds an advisory lock on
 * the connection that listens for jobs. PostgreSQL ends a session that sends no heartbeats, and releases the lock when the
 * session ends. Every instance looks for jobs whose worker holds no such lock, and releases these jobs.
 */
export function releaseJobsOfDeadInstances(
  events: WorkerEvents,
  { silenceMs }: Pick<TimeLimits, 'silenceMs'>,
  log: Log,
  { firstHeartbeatMs, heartbeatMs }: QueuePauses = QUEUE_PAUSES,
): void {
  let timer: NodeJS.Timeout | undefined;
  const stopTimer = () => {
    clearTimeout(timer);
    timer = undefined;
  };
  let lockless = new Set<string>();
  events.on('pool:listen:success', ({ workerPool, client }) => {
    let isHeld = false;
    const beat = async () => {
      if (!isHeld) {
        // The lock is shared, because the previous connection of this worker, which was lost, may still hold it.
        await client.query(
          `select set_config('idle_session_timeout', $1, false), pg_advisory_lock_shared($2, hashtext($3))`,
          [String(silenceMs), ALIVE_LOCK, workerPool.id],
        );
        isHeld = true;
      }
      const { rows } = await client.query<{ worker: string }>(
        `select worker from (
           select distinct locked_by as worker from graphile_worker.jobs
           where locked_by <> $1 and locked_at < now() - $2 * interval '1 millisecond') locked
         where pg_try_advisory_xact_lock($3, hashtext(worker))`,
        [workerPool.id, silenceMs, ALIVE_LOCK],
      );
      // A live worker holds no lock while it reconnects, so it counts as dead only if two heartbeats in a row find no lock.
      const dead = rows.map(({ worker }) => worker).filter((worker) => lockless.has(worker));
      lockless = new Set(rows.map(({ worker }) => worker));
      if (dead.length > 0) await client.query('select graphile_worker.force_unlock_workers($1)', [dead]);
      // Releases queues that are locked although none of their jobs runs. When a frozen worker continues after another worker has
      // taken over its job, it deletes the job. The queue of the job then stays locked.
      await client.query(
        `update graphile_worker._private_job_queues q set locked_by = null, locked_at = null
         where locked_at < now() - $1 * interval '1 millisecond' and not exists (
           select from graphile_worker._private_jobs j where j.job_queue_id = q.id and j.locked_by = q.locked_by)`,
        [silenceMs],
      );
    };
    const warn = (error: Error) => log.warn({ err: error }, 'the heartbeat of the job queue failed');
    /** Sends a heartbeat after the delay. The next heartbeat is sent only after this one has ended, because it may be slow. */
    const beatAfter = (delayMs: number) => {
      const current = setTimeout(async () => {
        await beat().catch(warn);
        if (timer === current) beatAfter(heartbeatMs);
      }, delayMs);
      timer = current;
    };
    stopTimer();
    beatAfter(firstHeartbeatMs);
  });
  events.on('pool:listen:release', stopTimer);
}

/** The library's `info` becomes `debug`, because the library reports each completed job, at least one every minute. */
function loggerOf(log: Log): Logger {
  const levels = { error: 'error', warning: 'warn', info: 'debug', debug: 'trace' } as const;
  return new Logger(
    ({ taskIdentifier }) =>
      (level, message, meta) =>
        log[levels[level]](
          { ...(taskIdentifier !== undefined && { task: taskIdentifier }), err: meta?.error },
          message.split('\n', 1)[0],
        ),
  );
}
