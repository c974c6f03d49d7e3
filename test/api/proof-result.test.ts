import { sql } from 'kysely';
import { describe, expect, it, vi } from 'vitest';
import { buildApp } from '../../src/app.ts';
import { startJobs } from '../../src/jobs.ts';
import {
  checkBooksUnattended,
  queueDailyCheck,
  recordResult,
} from '../../src/reports/proof/check-books-unattended.ts';
import { CHECKS } from '../../src/reports/proof/checks-store.ts';
import {
  dataOf,
  newAccount,
  pay,
  setToday,
  type TestService,
  useService,
  waitingForLock,
  whileHolding,
} from '../support/harness.ts';
import { eventually, PATIENT, until } from '../support/waiting.ts';

const DAY = '2026-11-02';

function lastProof(service: TestService) {
  return dataOf(service.call('GET', '/reports/proof/last'));
}

async function prove(service: TestService): Promise<void> {
  expect((await service.call('GET', '/reports/proof')).status).toBe(200);
}

async function eventsOfProofs(service: TestService) {
  return (await service.call('GET', '/events?types=proof.*')).body.data.events;
}

describe('the result of the last proof', () => {
  const token = 'a token of the monitoring';
  const service = useService({ METRICS_TOKEN: token });

  /** Reads the metrics of a new instance, because an instance caches the figures for some seconds. */
  async function figures(): Promise<string[]> {
    const app = buildApp(service.parts);
    try {
      const { body } = await app.inject({ url: '/metrics', headers: { authorization: `Bearer ${token}` } });
      return body.split('\n').filter((line) => line.startsWith('ams_proof_'));
    } finally {
      await app.close();
    }
  }

  it('is shown by the API, by metrics and as an event, from before the first proof until it is a day old', async () => {
    expect(await lastProof(service)).toEqual({ last: null, current: false });
    expect(await figures()).toEqual([]);

    // The first proof of correct books.
    setToday(service, DAY);
    await prove(service);
    const first = await lastProof(service);
    expect(first.last).toMatchObject({ violationCount: 0, failedChecks: [] });
    expect(first.last.checkCount).toBe(CHECKS.length);
    expect(first.last.readAt.slice(0, 10)).toBe(DAY);
    expect(first.current).toBe(true);
    await prove(service);
    expect(await eventsOfProofs(service)).toMatchObject([
      { type: 'proof.passed', resource: 'proof', resourceId: null, data: { checkCount: CHECKS.length } },
    ]);

    // Damaged books, which are then repaired. Each change is published once.
    const { id } = await newAccount(service);
    await pay(service, id, 2_000);
    const { db } = service.context;
    const change = (by: number) =>
      sql`update accounts set event_count = event_count + ${by} where id = ${id}`;
    const news = async () => (await eventsOfProofs(service)).slice(1);
    const failed = {
      type: 'proof.failed',
      resource: 'proof',
      resourceId: null,
      actor: 'system',
      data: { violationCount: 1, failedChecks: ['events_of_accounts'] },
    };
    await change(1).execute(db);
    await prove(service);
    const { last } = await lastProof(service);
    expect(last).toMatchObject({ violationCount: 1, failedChecks: ['events_of_accounts'] });
    expect(await figures()).toEqual([
      'ams_proof_violations 1',
      `ams_proof_timestamp_seconds ${Date.parse(last.readAt) / 1000}`,
    ]);
    await prove(service);
    expect(await news()).toMatchObject([failed]);
    await change(-1).execute(db);
    for (let n = 0; n < 2; n += 1) await prove(service);
    expect((await lastProof(service)).last).toMatchObject({ violationCount: 0, failedChecks: [] });
    expect(await news()).toMatchObject([failed, { type: 'proof.passed' }]);

    setToday(service, '2026-11-04');
    expect(await lastProof(service)).toMatchObject({ last: { violationCount: 0 }, current: false });
  });
});

describe('results of several runs', () => {
  const service = useService();
  const start = Date.parse(`${DAY}T09:00:00Z`);

  const record = (minute: number, ...failed: string[]) =>
    recordResult(service.context.db, {
      readAt: new Date(start + minute * 60_000).toISOString(),
      checks: ['balances', 'instalments'].map((check) => ({
        check,
        violationCount: failed.includes(check) ? 1 : 0,
      })),
    });

  it('are published once if they end at the same time, and not if a later snapshot was already checked', async () => {
    await Promise.all(Array.from({ length: 5 }, () => record(1, 'balances')));
    await Promise.all(Array.from({ length: 5 }, () => record(2, 'balances', 'instalments')));
    expect((await eventsOfProofs(service)).map(({ data }: { data: object }) => data)).toEqual([
      { violationCount: 1, failedChecks: ['balances'] },
      { violationCount: 2, failedChecks: ['balances', 'instalments'] },
    ]);

    await record(1);
    expect((await lastProof(service)).last).toMatchObject({ violationCount: 2 });
    expect(await eventsOfProofs(service)).toHaveLength(2);
  });
});

describe('the daily check', () => {
  const service = useService({ TEST_CLOCK: 'off' });

  it('runs when the service starts for the first time, and once a day', async () => {
    const { context, connection, parts } = service;
    const jobs = startJobs(context, { connection, copies: parts.copies }, parts.log);
    try {
      await until('the check of the books', async () => (await lastProof(service)).last !== null);
    } finally {
      await jobs.stop();
    }
    const { last, current } = await lastProof(service);
    expect([last.violationCount, current]).toEqual([0, true]);
    service.clock.set(new Date(last.readAt)); // The next day may begin during the test.
    expect(await queueDailyCheck(context)).toBe(0);
    await sql`update last_proof set read_at = read_at - interval '1 day'`.execute(context.db);
    expect(await queueDailyCheck(context)).toBe(1);
    expect(await queueDailyCheck(context)).toBe(0);
  });

  it('ends without an error or a message when the service stops, and is due again', async () => {
    const { context, connection, parts } = service;
    await sql`delete from last_proof`.execute(context.db);
    const messages = [vi.spyOn(parts.log, 'warn'), vi.spyOn(parts.log, 'error')];
    const stopping = new AbortController();
    await whileHolding(service, 'lock table accounts in access exclusive mode', async (holder) => {
      const check = checkBooksUnattended(
        context.db,
        { connection, limits: PATIENT, replica: undefined },
        parts.log,
        stopping,
      );
      await eventually(() => waitingForLock(holder)).toHaveLength(1);
      stopping.abort();
      await check;
    });
    for (const message of messages) expect(message).not.toHaveBeenCalled();
    expect(await lastProof(service)).toEqual({ last: null, current: false });
    await sql`delete from graphile_worker._private_jobs`.execute(context.db); // jobs of the other test
    expect(await queueDailyCheck(context)).toBe(1);
  });
});
