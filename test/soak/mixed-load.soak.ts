import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createRandom } from '../../tools/simulator/traffic.ts';
import { expectBooksToHold } from '../acceptance/books.ts';
import { inParallel, median, PASSWORD } from '../acceptance/client.ts';
import { cleanUpAfterwards, report, runToEnd } from '../acceptance/process.ts';
import { percentile, send } from '../faults/clients.ts';
import { createPostgres, type FragilePostgres } from '../faults/postgres.ts';
import { createRedis, type FragileRedis, hasRedis } from '../faults/redis.ts';
import { createGauges, type GaugedService, type InstanceSample, type Sample, startGauged } from './gauges.ts';
import { createTraffic, SHARES, type Traffic } from './traffic.ts';

cleanUpAfterwards();

const MINUTES = Number(process.env.SOAK_MINUTES ?? 20);
const RATE = Number(process.env.SOAK_RATE ?? 100);
const SEED = Number(process.env.SOAK_SEED ?? 20_261_121);
const INSTANCES = 3;
const POOL_SIZE = 8;
/** For each instance: the pool, and the 11 that this load uses of the 19 further connections in docs/operations.md. */
const MAX_CONNECTIONS = INSTANCES * (POOL_SIZE + 11);
/** The most requests in flight. If the service is too slow for this, the load falls behind its pace. */
const MAX_IN_FLIGHT = 60;
const SAMPLE_EVERY_MS = 10_000;
const MINUTE_MS = 60_000;
const LENGTH_MS = MINUTES * MINUTE_MS;
/** A quarter of the run, in which programs still warm up: minute 5 of twenty. */
const SETTLED_MS = LENGTH_MS / 4;
const WINDOW_MS = Math.min(MINUTE_MS, LENGTH_MS / 5);
const LIMITS = {
  memoryGrowth: MINUTES >= 20 ? 1.15 : 1.5,
  loopDelayMs: 100,
  moreConnections: INSTANCES,
  /** The additional connections that the clients may have open at the busiest moment. */
  moreOpenFiles: MAX_IN_FLIGHT,
  paceKept: 0.95,
};
const SECRETS = {
  JWT_SECRET: 'a secret of the soak test alone, long enough',
  WEBHOOK_SECRET: 'a webhook secret of the soak test',
  METRICS_TOKEN: 'a metrics token of the soak test',
};
const ADMIN = 'admin@example.com';

let postgres: FragilePostgres;
let redis: FragileRedis | undefined;
let url: string;
let instances: GaugedService[];
let traffic: Traffic;

beforeAll(async () => {
  postgres = await createPostgres();
  await postgres.start();
  url = await postgres.newDatabase();
  if (hasRedis()) {
    redis = await createRedis();
    await redis.start();
  }
  const environment = {
    ...SECRETS,
    NODE_ENV: 'production',
    DATABASE_URL: url,
    DATABASE_POOL_SIZE: String(POOL_SIZE),
    ...(redis && { REDIS_URL: redis.url }),
    // Calls are counted as in production. The limits are higher, because eight users and one address represent many.
    RATE_LIMIT_AUTH: '10000',
    RATE_LIMIT_BULK: '10000',
    RATE_LIMIT_GENERAL: '1000000',
    RATE_LIMIT_WEBHOOK: '1000000',
  };
  const created = await runToEnd(
    [
      ...[process.execPath, 'dist/cli/create-admin.js', '--email', ADMIN],
      ...['--first-name', 'First', '--last-name', 'Admin'],
    ],
    { ...environment, ADMIN_PASSWORD: PASSWORD },
  );
  expect(created, created.stderr).toMatchObject({ status: 0 });
  instances = await inParallel(INSTANCES, Array.from({ length: INSTANCES }), () => startGauged(environment));
  const [{ service }] = instances as [GaugedService];
  const { body } = await send(service.origin, 'POST', '/api/auth/login', {
    body: { email: ADMIN, password: PASSWORD },
  });
  const { accessToken, refreshToken } = JSON.parse(body).data;
  traffic = await createTraffic({
    service,
    origins: instances.map((instance) => instance.service.origin),
    admin: { email: ADMIN, role: 'admin', token: accessToken, refreshToken },
    webhookSecret: SECRETS.WEBHOOK_SECRET,
    random: createRandom(SEED),
  });
});

afterAll(async () => {
  const ended = await Promise.all((instances ?? []).map(({ service }) => service.stop()));
  await redis?.kill();
  await postgres?.stop('fast');
  expect(ended.map(({ status }) => status)).toEqual(ended.map(() => 0));
});

test(`${MINUTES} minutes of mixed load at ${RATE} requests a second (SOAK_MINUTES, SOAK_RATE, SOAK_SEED)`, {
  timeout: LENGTH_MS + 5 * MINUTE_MS,
}, async () => {
  const gauges = createGauges(
    instances.map(({ service }) => service),
    url,
    SECRETS.METRICS_TOKEN,
  );
  const samples: Sample[] = [await gauges.read()];
  await Promise.all(instances.map((instance) => instance.loopDelay()));
  const began = performance.now();
  const sampling = sampleFrom(began, async () => {
    samples.push(await gauges.read());
    if (samples.length % (MINUTE_MS / SAMPLE_EVERY_MS) === 1) tell(began, samples);
  });
  const broken = new AbortController();
  sampling.catch(() => broken.abort()); // Stop, because an instance has ended.
  const sent = await atPace(began, broken.signal, () => traffic.next());
  await sampling.catch((cause: unknown) => {
    throw new Error(['An instance no longer answers.', ...traffic.wrong].join('\n'), { cause });
  });
  const loopDelays = await Promise.all(instances.map((instance) => instance.loopDelay()));

  for (const { name, share, times } of traffic.tallies) {
    report(
      `${name} (${share}): ${times.length}, p50 ${percentile(times, 0.5)} ms, p99 ${percentile(times, 0.99)} ms`,
    );
  }
  const settled = windowUntil(samples, began + SETTLED_MS);
  const last = windowUntil(samples, began + LENGTH_MS);
  const since = samples.filter(({ at }) => at >= began + SETTLED_MS);
  const growths = instances.map((_, n) => {
    const of = (window: Sample[], figure: (sample: InstanceSample) => number) =>
      median(window.map(({ instances }) => figure(instances[n] as InstanceSample)));
    const memory = (window: Sample[]) => Math.round(of(window, ({ memoryMb }) => memoryMb));
    const [from, to] = [memory(settled), memory(last)];
    const files = [
      of(settled, ({ openFiles }) => openFiles),
      of(last, ({ openFiles }) => openFiles),
    ] as const;
    report(
      `instance ${n + 1}: memory ${from} MB at minute ${SETTLED_MS / MINUTE_MS} and ${to} MB at the end ` +
        `(× ${(to / from).toFixed(2)}; ${Math.round(of(last, ({ printerMb }) => printerMb))} MB of it in the print process; ` +
        `heap in use ${Math.round(of(settled, ({ heapMb }) => heapMb))} and ${Math.round(of(last, ({ heapMb }) => heapMb))} MB); ` +
        `open files ${files.join(' and ')}; loop delay p50 ${loopDelays[n]?.p50}, p99 ${loopDelays[n]?.p99}, ` +
        `longest ${loopDelays[n]?.max} ms`,
    );
    return { memory: to / from, files: files[1] - files[0] };
  });
  const connections = since.map((sample) => sample.connections);
  const [connectionsSettled, connectionsLast] = [settled, last].map((window) =>
    median(window.map((sample) => sample.connections)),
  ) as [number, number];
  report(
    `connections of all instances: ${Math.min(...connections)} to ${Math.max(...connections)} after minute ${SETTLED_MS / MINUTE_MS}; ` +
      `${connectionsSettled} at that minute, ${connectionsLast} at the end`,
  );
  const planned = Math.floor((LENGTH_MS / 1_000) * RATE);
  const counts = Object.keys(SHARES).map((share) => {
    const count = sumOfTimes(traffic.tallies.filter((tally) => tally.share === share));
    return `${count} ${share} (${((100 * count) / sent).toFixed(1)} %)`;
  });
  report(
    `${sent} of ${planned} requests sent: ${counts.join(', ')}; ` +
      `${traffic.failures.wrong} not answered as they should be, ${traffic.failures.broken} of them with 5xx or not at all`,
  );
  const { errors, warnings } = gauges.troubles();
  report(`warnings in the log: ${warnings.join('; ') || 'none'}`);
  report(await traffic.compare());
  await expectBooksToHold(url);

  expect.soft(traffic.failures, 'failures').toEqual({ wrong: 0, broken: 0 });
  expect.soft(traffic.wrong, 'answers that are not as they should be').toEqual([]);
  expect.soft(errors, 'errors in the log').toEqual([]);
  expect.soft(sent / planned, 'pace kept').toBeGreaterThanOrEqual(LIMITS.paceKept);
  for (const [n, growth] of growths.entries()) {
    expect.soft(growth.memory, `memory of instance ${n + 1}`).toBeLessThanOrEqual(LIMITS.memoryGrowth);
    expect.soft(growth.files, `more open files, instance ${n + 1}`).toBeLessThanOrEqual(LIMITS.moreOpenFiles);
    expect.soft(loopDelays[n]?.p99, `loop of instance ${n + 1}`).toBeLessThanOrEqual(LIMITS.loopDelayMs);
  }
  expect.soft(Math.max(...connections)).toBeLessThanOrEqual(MAX_CONNECTIONS);
  expect.soft(connectionsLast - connectionsSettled).toBeLessThanOrEqual(LIMITS.moreConnections);
  const neverAsked = traffic.tallies.filter(({ times }) => times.length === 0).map(({ name }) => name);
  expect.soft(neverAsked, 'kinds that the load left out').toEqual([]);
});

/** Sends requests at a fixed pace, whether or not earlier ones were answered. @returns the number of sent requests. */
async function atPace(began: number, signal: AbortSignal, next: () => Promise<void>): Promise<number> {
  let sent = 0;
  let due = 0;
  await Promise.all(
    Array.from({ length: MAX_IN_FLIGHT }, async () => {
      for (;;) {
        const at = began + (due++ * 1_000) / RATE;
        if (at >= began + LENGTH_MS) return;
        await sleep(Math.max(0, at - performance.now()));
        if (signal.aborted || performance.now() >= began + LENGTH_MS) return;
        sent += 1;
        await next();
      }
    }),
  );
  return sent;
}

async function sampleFrom(began: number, sample: () => Promise<void>): Promise<void> {
  for (let at = began + SAMPLE_EVERY_MS; at <= began + LENGTH_MS; at += SAMPLE_EVERY_MS) {
    await sleep(Math.max(0, at - performance.now()));
    await sample();
  }
}

/** Prints a line about the last minute. */
function tell(began: number, samples: readonly Sample[]): void {
  const minute = samples.slice(-MINUTE_MS / SAMPLE_EVERY_MS);
  const [last, first] = [samples.at(-1), samples.at(-1 - minute.length)];
  if (!last || !first) return;
  const cpu = (sample: Sample) =>
    sample.instances.reduce((seconds, { cpuSeconds }) => seconds + cpuSeconds, 0);
  const share = (cpu(last) - cpu(first)) / ((last.at - first.at) / 1_000);
  const busy = minute.reduce((sum, sample) => sum + sample.busy, 0) / minute.length;
  const worstLoop = Math.max(...minute.flatMap((sample) => sample.instances.map(({ loopP99 }) => loopP99)));
  const waiting = Math.max(...minute.flatMap((sample) => sample.instances.map((one) => one.waiting)));
  report(
    `minute ${Math.round((last.at - began) / MINUTE_MS)} of ${MINUTES}: ${sumOfTimes(traffic.tallies)} answers, ` +
      `${traffic.failures.wrong} wrong, ${traffic.failures.broken} of them 5xx or missing; memory ${last.instances.map(({ memoryMb }) => Math.round(memoryMb)).join(', ')} MB; ` +
      `${last.connections} connections, at most ${waiting} waiting; loop delay p99 of the worst ten seconds ` +
      `${Math.round(worstLoop)} ms; CPU: the instances ${share.toFixed(2)} cores, the machine ${Math.round(100 * busy)} % busy`,
  );
}

function windowUntil(samples: readonly Sample[], end: number): Sample[] {
  // The last sample is taken a moment after its time.
  const slackMs = SAMPLE_EVERY_MS / 2;
  return samples.filter(({ at }) => at > end - WINDOW_MS && at <= end + slackMs);
}

function sumOfTimes(tallies: Traffic['tallies']): number {
  return tallies.reduce((sum, { times }) => sum + times.length, 0);
}
