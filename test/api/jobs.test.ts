import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { Context } from '../../src/core/context.ts';
import { openDatabase } from '../../src/core/database/db.ts';
import { createLog } from '../../src/core/log.ts';
import { runMinuteJobs, type Step, startMinuteJobs } from '../../src/jobs.ts';
import { useService } from '../harness.ts';

/** What is due every minute, beside what its steps do, which is tested where they belong. */
const service = useService();

const log = createLog({ LOG_LEVEL: 'silent', production: true });
const info = vi.spyOn(log, 'info');
const error = vi.spyOn(log, 'error');
beforeEach(() => {
  info.mockClear();
  error.mockClear();
});

/** A step of nothing but what a test wants of it. */
const step = (name: string, run: Step['run']): Step => ({ name, run });

describe('a run of the minute jobs', () => {
  it('goes on behind a step that fails, and logs each by its name', async () => {
    const failure = new Error('this step cannot');
    await runMinuteJobs(service.context, log, new AbortController().signal, [
      step('first', async () => Promise.reject(failure)),
      step('second', async () => 3),
      step('third', async () => 0),
    ]);
    expect(error.mock.calls).toEqual([[{ err: failure }, 'minute job: first: failed']]);
    expect(info.mock.calls).toEqual([['minute job: second: 3']]);
  });

  it('leaves every step its turn behind one that takes longer than it may', async () => {
    const forever: Step['run'] = async (_context, _log, signal) => {
      await once(signal, 'abort');
      return 1;
    };
    const slow: Step = { name: 'slow', longestMs: 20, run: forever };
    await runMinuteJobs(service.context, log, new AbortController().signal, [
      slow,
      step('behind', async (_context, _log, signal) => (signal.aborted ? 0 : 2)),
    ]);
    expect(info.mock.calls).toEqual([['minute job: slow: 1'], ['minute job: behind: 2']]);
  });

  it('begins no step when it is to end', async () => {
    const stopping = new AbortController();
    const run = vi.fn(async () => 1);
    const ends = step('ends', async () => {
      stopping.abort();
      return 0;
    });
    await runMinuteJobs(service.context, log, stopping.signal, [ends, step('late', run)]);
    expect(run).not.toHaveBeenCalled();
  });

  it('deletes what has expired, in as many statements as it takes, and nothing else', async () => {
    const { db } = service.context;
    const me = (await service.call('GET', '/auth/me')).body.data.id;
    const [expired, living] = [randomUUID(), randomUUID()];
    const inAnHour = sql<Date>`now() + interval '1 hour'`;
    const anHourAgo = sql<Date>`now() - interval '1 hour'`;
    for (const [id, expires_at] of [
      [expired, anHourAgo],
      [living, inAnHour],
    ] as const) {
      await db
        .insertInto('sessions')
        .values({ id, user_id: me, created_at: new Date(), expires_at })
        .execute();
      await sql`
        insert into refresh_tokens (token_hash, session_id, created_at, expires_at)
        select sha256((${id} || n)::bytea), ${id}::uuid, now() - interval '1 day', now() - interval '1 second' * n
        from generate_series(1, 6000) as n`.execute(db);
    }
    const kept = { token_hash: randomBytes(32), session_id: living, created_at: new Date() };
    await db
      .insertInto('refresh_tokens')
      .values({ ...kept, expires_at: inAnHour })
      .execute();
    await sql`
      insert into idempotency_keys (user_id, path, key, body_hash, created_at)
      select ${me}, '/api/payments', n::text, '', now() - interval '23 hours 30 seconds' - interval '1 minute' * n
      from generate_series(1, 12000) as n`.execute(db);

    await runMinuteJobs(service.context, log);

    expect(error.mock.calls).toEqual([]);
    expect(info.mock.calls.flat()).toEqual([
      'minute job: delete expired refresh tokens: 12000',
      'minute job: delete expired sessions: 1',
      'minute job: delete old answers: 11941',
    ]);
    const tokens = await db
      .selectFrom('refresh_tokens')
      .select('token_hash')
      .where('session_id', '=', living);
    expect(await tokens.execute()).toEqual([{ token_hash: kept.token_hash }]);
    const sessions = db.selectFrom('sessions').select('id').where('id', 'in', [expired, living]);
    expect(await sessions.execute()).toEqual([{ id: living }]);
    expect((await service.call('GET', '/auth/me')).status).toBe(200);
  });
});

describe('the minute jobs', () => {
  it('do not overtake themselves', async () => {
    let running = 0;
    let most = 0;
    let runs = 0;
    const slow = step('slow', async () => {
      running += 1;
      runs += 1;
      most = Math.max(most, running);
      await delay(80);
      running -= 1;
      return 0;
    });
    const jobs = startMinuteJobs(service.context, log, { steps: [slow], intervalMs: 10 });
    await vi.waitFor(() => expect(runs).toBeGreaterThanOrEqual(3), { timeout: 5_000 });
    await jobs.stop();
    expect(most).toBe(1);
    // None had been queued up behind the slow ones.
    const before = runs;
    await delay(100);
    expect(runs).toBe(before);
  });

  it('stop behind the batch at hand of a long step', async () => {
    let batches = 0;
    const endless = step('endless', async (_context, _log, signal) => {
      while (!signal.aborted) {
        await delay(20);
        batches += 1;
      }
      return batches;
    });
    const jobs = startMinuteJobs(service.context, log, { steps: [endless] });
    await vi.waitFor(() => expect(batches).toBeGreaterThan(0), { timeout: 5_000 });
    const stopped = jobs.stop();
    const atStop = batches;
    await stopped;
    expect(batches).toBeLessThanOrEqual(atStop + 1);
    expect(error.mock.calls).toEqual([]);
  });

  it('run on one instance at a time', async () => {
    const release = new AbortController();
    const held = vi.fn(async () => {
      await once(release.signal, 'abort');
      return 0;
    });
    const holder = startMinuteJobs(service.context, log, { steps: [step('holds', held)] });
    await vi.waitFor(() => expect(held).toHaveBeenCalled(), { timeout: 5_000 });
    const other = vi.fn(async () => 0);
    const jobs = startMinuteJobs(service.context, log, { steps: [step('other', other)], intervalMs: 10 });
    await delay(200);
    expect(other).not.toHaveBeenCalled();
    release.abort();
    await vi.waitFor(() => expect(other).toHaveBeenCalled(), { timeout: 5_000 });
    await Promise.all([jobs.stop(), holder.stop()]);
  });

  it('tell when they were last completed, which a run with a failing step is not', async () => {
    let fails = true;
    let runs = 0;
    const flaky = step('flaky', async () => {
      runs += 1;
      if (fails) throw new Error('not yet');
      return 0;
    });
    const began = Date.now();
    const jobs = startMinuteJobs(service.context, log, { steps: [flaky], intervalMs: 10 });
    await vi.waitFor(() => expect(runs).toBeGreaterThanOrEqual(2), { timeout: 5_000 });
    expect(jobs.lastCompletedAt()).toBeUndefined();
    fails = false;
    await vi.waitFor(() => expect(jobs.lastCompletedAt()?.getTime()).toBeGreaterThanOrEqual(began), {
      timeout: 5_000,
    });
    await jobs.stop();
    error.mockClear();
  });

  it('need no more connections than the smallest pool has', async () => {
    const smallest = openDatabase({
      connection: service.connection,
      poolSize: 2,
      prepare: true,
      onConnectionLost: () => {},
    });
    const done = vi.fn(async ({ db }: Pick<Context, 'db'>) => {
      await sql`select 1`.execute(db);
      return 1;
    });
    const jobs = startMinuteJobs({ ...service.context, db: smallest.db }, log, {
      steps: [step('asks', done)],
    });
    await vi.waitFor(() => expect(info).toHaveBeenCalledWith('minute job: asks: 1'), { timeout: 5_000 });
    await jobs.stop();
    await smallest.close();
  });
});
