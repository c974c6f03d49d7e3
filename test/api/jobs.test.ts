import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { sql } from 'kysely';
import pg from 'pg';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { createLog } from '../../src/core/log.ts';
import { type Jobs, runMinuteJobs, type Step, startJobs } from '../../src/jobs.ts';
import { accountNow, dataOf, newAccount, setToday, useService } from '../support/harness.ts';
import { eventually, until } from '../support/waiting.ts';

/** The steps themselves are tested with their features. */
const service = useService();

const log = createLog({ LOG_LEVEL: 'silent', production: true });
const info = vi.spyOn(log, 'info');
const error = vi.spyOn(log, 'error');
beforeEach(() => {
  info.mockClear();
  error.mockClear();
});

const step = (name: string, run: Step['run']): Step => ({ name, run });

describe('a run of the minute jobs', () => {
  it('runs the steps after a step that failed, and logs each by name', async () => {
    const failure = new Error('this step cannot');
    await runMinuteJobs(service.context, log, undefined, [
      step('first', async () => Promise.reject(failure)),
      step('second', async () => 3),
      step('third', async () => 0),
    ]);
    expect(error.mock.calls).toEqual([[{ err: failure }, 'minute job: first: failed']]);
    expect(info.mock.calls).toEqual([['minute job: second: 3']]);
  });

  it('ends a step that takes too long, and runs the steps after it', async () => {
    const forever: Step['run'] = async (_context, signal) => {
      await once(signal, 'abort');
      return 1;
    };
    const after = step('after', async (_context, signal) => (signal.aborted ? 0 : 2));
    await runMinuteJobs(service.context, log, undefined, [step('slow', forever), after], 20);
    expect(info.mock.calls).toEqual([['minute job: slow: 1'], ['minute job: after: 2']]);
  });

  it('starts no further step when the instance stops', async () => {
    const stopping = new AbortController();
    const run = vi.fn(async () => 1);
    const ends = step('ends', async () => {
      stopping.abort();
      return 0;
    });
    await runMinuteJobs(service.context, log, stopping.signal, [ends, step('late', run)]);
    expect(run).not.toHaveBeenCalled();
  });

  it('deletes all that has expired, in batches, and nothing else', async () => {
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
      insert into idempotency_keys (caller, path, key, body_hash, created_at)
      select ${`user ${me}`}, '/api/payments', n::text, '', now() - interval '24 hours' + interval '5 minutes' * (60.5 - n)
      from generate_series(1, 12000) as n`.execute(db);

    await runMinuteJobs(service.context, log);

    expect(error.mock.calls).toEqual([]);
    expect(info.mock.calls.flat()).toEqual([
      'minute job: delete expired refresh tokens: 12000',
      'minute job: delete expired sessions: 1',
      'minute job: delete old idempotency keys: 11940',
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
  it('run at the start, and report when they were last completed', async () => {
    const start = Date.now();
    const jobs = startJobs(
      service.context,
      { connection: service.connection, copies: service.parts.copies },
      log,
    );
    expect(jobs.lastCompletedAt()).toBeUndefined();
    await eventually(() => jobs.lastCompletedAt()?.getTime()).toBeGreaterThanOrEqual(start);
    await jobs.stop();
  });

  it('are not completed when a step fails', async () => {
    await sql`alter table sessions rename to sessions_away`.execute(service.context.db);
    const jobs = startJobs(
      service.context,
      { connection: service.connection, copies: service.parts.copies },
      log,
    );
    await eventually(() => error.mock.calls.length).toBeGreaterThan(0);
    await jobs.stop();
    expect(jobs.lastCompletedAt()).toBeUndefined();
    await sql`alter table sessions_away rename to sessions`.execute(service.context.db);
  });

  it('run in turn: a run that is asked for also sees what the run before it has locked', async () => {
    const { db } = service.context;
    setToday(service, '2026-03-02');
    const account = await newAccount(service, { payplanId: await newWatchedPlan() });
    setToday(service, '2026-06-02');
    const blocker = new pg.Client(service.connection);
    await blocker.connect();
    let jobs: Jobs | undefined;
    try {
      // The first run locks the late account, and then waits for this lock.
      await blocker.query('begin; lock table account_status_changes in share mode');
      jobs = startJobs(
        service.context,
        { connection: service.connection, copies: service.parts.copies },
        log,
      );
      const isBlocked = async () => {
        const { rows } = await sql`
          select from pg_locks where not granted and relation = 'account_status_changes'::regclass
            and database = (select oid from pg_database where datname = current_database())`.execute(db);
        return rows.length > 0;
      };
      await until('the first run to wait for the lock', isBlocked);
      const asked = jobs.runMinuteJobsNow();
      let hasEnded = false;
      const ended = asked.finally(() => {
        hasEnded = true;
      });
      // In the time of a run that does not wait its turn, the run that is asked for does not end.
      expect(await runMinuteJobs(service.context, log)).toBe(true);
      expect(hasEnded).toBe(false);
      await blocker.query('rollback');
      expect(await ended).toBe(true);
      expect(await accountNow(service, account.id)).toMatchObject({ status: 'suspended' });
    } finally {
      await blocker.end();
      await jobs?.stop();
      service.clock.set(null);
    }
  });
});

/** A pay plan whose late accounts are suspended. */
async function newWatchedPlan(): Promise<number> {
  return (
    await dataOf(
      service.call('POST', '/payplans', {
        name: 'Watched',
        deposit: 1000,
        instalmentAmount: 100,
        instalmentCount: 10,
        frequency: 'weekly',
        graceDays: 7,
        autoSuspend: true,
      }),
      201,
    )
  ).id;
}
