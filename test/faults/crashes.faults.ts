import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectBooksToHold } from '../acceptance/books.ts';
import { inTurn, registerAdmin } from '../acceptance/client.ts';
import {
  cleanUpAfterwards,
  type Environment,
  NO_RATE_LIMITS,
  type RunningService,
  report,
  startService,
} from '../acceptance/process.ts';
import { runStatement } from '../support/statements.ts';
import { send, startPaying, strangeOf } from './clients.ts';
import { createPostgres, type FragilePostgres } from './postgres.ts';

cleanUpAfterwards();

let postgres: FragilePostgres;

beforeAll(async () => {
  postgres = await createPostgres();
  await postgres.start();
});

afterAll(() => postgres.stop('fast'));

describe('three instances under 20 paying clients', () => {
  let url: string;
  let instances: RunningService[];
  let token: string;
  const start = (settings: Environment = {}) =>
    startService({ ...NO_RATE_LIMITS, DATABASE_URL: url, LOG_LEVEL: 'warn', ...settings });

  beforeAll(async () => {
    url = await postgres.newDatabase();
    instances = await Promise.all([start(), start(), start()]);
    token = await registerAdmin(inTurn(instances, 0));
  });

  afterAll(() => Promise.all(instances.map((service) => service.stop())));

  test('lose and double no payment when instances are killed ten times with SIGKILL', async () => {
    const origins = instances.map(({ origin }) => origin);
    const paying = await startPaying(origins, inTurn(instances, 0), token, { clients: 20 });
    for (let kill = 0; kill < 10; kill++) {
      await sleep(300 + Math.random() * 700);
      const victim = inTurn(instances, kill);
      await victim.kill();
      instances[kill % instances.length] = await start({ PORT: String(victim.port) });
    }
    await paying.stop();
    expect(strangeOf(paying.outcomes)).toEqual([]);
    report(`ten kill -9 of an instance: ${await paying.compare(inTurn(instances, 0))}`);
    await expectBooksToHold(url);
  });

  test.each(['immediate', 'fast'] as const)(
    'survive five %s restarts of PostgreSQL, answer only 503 meanwhile, and lose nothing',
    async (mode) => {
      const origins = instances.map(({ origin }) => origin);
      const paying = await startPaying(origins, inTurn(instances, 0), token, { clients: 20 });
      const backMs: number[] = [];
      for (let restart = 0; restart < 5; restart++) {
        await sleep(500 + Math.random() * 1_000);
        await postgres.stop(mode);
        await sleep(500);
        for (const { origin } of instances) expect((await send(origin, 'GET', '/livez')).status).toBe(200);
        await postgres.start();
        const back = performance.now();
        await expect.poll(() => paying.lastSuccess() > back, { timeout: 5_000, interval: 10 }).toBe(true);
        backMs.push(Math.round(paying.lastSuccess() - back));
      }
      await paying.stop();
      expect(strangeOf(paying.outcomes)).toEqual([]);
      expect(paying.outcomes.filter(({ status }) => status === undefined)).toEqual([]);
      const refused = paying.outcomes.filter(({ status }) => status === 503).length;
      report(
        `five ${mode} restarts of PostgreSQL: ${await paying.compare(inTurn(instances, 0))}, ${refused} answered 503; ` +
          `first success after ${backMs.join(', ')} ms`,
      );
      await expectBooksToHold(url);
    },
  );
});

test('three instances migrate an empty database once, although some are killed meanwhile, ten times', async () => {
  const readyMs: number[] = [];
  for (let round = 0; round < 10; round++) {
    const url = await postgres.newDatabase();
    const environment = { ...NO_RATE_LIMITS, DATABASE_URL: url, LOG_LEVEL: 'warn' };
    const starting = [0, 1, 2].map(() => startService(environment).catch((error: unknown) => error));
    if (round % 2) {
      // The migrating instance is in the middle of its work.
      await sleep(Math.random() * 1_500);
      await runStatement(
        url,
        `select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and pid <> pg_backend_pid()`,
      );
    }
    const began = performance.now();
    const started = await Promise.all(starting);
    const services: RunningService[] = [];
    for (const service of started) {
      services.push(service instanceof Error ? await startService(environment) : (service as RunningService));
    }
    readyMs.push(Math.round(performance.now() - began));
    const { rows } = await runStatement(
      url,
      'select name, count(*)::int from kysely_migration group by name',
    );
    expect(rows.filter(({ count }) => count !== 1)).toEqual([]);
    expect(rows.length).toBeGreaterThan(4);
    for (const { origin } of services) expect((await send(origin, 'GET', '/readyz')).status).toBe(200);
    for (const ended of await Promise.all(services.map((service) => service.stop()))) {
      expect(ended.status).toBe(0);
    }
  }
  expect(Math.max(...readyMs)).toBeLessThan(30_000);
  report(`ten first starts of three: all ready after ${readyMs.join(', ')} ms`);
});
