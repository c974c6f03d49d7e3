import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openAccount, registerAdmin } from '../acceptance/client.ts';
import {
  cleanUpAfterwards,
  NO_RATE_LIMITS,
  ROOT,
  type RunningService,
  report,
  runToEnd,
  startService,
} from '../acceptance/process.ts';
import { longestPause, send, startPaying, strangeOf } from '../faults/clients.ts';
import { expectGaplessVersions, startReading } from '../faults/event-reader.ts';
import { createRedis, type FragileRedis } from '../faults/redis.ts';
import { type Cluster, createCluster, documented, until } from './cluster.ts';
import { type Host, powerOffAfterwards } from './hosts.ts';

cleanUpAfterwards();
powerOffAfterwards();

const CLIENTS = 20;
/** Together about 200 payments a second, so that a machine with two cores is not busy all the time. */
const PAUSE_MS = 80;
const LONGEST_PAUSE_MS = 20_000;
const LONGEST_SWITCH_MS = 3_000;
const STEADY_MS = 3_000;
const BEHIND_MS = 60_000;
const FOLLOW_TIMEOUT_MS = 30_000;
const METRICS_TOKEN = 'the token of the failover tests';
const MINUTE_JOB_TIMEOUT_MS = 130_000;

let cluster: Cluster;
let redis: FragileRedis;
let services: RunningService[];
let token: string;

beforeAll(async () => {
  cluster = await createCluster();
  redis = await createRedis();
  await redis.start();
  const migrated = await runToEnd(['node', 'dist/cli/migrate.js'], { DATABASE_URL: cluster.ownerUrl });
  expect(migrated.status, migrated.stderr).toBe(0);
  const environment = {
    ...NO_RATE_LIMITS,
    DATABASE_URL: cluster.serviceUrl,
    DATABASE_REPLICA_URL: cluster.replicaUrl,
    REDIS_URL: redis.url,
    METRICS_TOKEN,
    LOG_LEVEL: 'warn',
  };
  services = await Promise.all([1, 2, 3].map(() => startService(environment)));
  token = await registerAdmin(services[0] as RunningService);
  await (await expectPrimary()).run(`su - postgres -c "createdb probe"
    su - postgres -c "psql --quiet probe" <<<'create table writes (note text)'`);
});

afterAll(async () => {
  for (const service of services) await service.stop();
  await redis.kill();
});

/** Pays and reads events while a server is disturbed. Then checks payments, events and books. @returns the longest pause. */
async function whilePaying(what: string, happen: () => Promise<void>): Promise<number> {
  const origins = services.map(({ origin }) => origin);
  const [service] = services as [RunningService];
  const reading = startReading(origins, token);
  const paying = await startPaying(origins, service, token, { clients: CLIENTS, pauseMs: PAUSE_MS });
  await sleep(STEADY_MS);
  const began = performance.now();
  await happen();
  const completeMs = await cluster.untilComplete();
  await expectAllToFollow();
  await sleep(STEADY_MS);
  await paying.stop();
  const pauseMs = longestPause(paying.outcomes, began);
  const answers = paying.outcomes.filter(({ at }) => at > began);
  expect(strangeOf(answers)).toEqual([]);
  expect(answers.filter(({ status }) => status === undefined)).toEqual([]);
  const refused = answers.filter(({ status }) => status === 503).length;
  const compared = await paying.compare(service);
  await expectBooksToBeProven();
  report(
    `${what}: ${pauseMs} ms without a success, ${refused} answers of 503, all servers follow ${completeMs} ms later; ${compared}`,
  );
  const events = await reading.stop();
  expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
  expectGaplessVersions(events);
  return pauseMs;
}

/** Expects that a new row arrives on all servers. A server with changes of its own cannot apply it, whatever Patroni shows. */
async function expectAllToFollow(): Promise<void> {
  const note = randomUUID();
  await onProbe(await expectPrimary(), `insert into writes values ('${note}')`);
  for (const host of cluster.hosts) {
    await expect
      .poll(() => notesOn(host), { timeout: FOLLOW_TIMEOUT_MS, message: host.name })
      .toContain(note);
  }
}

function notesOn(host: Host): Promise<string> {
  return onProbe(host, 'select * from writes');
}

function onProbe(host: Host, statement: string): Promise<string> {
  return host.run(`su - postgres -c "psql --quiet --tuples-only --no-align probe" <<<"${statement}"`);
}

async function expectBooksToBeProven(): Promise<void> {
  const proof = await runToEnd(['node', 'dist/cli/verify.js'], { DATABASE_URL: cluster.serviceUrl }, ROOT);
  expect(proof.status, proof.stdout + proof.stderr).toBe(0);
}

async function timelineOf(host: Host): Promise<number> {
  return (await cluster.members()).find(({ name }) => name === host.name)?.timeline ?? 0;
}

async function expectPrimary(): Promise<Host> {
  const host = await cluster.primary();
  if (!host) throw new Error('There is no primary.');
  return host;
}

async function untilAnotherPrimary(former: Host): Promise<void> {
  await until(async () => {
    const primary = await cluster.primary();
    return primary !== undefined && primary.name !== former.name;
  }, 'another primary');
}

test('shows every acknowledged payment in reports while standbys are stopped, or a minute behind', async () => {
  const primary = await expectPrimary();
  const standbys = cluster.hosts.filter((host) => host !== primary);
  const asynchronous = await hostOfRole('replica');
  // Signals, because Patroni would resume a replay that was paused by SQL.
  const signalReplay = (signal: 'STOP' | 'CONT') =>
    Promise.all(standbys.map((host) => host.run(`pkill -${signal} --full '[s]tartup recovering'`)));
  const [stop = '', start = ''] = documented('Maintain a server');
  const { id } = await openAccount(services[0] as RunningService, token);
  await expectCompleteReports(id, 10);
  // The daily check of the books may also have read the replica, and counts as a report.
  expect(await sumOf('ams_reports_total{server="replica"}')).toBeGreaterThanOrEqual(10);

  const pauseMs = await whilePaying('standbys stopped and behind', async () => {
    await asynchronous.run(stop);
    await expectCompleteReports(id, 10);
    await asynchronous.run(start);
    await cluster.untilComplete();
    await signalReplay('STOP');
    const until = performance.now() + BEHIND_MS;
    while (performance.now() < until) {
      await expectCompleteReports(id, 3);
      await sleep(3_000);
    }
    expect(await sumOf('ams_replica_up')).toBe(0);
    expect(await sumOf('ams_replica_lag_seconds')).toBeGreaterThan(
      (services.length * BEHIND_MS) / 1_000 - 15,
    );
    const served = await sumOf('ams_reports_total{server="primary"}');
    await expectCompleteReports(id, 10);
    expect(await sumOf('ams_reports_total{server="primary"}')).toBe(served + 10);
    await signalReplay('CONT');
  });
  expect(pauseMs).toBeLessThan(LONGEST_SWITCH_MS);
  await expect.poll(() => sumOf('ams_replica_up'), { timeout: 30_000 }).toBe(services.length);
  const served = await sumOf('ams_reports_total{server="replica"}');
  await expectCompleteReports(id, 10);
  expect(await sumOf('ams_reports_total{server="replica"}')).toBe(served + 10);
});

/** Pays through one instance, and expects that the next report of another instance shows the payment. */
async function expectCompleteReports(accountId: number, rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    const [payer, reader] = [services[round % 3], services[(round + 1) % 3]] as [
      RunningService,
      RunningService,
    ];
    const transactionRef = `REPORT ${randomUUID()}`;
    const body = { accountId, amount: 1, paymentMethodId: 2, transactionRef };
    const paid = await payer.call('POST', '/payments', body, { token });
    expect(paid.status, paid.text).toBe(201);
    const report = await reader.call('GET', '/reports/payments?format=csv', undefined, { token });
    expect(report.status, report.text.slice(0, 500)).toBe(200);
    expect(report.text).toContain(transactionRef);
    expect(Number(report.headers.get('snapshot-age'))).toBeLessThan(10);
  }
}

async function hostOfRole(role: string): Promise<Host> {
  const { name } = (await cluster.members()).find((member) => member.role === role) ?? {};
  const host = cluster.hosts.find((one) => one.name === name);
  if (!host) throw new Error(`No server has the role ${role}.`);
  return host;
}

/** The sum of a metric over all instances. */
async function sumOf(series: string): Promise<number> {
  const pages = await Promise.all(
    services.map(({ origin }) => send(origin, 'GET', '/metrics', { token: METRICS_TOKEN })),
  );
  const values = pages.flatMap(({ body }) =>
    body.split('\n').filter((line) => line.startsWith(`${series} `)),
  );
  return values.reduce((sum, line) => sum + Number(line.slice(series.length)), 0);
}

test.each([
  [1, 'power loss'],
  [2, 'kill -9'],
  [3, 'power loss'],
  [4, 'kill -9'],
  [5, 'power loss'],
] as const)('loses no payment when the primary is killed: %i, %s', async (_kill, what) => {
  const former = await expectPrimary();
  const timeline = await timelineOf(former);
  const unsent = randomUUID();
  const pauseMs = await whilePaying(what, async () => {
    if (what === 'kill -9') {
      // systemd starts Patroni again at once.
      await writeUnsent(former, unsent);
      await former.run('pkill -KILL --uid postgres');
      await sleep(STEADY_MS);
      return;
    }
    await former.powerOff();
    await untilAnotherPrimary(former);
    await former.powerOn();
  });
  expect(pauseMs).toBeLessThan(LONGEST_PAUSE_MS);
  expect(await timelineOf(former)).toBeGreaterThan(timeline);
  for (const host of cluster.hosts) expect(await notesOn(host), host.name).not.toContain(unsent);
});

test('loses no payment when the primary freezes, and continues when there is another primary', async () => {
  const former = await expectPrimary();
  const unsent = randomUUID();
  let shown: string[] = [];
  const pauseMs = await whilePaying('freeze', async () => {
    await writeUnsent(former, unsent);
    await former.run('pkill -STOP --uid postgres');
    await untilAnotherPrimary(former);
    // The dangerous case: with the new timeline in the archive, the former primary could follow it without pg_rewind.
    const archived = 'ls /var/lib/postgresql/15/ams/pg_wal/archive_status';
    await until(
      async () => (await (await expectPrimary()).run(archived)).includes('.history.done'),
      'the new timeline in the archive',
    );
    await former.run('pkill -CONT --uid postgres');
    shown = await readOnStandby(former, unsent);
  });
  expect(pauseMs).toBeLessThan(LONGEST_PAUSE_MS);
  expect(shown.length).toBeGreaterThan(0);
  expect(shown.filter((count) => count !== '0')).toEqual([]);
  for (const host of cluster.hosts) expect(await notesOn(host), host.name).not.toContain(unsent);
});

test.each([1, 2])(
  'loses no payment when the primary loses its network, and accepts no write on it: %i',
  async () => {
    const former = await expectPrimary();
    const timeline = await timelineOf(former);
    const note = `on ${former.name} at ${timeline}`;
    let attempts: string[] = [];
    const pauseMs = await whilePaying('network cut', async () => {
      await former.cut();
      const writing = writeOn(former, note);
      await untilAnotherPrimary(former);
      attempts = await writing;
      expect(await ownTimelineOf(former)).toBe(timeline);
      await former.heal();
    });
    expect(attempts.length).toBeGreaterThan(5);
    expect(attempts.filter((attempt) => attempt === 'acknowledged')).toEqual([]);
    expect(pauseMs).toBeLessThan(LONGEST_PAUSE_MS);
    expect(await timelineOf(former)).toBeGreaterThan(timeline);
    for (const host of cluster.hosts) expect(await notesOn(host), host.name).not.toContain(note);
  },
);

test.each([1, 2, 3])('loses no payment when the primary hands over for maintenance: %i', async () => {
  const [stop = '', start = ''] = documented('Maintain a server');
  const former = await expectPrimary();
  const pauseMs = await whilePaying('maintenance', async () => {
    await former.run(stop);
    await untilAnotherPrimary(former);
    await former.run(start);
  });
  expect(pauseMs).toBeLessThan(LONGEST_SWITCH_MS);
});

/**
 * Writes a row that no other server gets. The sync standby, which becomes the primary, is stopped last: if the other standby had
 * more changes, it would need pg_rewind before it could confirm payments.
 */
async function writeUnsent(primary: Host, note: string): Promise<void> {
  for (const role of ['replica', 'sync_standby']) {
    const { address } = await hostOfRole(role);
    await primary.run(`pkill -STOP --full '[w]alsender replicator ${address}\\('`);
  }
  await onProbe(primary, `set synchronous_commit = local; insert into writes values ('${note}')`);
}

test('continues the background jobs on the new primary', async () => {
  await expectJobsToContinue();
});

/** Writes on a server itself for half a minute, as a client that still reaches it. @returns the outcome of each attempt. */
async function writeOn(host: Host, note: string): Promise<string[]> {
  const output = await host.run(`
    for ((end = SECONDS + 30; SECONDS < end; )); do
      if timeout --signal=KILL 2 su postgres -c "psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1 probe" <<<"insert into writes values ('${note}')" 2>&1
      then echo acknowledged
      else echo refused
      fi
      sleep 0.2
    done`);
  return output.split('\n').filter((line) => line === 'acknowledged' || line === 'refused');
}

/** Counts a row on a server for half a minute, while the server is a standby. @returns the count of each attempt. */
async function readOnStandby(host: Host, note: string): Promise<string[]> {
  const output = await host.run(`
    for ((end = SECONDS + 30; SECONDS < end; )); do
      timeout --signal=KILL 2 su postgres -c "psql --no-psqlrc --quiet --tuples-only --no-align probe" \\
        <<<"select count(*) from writes where note = '${note}' having pg_is_in_recovery()" 2>/dev/null || true
      sleep 0.1
    done`);
  return output.split('\n').filter((line) => line !== '');
}

/** The timeline that a server wrote last, from its files. */
async function ownTimelineOf(host: Host): Promise<number> {
  const controldata = await host.run('/usr/lib/postgresql/15/bin/pg_controldata /var/lib/postgresql/15/ams');
  return Number(/^Latest checkpoint's TimeLineID: +(\d+)/m.exec(controldata)?.[1]);
}

/** Waits until an instance has completed the minute jobs after now. */
async function expectJobsToContinue(): Promise<void> {
  const now = Date.now() / 1_000;
  const completed = async () => {
    const pages = await Promise.all(
      services.map(({ origin }) => send(origin, 'GET', '/metrics', { token: METRICS_TOKEN })),
    );
    const times = pages.map(({ body }) =>
      Number(/^ams_minute_jobs_completed_timestamp_seconds (.+)$/m.exec(body)?.[1] ?? 0),
    );
    return Math.max(...times);
  };
  await expect.poll(completed, { timeout: MINUTE_JOB_TIMEOUT_MS, interval: 1_000 }).toBeGreaterThan(now);
}
