import { EventEmitter, once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it, type MockInstance, vi } from 'vitest';
import { useService } from '../../../test/support/harness.ts';
import { eventually, PATIENT, until } from '../../../test/support/waiting.ts';
import {
  addJob,
  addMinuteJobs,
  isGivenUp,
  type JobQueue,
  QUEUE_PAUSES,
  type QueuePauses,
  releaseJobsOfDeadInstances,
  startJobQueue,
  type Task,
} from './queue.ts';

const service = useService();
const TASK = 'test';
const started: JobQueue[] = [];
const PAUSE_MS = 10;
const HOUR_MS = 3_600_000;
/** Less than the age of the old locks that the tests make. */
const SILENCE_MS = 30_000;
const SHORT_PAUSES = Object.fromEntries(
  Object.keys(QUEUE_PAUSES).map((name) => [name, PAUSE_MS]),
) as QueuePauses;

interface Options {
  everyMinute?: string[];
  pauses?: Partial<QueuePauses>;
}

function start(task: Task, { pauses, ...options }: Options = {}): JobQueue {
  const { connection, context, parts } = service;
  const queue = startJobQueue({
    connection,
    db: context.db,
    limits: { ...context.config.limits, silenceMs: SILENCE_MS },
    pauses: { ...SHORT_PAUSES, ...pauses },
    log: parts.log,
    tasks: { [TASK]: task },
    ...options,
  });
  started.push(queue);
  return queue;
}

const add = (key: string, onlyIfMissing = false) =>
  addJob(service.context.db, { task: TASK, key, payload: { key }, onlyIfMissing });

async function waiting(): Promise<number> {
  const { rows } = await sql<{ jobs: number }>`
    select count(*) as jobs from graphile_worker.jobs`.execute(service.context.db);
  return rows[0]?.jobs ?? 0;
}

/** Lets a waiting job run after the delay from now. */
async function delay(key: string, interval: '0' | '1 hour'): Promise<void> {
  await sql`update graphile_worker._private_jobs set run_at = now() + ${interval}::interval
    where key = ${key}`.execute(service.context.db);
}

let asked: MockInstance;

/** The values of the statements with this text that the queues have sent. */
const sent = (text: string): unknown[] =>
  asked.mock.calls
    .filter(([statement]) => (statement.text ?? statement).includes?.(text))
    .map(([statement, values]) => statement.values ?? values);

beforeEach(() => {
  asked = vi.spyOn(pg.Client.prototype, 'query');
});

afterEach(async () => {
  await Promise.all(started.splice(0).map((queue) => queue.stop()));
  asked.mockRestore();
  await sql`truncate graphile_worker._private_jobs, graphile_worker._private_job_queues`.execute(
    service.context.db,
  );
});

describe('a job', () => {
  it('starts when its transaction commits, without waiting for a poll, and not before', async () => {
    const runs: unknown[] = [];
    const run: Task = async (payload) => void runs.push(payload);
    await add('first');
    start(run, { pauses: { pollMs: HOUR_MS, firstHeartbeatMs: HOUR_MS } });
    await eventually(waiting).toBe(0);
    await until('the queue to listen for new jobs', async () => {
      const { rows } = await sql`select from pg_stat_activity
        where datname = current_database() and query ilike 'listen%' and state = 'idle'`.execute(
        service.context.db,
      );
      return rows.length > 0;
    });
    await service.context.db.transaction().execute(async (tx) => {
      await addJob(tx, { task: TASK, key: 'a', payload: { key: 'a' } });
      await add('b');
      await eventually(() => runs).toEqual([{ key: 'first' }, { key: 'b' }]);
      await eventually(waiting).toBe(0);
      expect(runs).toHaveLength(2);
    });
    await eventually(() => runs).toEqual([{ key: 'first' }, { key: 'b' }, { key: 'a' }]);
  });

  it('replaces a job with its key that has not started', async () => {
    expect([await add('a'), await add('a'), await add('b')]).toEqual([true, false, true]);
    const run = vi.fn(async (_payload: unknown) => {});
    start(run);
    await eventually(waiting).toBe(0);
    expect(run.mock.calls.map(([payload]) => payload)).toEqual([{ key: 'a' }, { key: 'b' }]);
  });

  it('is not added with onlyIfMissing if a job with its key exists', async () => {
    expect([await add('a', true), await add('a', true)]).toEqual([true, false]);
    expect(await waiting()).toBe(1);
  });

  it('runs on one instance at a time, and runs again if it was added again while it ran', async () => {
    let running = 0;
    let most = 0;
    let runs = 0;
    const run: Task = async () => {
      running += 1;
      most = Math.max(most, running);
      runs += 1;
      if (runs === 1) {
        await add('a');
        const looks = () => sent('skip locked').length;
        const before = looks();
        await until('the other instance to look for jobs twice', () => looks() >= before + 2);
      }
      running -= 1;
    };
    start(run);
    start(run);
    await add('a');
    await eventually(() => runs).toBe(2);
    await eventually(waiting).toBe(0);
    expect([runs, most]).toEqual([2, 1]);
  });

  it('is retried when it fails, while other jobs run', async () => {
    const runs: string[] = [];
    const run: Task = async (payload) => {
      const { key } = payload as { key: string };
      runs.push(key);
      if (runs.length > 1) return;
      await delay(key, '1 hour'); // The retry follows 3 s after that.
      throw new Error('not yet');
    };
    const logged = vi.spyOn(service.parts.log, 'error');
    await add('fails');
    start(run);
    await eventually(() => runs).toEqual(['fails']);
    await add('other');
    await eventually(waiting).toBe(1);
    await delay('fails', '0');
    await eventually(waiting).toBe(0);
    expect(runs).toEqual(['fails', 'other', 'fails']);
    expect(logged.mock.calls[0]?.[1]).toContain("attempt 1 of 5) with error 'not yet'");
    logged.mockRestore();
  });

  it('is retried after 3, 7, 20 and 55 s, gets isLast in its last attempt, and never runs again', async () => {
    const attempts: { key: string; isLast: boolean }[] = [];
    start(async (payload, { isLast }) => {
      const { key } = payload as { key: string };
      attempts.push({ key, isLast });
      if (key !== 'a') return;
      await sql`update graphile_worker._private_jobs set run_at = date '2100-01-01'`.execute(
        service.context.db,
      );
      throw new Error('never');
    });
    const retries: number[] = [];
    await add('a');
    for (let attempt = 1; attempt <= 5; attempt++) {
      await until(`the failure of attempt ${attempt} to be recorded`, async () => {
        const { rows } = await sql<{ seconds: number }>`
          select round(extract(epoch from run_at - date '2100-01-01'))::int as seconds from graphile_worker.jobs
          where locked_at is null and attempts = ${attempt}`.execute(service.context.db);
        retries.push(...rows.map(({ seconds }) => seconds));
        return rows.length > 0;
      });
      await delay('a', '0');
    }
    expect(retries.slice(0, 4)).toEqual([3, 7, 20, 55]);
    expect(await isGivenUp(service.context.db, 'a')).toBe(true);
    await add('b');
    await eventually(waiting).toBe(1);
    expect(attempts.map(({ key }) => key)).toEqual(['a', 'a', 'a', 'a', 'a', 'b']);
    expect(attempts.map(({ isLast }) => isLast)).toEqual([false, false, false, false, true, false]);
  });

  it('of an instance that died is run by another instance', async () => {
    await add('a');
    await sql`update graphile_worker._private_job_queues
      set locked_by = 'pool-dead', locked_at = now() - interval '1 minute'`.execute(service.context.db);
    await sql`update graphile_worker._private_jobs
      set locked_by = 'pool-dead', locked_at = now() - interval '1 minute'`.execute(service.context.db);
    const run = vi.fn(async () => {});
    start(run);
    await eventually(waiting).toBe(0);
    expect(run).toHaveBeenCalledTimes(1);
  });

  it('of a live instance stays with this instance, however long it runs', async () => {
    /** The instances that have sent a number of heartbeats. */
    const beating = (heartbeats: number) => {
      const ids = sent('pg_try_advisory_xact_lock').map((values) => (values as string[])[0]);
      return new Set(ids.filter((id) => ids.filter((other) => other === id).length >= heartbeats)).size;
    };
    const locks = async () => {
      const { rows } = await sql<{ worker: string }>`
        select locked_by as worker from graphile_worker.jobs where locked_by is not null`.execute(
        service.context.db,
      );
      return rows;
    };
    start(async (_payload, { signal }) => void (await once(signal, 'abort')));
    await add('a');
    await eventually(locks).toHaveLength(1);
    await eventually(() => beating(2)).toBe(1); // Before the second, it has taken its advisory lock.
    const before = await locks();
    await sql`update graphile_worker._private_jobs set locked_at = now() - interval '1 hour'`.execute(
      service.context.db,
    );
    const other = vi.fn(async () => {});
    start(other);
    await eventually(() => beating(5)).toBe(2);
    expect(other).not.toHaveBeenCalled();
    expect(await locks()).toEqual(before);
  });
});

describe('a queue', () => {
  it('is unlocked if a live instance keeps it locked although another instance has completed the job', async () => {
    const run = vi.fn(async () => {});
    start(run);
    await add('first');
    await eventually(waiting).toBe(0);
    await sql`update graphile_worker._private_job_queues
      set locked_by = 'pool-live', locked_at = now() - interval '1 minute'`.execute(service.context.db);
    await add('second');
    await eventually(waiting).toBe(0);
    expect(run).toHaveBeenCalledTimes(2);
  });

  it('aborts the signal of a running job when it stops, and waits for the job', async () => {
    let batches = 0;
    const queue = start(async (_payload, { signal }) => {
      while (!signal.aborted) {
        await sleep(1);
        batches += 1;
      }
    });
    await add('a');
    await eventually(() => batches).toBeGreaterThan(0);
    const stopped = queue.stop();
    const atStop = batches;
    await stopped;
    started.splice(0);
    expect(batches).toBeLessThanOrEqual(atStop + 1);
    expect(await waiting()).toBe(0);
  });

  it('continues after its connections were lost', async () => {
    const run = vi.fn(async (_payload: unknown) => {});
    start(run, { everyMinute: [TASK], pauses: { firstMinuteJobMs: HOUR_MS } });
    await eventually(() => run.mock.calls.length).toBe(1);
    // A job whose completion was not recorded would run again only after `silenceMs`.
    await eventually(waiting).toBe(0);
    const { rows } = await sql`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name = 'account-management-service jobs'`.execute(
      service.context.db,
    );
    expect(rows.length).toBeGreaterThan(0);
    await add('after');
    await eventually(() => run.mock.calls).toContainEqual([{ key: 'after' }, expect.anything()]);
  });
});

describe('a task of everyMinute', () => {
  async function isAdded(): Promise<boolean> {
    const { rows } = await sql`
      select from graphile_worker.jobs
      where key = ${TASK} and run_at = date_trunc('minute', clock_timestamp()) + interval '1 minute'`.execute(
      service.context.db,
    );
    return rows.length > 0;
  }

  it('also runs at the first full minute after a start', async () => {
    const run = vi.fn(async () => {});
    start(run, { everyMinute: [TASK] });
    await eventually(() => run.mock.calls.length).toBeGreaterThan(0);
    await until('the job of the next minute', isAdded);
    const before = run.mock.calls.length;
    await until('another run', async () => {
      await delay(TASK, '0');
      return run.mock.calls.length > before;
    });
  });

  it('is added again within seconds after an attempt to add it has failed', async () => {
    const { db } = service.context;
    const rename = (from: string, to: string) =>
      sql`alter function ${sql.table(`graphile_worker.${from}`)} rename to ${sql.ref(to)}`.execute(db);
    const warned = vi.spyOn(service.parts.log, 'warn');
    const stopping = new AbortController();
    const pauses = { ...SHORT_PAUSES, nextMinuteJobMs: HOUR_MS };
    await rename('add_job', 'missing_add_job');
    const adding = addMinuteJobs(
      { db, pauses, log: service.parts.log, everyMinute: [TASK] },
      stopping.signal,
    );
    try {
      await eventually(() => warned.mock.calls.flat().join()).toContain('the next minute job was not added');
    } finally {
      await rename('missing_add_job', 'add_job');
      warned.mockRestore();
    }
    await eventually(waiting).toBe(1);
    stopping.abort();
    await adding;
    expect(await waiting()).toBe(1);
  });
});

it('polls every 2 s, adds the next minute job in each minute, and sends a heartbeat every 5 s', () => {
  expect(QUEUE_PAUSES).toEqual({
    pollMs: 2_000,
    restartMs: 5_000,
    firstMinuteJobMs: 5_000,
    nextMinuteJobMs: 50_000,
    retryMinuteJobMs: 5_000,
    firstHeartbeatMs: 500,
    heartbeatMs: 5_000,
  });
});

describe('a queue whose database does not answer', () => {
  it('stops within seconds', async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const connection = `postgres://user@127.0.0.1:${(silent.address() as AddressInfo).port}/none`;
    const queue = startJobQueue({
      connection,
      db: service.context.db,
      limits: { ...PATIENT, jobStopMs: 100 },
      log: service.parts.log,
      tasks: {},
    });
    await once(silent, 'connection');
    await queue.stop();
    silent.close();
  });

  it('sends no second heartbeat while the first waits', async () => {
    vi.useFakeTimers();
    try {
      let answer = (_result: { rows: [] }) => {};
      const first = new Promise<{ rows: [] }>((resolve) => {
        answer = resolve;
      });
      const query = vi.fn(() => first);
      const events = new EventEmitter();
      releaseJobsOfDeadInstances(events, PATIENT, service.parts.log);
      events.emit('pool:listen:success', { workerPool: { id: 'worker' }, client: { query } });
      await vi.advanceTimersByTimeAsync(20_000);
      expect(query).toHaveBeenCalledTimes(1);
      answer({ rows: [] });
      await vi.advanceTimersByTimeAsync(0);
      expect(query).toHaveBeenCalledTimes(3);
      await vi.advanceTimersByTimeAsync(5_000);
      expect(query).toHaveBeenCalledTimes(5);
    } finally {
      vi.useRealTimers();
    }
  });
});
