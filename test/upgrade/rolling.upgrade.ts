import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { expectBooksToHold } from '../acceptance/books.ts';
import { openAccount, registerAdmin } from '../acceptance/client.ts';
import {
  cleanUpAfterwards,
  type Environment,
  freePort,
  launch,
  NO_RATE_LIMITS,
  newFolder,
  ROOT,
  type RunningService,
  report,
  startService,
} from '../acceptance/process.ts';
import { type Outcome, percentile, send, startPaying } from '../faults/clients.ts';
import { createPostgres, type FragilePostgres } from '../faults/postgres.ts';
import { createCaller } from '../support/http.ts';
import { runStatement } from '../support/statements.ts';
import { buildCommit, earlierCommits, migrationsSince, startsOnNewerDatabase } from './earlier.ts';

cleanUpAfterwards();

const HAPROXY = '/usr/sbin/haproxy';
if (!existsSync(HAPROXY))
  throw new Error('These tests need HAProxy: apt-get install --no-install-recommends haproxy');
const INSTANCES = 3;
const CLIENTS = 20;

let postgres: FragilePostgres;

beforeAll(async () => {
  postgres = await createPostgres();
  await postgres.start();
});

afterAll(() => postgres.stop('fast'));

describe.each(earlierCommits())('from commit %s', (commit) => {
  let earlier: string;
  let environment: Environment;
  let ports: number[];
  let instances: RunningService[];
  /** HAProxy. */
  let origin: string;
  let readyInstances: () => Promise<number>;
  let service: RunningService;
  let token: string;

  beforeAll(async () => {
    earlier = await buildCommit(commit);
    environment = {
      ...NO_RATE_LIMITS,
      DATABASE_URL: await postgres.newDatabase(),
      JWT_SECRET: 'a secret of this test, longer than 32 bytes',
      LOG_LEVEL: 'warn',
    };
    // Without NODE_ENV=production at first, because registration is closed in production.
    const first = await start(earlier, environment);
    token = await registerAdmin(first);
    await first.stop();
    environment = { ...environment, NODE_ENV: 'production', WEBHOOK_ALLOWED_IPS: '127.0.0.0/8' };
    ports = await Promise.all(Array.from({ length: INSTANCES }, freePort));
    instances = await Promise.all(ports.map((port) => start(earlier, environment, port)));
    ({ origin, readyInstances } = await startHaproxy(ports));
    await vi.waitUntil(async () => (await readyInstances()) === INSTANCES, { timeout: 10_000 });
    service = {
      ...(instances[0] as RunningService),
      origin,
      call: createCaller(`${origin}/api`, { isEarlier: true }),
    };
  });

  afterAll(() => Promise.all(instances.map((instance) => instance.stop())));

  test('upgrades one instance after the other without a failed request, and loses and doubles nothing', async () => {
    const before = await appliedMigrations();
    await replaceUnderLoad(ROOT);
    const applied = (await appliedMigrations()).filter((name) => !before.includes(name));
    expect(applied).toEqual(migrationsSince(commit));
    report(`upgrade from ${commit}: ${applied.length} migrations (${applied.join(', ')})`);
  });

  test('goes back to the earlier version without a failed request', async ({ skip }) => {
    if (!startsOnNewerDatabase(earlier)) skip('The earlier version does not start on a newer database.');
    await replaceUnderLoad(earlier);
  });

  /** Replaces the instances while clients pay, read and wait for events. */
  async function replaceUnderLoad(folder: string): Promise<void> {
    const account = await openAccount(service, token);
    const paying = await startPaying([origin], service, token, { clients: CLIENTS, pauseMs: 100 });
    const readers = [
      `/api/accounts/${account.id}/payments`,
      '/api/accounts?sort=id:desc',
      '/api/reports/accounts/summary',
      '/api/events?from=latest&wait=1',
    ].map(startReading);
    const steps: string[] = [];
    const began = performance.now();
    const since = (at: number) => `${((at - began) / 1_000).toFixed(1)} s`;
    const step = (what: string) => steps.push(`${since(performance.now())}: ${what}`);
    await sleep(2_000);
    for (const [n, port] of ports.entries()) {
      step(`stops instance ${n + 1}`);
      const ended = await instances[n]?.stop('SIGTERM');
      step(`instance ${n + 1} has stopped`);
      expect(ended, ended?.stderr).toMatchObject({ status: 0, signal: null });
      instances[n] = await start(folder, environment, port);
      await sleep(2_000); // HAProxy checks the instances.
      await expect
        .poll(readyInstances, { timeout: 20_000, interval: 100 })
        .toBe(startsOnNewerDatabase(earlier) ? INSTANCES : n + 1);
      step(`instance ${n + 1} is ready`);
    }
    await paying.stop();
    const read = (await Promise.all(readers.map((reader) => reader.stop()))).flat();
    const all = [...paying.outcomes, ...read];
    const failed = all.filter(({ status }) => status !== 200 && status !== 201);
    const failures = failed.map(
      ({ at, status, body, ms }) => `${since(at)}: ${status} after ${Math.round(ms)} ms ${body}`,
    );
    expect(failures, steps.join('\n')).toEqual([]);
    expect(read.length).toBeGreaterThan(20);
    const longest = Math.round(Math.max(...all.map(({ ms }) => ms)));
    report(
      `three instances replaced: ${await paying.compare(service)}; ${read.length} reads, 0 failed requests; ` +
        `payments' 99th percentile ${percentile(
          paying.outcomes.map(({ ms }) => ms),
          0.99,
        )} ms, longest request ${longest} ms`,
    );
    await expectBooksToHold(environment.DATABASE_URL ?? '');
  }

  function startReading(path: string) {
    const outcomes: Outcome[] = [];
    let isStopping = false;
    async function read(): Promise<void> {
      while (!isStopping) {
        outcomes.push(await send(origin, 'GET', path, { token }));
        await sleep(100);
      }
    }
    const running = read();
    return {
      async stop() {
        isStopping = true;
        await running;
        return outcomes;
      },
    };
  }

  async function appliedMigrations(): Promise<string[]> {
    const { rows } = await runStatement(
      environment.DATABASE_URL ?? '',
      'select name from kysely_migration order by 1',
    );
    return rows.map(({ name }) => name);
  }
});

function start(folder: string, environment: Environment, port?: number): Promise<RunningService> {
  return startService(
    { ...environment, ...(port !== undefined && { PORT: String(port) }) },
    { command: [process.execPath, join(folder, 'dist', 'server.js')] },
  );
}

/** Starts HAProxy with the parts of deploy/haproxy.cfg for the service. Replaces only the addresses and the list of instances. */
async function startHaproxy(ports: readonly number[]) {
  const folder = await newFolder();
  const [port, countPort] = [await freePort(), await freePort()];
  const text = await readFile(join(ROOT, 'deploy', 'haproxy.cfg'), 'utf8');
  const defaults = text.slice(text.indexOf('\ndefaults'), text.indexOf('\nlisten primary'));
  const servers = ports.map((each, n) => `  server app${n + 1} 127.0.0.1:${each} check`).join('\n');
  const file = join(folder, 'haproxy.cfg');
  await writeFile(
    file,
    (defaults + text.slice(text.indexOf('\nfrontend service')))
      .replace('bind 127.0.0.1:8000', `bind 127.0.0.1:${port}`)
      .replace('bind 127.0.0.1:8001', `bind 127.0.0.1:${countPort}`)
      .replaceAll(/(^ {2}server app\d .*\n)+/gm, `${servers}\n`),
  );
  launch([HAPROXY, '-db', '-f', file], folder, {});
  return {
    origin: `http://127.0.0.1:${port}`,
    readyInstances: async () => Number((await send(`http://127.0.0.1:${countPort}`, 'GET', '/')).body),
  };
}
