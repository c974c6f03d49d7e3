import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectBooksToHold } from '../acceptance/books.ts';
import { openAccount, registerAdmin } from '../acceptance/client.ts';
import {
  cleanUpAfterwards,
  NO_RATE_LIMITS,
  type RunningService,
  report,
  startService,
} from '../acceptance/process.ts';
import { type Outcome, percentile, send, startPaying, strangeOf } from './clients.ts';
import { createPostgres, type FragilePostgres } from './postgres.ts';
import { createRedis, type FragileRedis, hasRedis } from './redis.ts';

cleanUpAfterwards();

let postgres: FragilePostgres;
let url: string;

beforeAll(async () => {
  postgres = await createPostgres();
  await postgres.start();
  url = await postgres.newDatabase();
});

afterAll(() => postgres.stop('fast'));

describe('PostgreSQL', () => {
  let service: RunningService;
  let token: string;

  beforeAll(async () => {
    service = await startService({ ...NO_RATE_LIMITS, DATABASE_URL: url, LOG_LEVEL: 'error' });
    token = await registerAdmin(service);
  });

  afterAll(() => service.stop());

  test('answers every request within 6 s and reports the outage while frozen for 20 s, and recovers within 5 s', async () => {
    const paying = await startPaying([service.origin], service, token, { clients: 30 });
    await sleep(1_000);
    const watch = watchLiveness(service);
    postgres.freeze();
    const began = performance.now();
    await expect
      .poll(async () => (await send(service.origin, 'GET', '/health')).status, {
        timeout: 3_000,
        interval: 50,
      })
      .toBe(503);
    const toldMs = Math.round(performance.now() - began);
    expect((await send(service.origin, 'GET', '/readyz')).status).toBe(503);
    await sleep(20_000 - (performance.now() - began));
    postgres.thaw();
    const back = performance.now();
    await expect.poll(() => paying.lastSuccess() > back, { timeout: 5_000, interval: 10 }).toBe(true);
    const backMs = Math.round(paying.lastSuccess() - back);
    await expect
      .poll(async () => (await send(service.origin, 'GET', '/health')).status, {
        timeout: 5_000,
        interval: 50,
      })
      .toBe(200);
    await paying.stop();
    const slowestProbe = await watch.stop();
    expectEnded(paying.outcomes);
    expect(slowestProbe).toBeLessThan(100);
    report(
      `PostgreSQL frozen: longest request ${longest(paying.outcomes)} ms, liveness at most ${slowestProbe} ms, ` +
        `/health reported it after ${toldMs} ms, paid again after ${backMs} ms; ${await paying.compare(service)}`,
    );
    await expectBooksToHold(url);
  });

  test('answers 200 clients within 6 s while another session locks the payments for 15 s, and recovers within 5 s', async () => {
    const account = await openAccount(service, token);
    const watch = watchLiveness(service);
    const blocker = new pg.Client(url);
    await blocker.connect();
    await blocker.query('begin; lock table payments in access exclusive mode');
    const outcomes: Outcome[] = [];
    const until = performance.now() + 15_000;
    const clients = Array.from({ length: 200 }, async (_, client) => {
      while (performance.now() < until) {
        const outcome = await (client % 2
          ? send(service.origin, 'GET', `/api/accounts/${account.id}/payments`, { token })
          : send(service.origin, 'POST', '/api/payments', {
              token,
              body: { accountId: account.id, amount: 1, paymentMethodId: 2 },
            }));
        outcomes.push(outcome);
        await sleep(100);
      }
    });
    await sleep(3_000);
    const health = await send(service.origin, 'GET', '/health');
    expect(health.status).toBe(200); // PostgreSQL works, but is busy
    expect(health.ms).toBeLessThan(3_000);
    await Promise.all(clients);
    await blocker.query('rollback');
    await blocker.end();
    const back = performance.now();
    await expect
      .poll(
        async () =>
          (await send(service.origin, 'GET', `/api/accounts/${account.id}/payments`, { token })).status,
        {
          timeout: 5_000,
        },
      )
      .toBe(200);
    const backMs = Math.round(performance.now() - back);
    const slowestProbe = await watch.stop();
    expectEnded(outcomes);
    expect(slowestProbe).toBeLessThan(100);
    report(
      `payments locked: ${outcomes.length} requests of 200 clients, longest ${longest(outcomes)} ms, ` +
        `liveness at most ${slowestProbe} ms, well again after ${backMs} ms`,
    );
    await expectBooksToHold(url);
  });
});

describe.skipIf(!hasRedis())('Redis', () => {
  const LIMIT = 20;
  let redis: FragileRedis;
  let instances: RunningService[];
  let token: string;

  beforeAll(async () => {
    redis = await createRedis();
    await redis.start();
    const environment = {
      ...NO_RATE_LIMITS,
      DATABASE_URL: await postgres.newDatabase(),
      REDIS_URL: redis.url,
      RATE_LIMIT_GENERAL: String(LIMIT),
      LOG_LEVEL: 'error',
    };
    instances = [await startService(environment), await startService(environment)];
    token = await registerAdmin(instances[0] as RunningService);
  });

  afterAll(async () => {
    await Promise.all(instances.map((service) => service.stop()));
    await redis.kill();
  });

  /** Calls of one user, alternating between both instances. */
  async function spend(calls: number): Promise<Outcome[]> {
    const outcomes: Outcome[] = [];
    for (let n = 0; n < calls; n++) {
      const { origin } = instances[n % 2] as RunningService;
      outcomes.push(await send(origin, 'GET', '/api/products', { token }));
    }
    return outcomes;
  }

  test.each([
    ['gone', () => redis.kill(), () => redis.start()],
    ['frozen', async () => redis.freeze(), async () => redis.thaw()],
  ])(
    '%s: no call fails or waits over 300 ms; instances count limits separately, and together again 5 s later',
    async (state, take, give) => {
      await redis.flush();
      await take();
      const outcomes = await spend(4 * LIMIT);
      expect(outcomes.filter(({ status }) => status !== 200 && status !== 429)).toEqual([]);
      const slowest = Math.max(...outcomes.map(({ ms }) => ms));
      expect(slowest).toBeLessThan(300);
      expect(outcomes.filter(({ status }) => status === 200)).toHaveLength(2 * LIMIT);
      const [{ origin }] = instances as [RunningService];
      expect(JSON.parse((await send(origin, 'GET', '/health')).body)).toMatchObject({ status: 'degraded' });

      await give();
      await sleep(5_000);
      await redis.flush();
      const shared = await spend(4 * LIMIT);
      expect(shared.filter(({ status }) => status === 200)).toHaveLength(LIMIT);
      report(
        `Redis ${state}: ${2 * LIMIT} of ${4 * LIMIT} calls pass, the slowest ${Math.round(slowest)} ms; then ${LIMIT}`,
      );
      await sleep(60_000); // until the windows end that each instance counted alone
    },
  );

  test('starts new rate-limit windows after a flush, and no request fails', async () => {
    await redis.flush();
    expect((await spend(LIMIT)).filter(({ status }) => status === 200)).toHaveLength(LIMIT);
    await redis.flush();
    const again = await spend(2 * LIMIT);
    expect(again.filter(({ status }) => status === 200)).toHaveLength(LIMIT);
    expect(strangeOf(again.filter(({ status }) => status !== 429))).toEqual([]);
  });
});

/** Calls /livez ten times a second. `stop` returns the time of the slowest answer in ms. */
function watchLiveness(service: RunningService) {
  const times: number[] = [];
  let stopping = false;
  const watching = (async () => {
    while (!stopping) {
      const { status, ms } = await send(service.origin, 'GET', '/livez');
      expect(status).toBe(200);
      times.push(ms);
      await sleep(100);
    }
  })();
  return {
    async stop() {
      stopping = true;
      await watching;
      return percentile(times, 1);
    },
  };
}

function expectEnded(outcomes: Outcome[]): void {
  expect(strangeOf(outcomes)).toEqual([]);
  expect(longest(outcomes)).toBeLessThan(6_000);
}

function longest(outcomes: Outcome[]): number {
  return percentile(
    outcomes.map(({ ms }) => ms),
    1,
  );
}
