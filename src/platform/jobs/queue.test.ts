import { EventEmitter, once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { useService } from '../../../test/support/harness.ts';
import { PATIENT } from '../../../test/support/waiting.ts';
import {
  addJob,
  isGivenUp,
  type JobQueue,
  releaseJobsOfDeadInstances,
  startJobQueue,
  type Task,
} from './queue.ts';

const service = useService();
const TASK = 'test';
const started: JobQueue[] = [];

function start(task: Task, options: { everyMinute?: string[] } = {}): JobQueue {
  const { connection, context, parts } = service;
  const queue = startJobQueue({
    connection,
    db: context.db,
    limits: context.config.limits,
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

afterEach(async () => {
  await Promise.all(started.splice(0).map((queue) => queue.stop()));
  await sql`truncate graphile_worker._private_jobs, graphile_worker._private_job_queues`.execute(
    service.context.db,
  );
});

describe('a job', () => {
  it('starts at once when its transaction commits, and not before', async () => {
    const run = vi.fn(async () => {});
    start(run);
    await sleep(200); // The queue listens now.
    await service.context.db.transaction().execute(async (tx) => {
      await addJob(tx, { task: TASK, key: 'a' });
      await sleep(300);
      expect(run).not.toHaveBeenCalled();
    });
    await expect.poll(() => run.mock.calls.length, { timeout: 1_000, interval: 10 }).toBe(1);
  });

  it('replaces a job with its key that has not started', async () => {
    expect([await add('a'), await add('a'), await add('b')]).toEqual([true, false, true]);
    const run = vi.fn(async (_payload: unknown) => {});
    start(run);
    await expect.poll(waiting, { timeout: 5_000 }).toBe(0);
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
      if (runs === 0) await add('a');
      runs += 1;
      await sleep(100);
      running -= 1;
    };
    start(run);
    start(run);
    await add('a');
    await expect.poll(() => runs, { timeout: 10_000 }).toBe(2);
    expect(most).toBe(1);
  });

  it('is retried when it fails, while other jobs run', { timeout: 20_000 }, async () => {
    const runs: string[] = [];
    const run: Task = async (payload) => {
      const { key } = payload as { key: string };
      runs.push(key);
      if (key === 'fails' && runs.length === 1) throw new Error('not yet');
    };
    const logged = vi.spyOn(service.parts.log, 'error');
    await add('fails');
    start(run);
    await expect.poll(() => runs.length, { timeout: 5_000 }).toBe(1);
    await add('other');
    await expect.poll(() => runs, { timeout: 15_000 }).toEqual(['fails', 'other', 'fails']);
    expect(logged.mock.calls[0]?.[1]).toContain("attempt 1 of 5) with error 'not yet'");
    logged.mockRestore();
  });

  it('gets isLast in its last attempt, and never runs again', async () => {
    const attempts: boolean[] = [];
    start(async (_payload, { isLast }) => {
      attempts.push(isLast);
      throw new Error('never');
    });
    await add('a');
    for (let attempt = 1; attempt <= 5; attempt++) {
      await expect.poll(() => attempts.length, { timeout: 5_000 }).toBe(attempt);
      await sleep(50); // The failure is recorded.
      await sql`update graphile_worker._private_jobs set run_at = now()`.execute(service.context.db);
    }
    expect(attempts).toEqual([false, false, false, false, true]);
    await expect.poll(() => isGivenUp(service.context.db, 'a')).toBe(true);
  });

  it('of an instance that died is run by another instance', { timeout: 15_000 }, async () => {
    await add('a');
    await sql`update graphile_worker._private_job_queues
      set locked_by = 'pool-dead', locked_at = now() - interval '1 minute'`.execute(service.context.db);
    await sql`update graphile_worker._private_jobs
      set locked_by = 'pool-dead', locked_at = now() - interval '1 minute'`.execute(service.context.db);
    const run = vi.fn(async () => {});
    start(run);
    await expect.poll(() => run.mock.calls.length, { timeout: 10_000 }).toBe(1);
  });

  it('of a live instance stays with this instance, however long it runs', { timeout: 30_000 }, async () => {
    const release = new AbortController();
    start(async () => void (await once(release.signal, 'abort')));
    await add('a');
    const busy = async () => {
      const { rows } = await sql`select from graphile_worker.jobs where locked_by is not null`.execute(
        service.context.db,
      );
      return rows.length;
    };
    await expect.poll(busy).toBe(1);
    await sleep(6_000); // longer than a heartbeat
    await sql`update graphile_worker._private_jobs set locked_at = now() - interval '1 hour'`.execute(
      service.context.db,
    );
    const other = vi.fn(async () => {});
    start(other);
    await sleep(6_000);
    expect(other).not.toHaveBeenCalled();
    expect(await busy()).toBe(1);
    release.abort();
  });
});

describe('a queue', () => {
  it('is unlocked if a live instance keeps it locked although another instance has completed the job', {
    timeout: 15_000,
  }, async () => {
    const run = vi.fn(async () => {});
    start(run);
    await add('first');
    await expect.poll(waiting, { timeout: 5_000 }).toBe(0);
    await sql`update graphile_worker._private_job_queues
      set locked_by = 'pool-live', locked_at = now() - interval '1 minute'`.execute(service.context.db);
    await add('second');
    await expect.poll(waiting, { timeout: 10_000 }).toBe(0);
    expect(run).toHaveBeenCalledTimes(2);
  });

  it('aborts the signal of a running job when it stops, and waits for the job', async () => {
    let batches = 0;
    const queue = start(async (_payload, { signal }) => {
      while (!signal.aborted) {
        await sleep(20);
        batches += 1;
      }
    });
    await add('a');
    await expect.poll(() => batches, { timeout: 5_000 }).toBeGreaterThan(0);
    const stopped = queue.stop();
    const atStop = batches;
    await stopped;
    started.splice(0);
    expect(batches).toBeLessThanOrEqual(atStop + 1);
    expect(await waiting()).toBe(0);
  });

  it('continues after its connections were lost', { timeout: 30_000 }, async () => {
    const run = vi.fn(async () => {});
    start(run, { everyMinute: [TASK] });
    await expect.poll(() => run.mock.calls.length, { timeout: 5_000 }).toBe(1);
    await sql`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name = 'account-management-service jobs'`.execute(
      service.context.db,
    );
    await add('after');
    await expect.poll(() => run.mock.calls.length, { timeout: 15_000 }).toBeGreaterThanOrEqual(2);
  });
});

describe('a task of everyMinute', () => {
  /** Whether the task waits for the next full minute, or has already run in it. */
  async function isAdded(run: { mock: { calls: unknown[] } }): Promise<boolean> {
    const { rows } = await sql`
      select from graphile_worker.jobs
      where key = ${TASK} and run_at = date_trunc('minute', clock_timestamp()) + interval '1 minute'`.execute(
      service.context.db,
    );
    return rows.length > 0 || run.mock.calls.length > 1;
  }

  it('also runs at the first full minute after a start', { timeout: 20_000 }, async () => {
    const run = vi.fn(async () => {});
    start(run, { everyMinute: [TASK] });
    await expect.poll(() => run.mock.calls.length, { timeout: 5_000 }).toBe(1);
    await expect.poll(() => isAdded(run), { timeout: 8_000 }).toBe(true);
  });

  it('is added again within seconds after an attempt to add it has failed', { timeout: 30_000 }, async () => {
    const rename = (from: string, to: string) =>
      sql`alter function ${sql.table(`graphile_worker.${from}`)} rename to ${sql.ref(to)}`.execute(
        service.context.db,
      );
    const warned = vi.spyOn(service.parts.log, 'warn');
    const run = vi.fn(async () => {});
    start(run, { everyMinute: [TASK] });
    await expect.poll(() => run.mock.calls.length, { timeout: 5_000 }).toBe(1);
    await rename('add_job', 'missing_add_job');
    try {
      await expect
        .poll(() => warned.mock.calls.flat().join(), { timeout: 8_000 })
        .toContain('the next minute job was not added');
    } finally {
      await rename('missing_add_job', 'add_job');
      warned.mockRestore();
    }
    await expect.poll(() => isAdded(run), { timeout: 8_000 }).toBe(true);
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
