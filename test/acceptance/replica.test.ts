import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createPostgres, type FragilePostgres } from '../faults/postgres.ts';
import { type Answer, createCaller } from '../support/http.ts';
import { runStatement } from '../support/statements.ts';
import { eventually } from '../support/waiting.ts';
import { openAccount, registerAdmin } from './client.ts';
import {
  cleanUpAfterwards,
  type Environment,
  NO_RATE_LIMITS,
  newFolder,
  type RunningService,
  runCli,
  startService,
  USUAL_LIMITS,
} from './process.ts';

cleanUpAfterwards();

const METRICS_TOKEN = 'the token of the replica tests';
const REPORTS = [
  '/reports/accounts/summary',
  '/reports/payments',
  '/reports/payments?format=csv',
  '/reports/proof',
  '/exports/portfolio',
];

let primary: FragilePostgres;
let standby: FragilePostgres;
/** Another standby, which a test promotes. */
let spare: FragilePostgres;
let database: string;
let environment: Environment;
let service: RunningService;
let token: string;
let accountId: number;
let paid = 0;

/** Statements on the database of the service, by server. */
const onPrimary = (statement: string) => runStatement(database, statement);
const onStandby = (statement: string) => runStatement(environment.DATABASE_REPLICA_URL ?? '', statement);

beforeAll(async () => {
  primary = await createPostgres();
  await primary.start();
  database = await primary.newDatabase();
  await primary.stop('fast');
  standby = await primary.createStandby({ max_standby_streaming_delay: '100ms' });
  spare = await primary.createStandby();
  await Promise.all([primary.start(), standby.start(), spare.start()]);
  environment = {
    ...NO_RATE_LIMITS,
    ...USUAL_LIMITS,
    METRICS_TOKEN,
    DATABASE_URL: database,
    DATABASE_REPLICA_URL: databaseOn(standby),
    DATABASE_REPLICA_MAX_LAG: '2',
  };
  service = await startService(environment);
  token = await registerAdmin(service);
  accountId = (await openAccount(service, token)).id;
});

beforeEach(() => untilReplicaIs('up'));

afterAll(async () => {
  await service.stop();
  await standby.stop('immediate');
  await spare.stop('immediate');
  await primary.stop('immediate');
});

/** The address of the database of the service on another server. */
const databaseOn = (server: FragilePostgres) => server.address(new URL(database).pathname.slice(1));

const get = (path: string, from = service) => from.call('GET', path, undefined, { token });

async function pay(): Promise<void> {
  const body = { accountId, amount: 1, paymentMethodId: 2 };
  const answer = await service.call('POST', '/payments', body, { token });
  expect(answer.status, answer.text).toBe(201);
  paid += 1;
}

async function healthOf(one: RunningService): Promise<unknown> {
  const { status, body } = await createCaller(one.origin)('GET', '/health');
  expect(status).toBe(200);
  return body;
}

const untilReplicaIs = (state: string, one = service) =>
  eventually(() => healthOf(one)).toMatchObject({
    replica: state,
    status: state === 'up' ? 'ok' : 'degraded',
  });

/** The number of reports that the service read from a server. */
async function countReports(server: 'replica' | 'primary', one = service): Promise<number> {
  return metric(`ams_reports_total{server="${server}"}`, one);
}

async function metric(series: string, one = service): Promise<number> {
  const { text } = await createCaller(one.origin)('GET', '/metrics', undefined, { token: METRICS_TOKEN });
  return Number(
    text
      .split('\n')
      .find((line) => line.startsWith(`${series} `))
      ?.slice(series.length),
  );
}

function expectAge(answer: Answer): void {
  expect(answer.headers.get('snapshot-age')).toMatch(/^\d+\.\d$/);
}

/** Expects that each report is complete and states its age, and that one of the servers served all of them. */
async function expectReportsFrom(server: 'replica' | 'primary', one = service): Promise<void> {
  const before = await countReports(server, one);
  await pay();
  const answers = new Map<string, Answer>();
  for (const path of REPORTS) {
    const answer = await get(path, one);
    expect(answer.status, `${path}: ${answer.text.slice(0, 500)}`).toBe(200);
    expectAge(answer);
    answers.set(path, answer);
  }
  const [summary, payments, csv, proof] = REPORTS.map((path) => answers.get(path));
  expect(summary?.body.data.collected).toBe(paid);
  expect(payments?.body.pagination.total).toBe(paid);
  expect(csv?.text.trim().split('\r\n')).toHaveLength(paid + 1);
  expect(proof?.body.data).toMatchObject({ holds: true, day: { received: { count: paid } } });
  expect(await countReports(server, one)).toBe(before + REPORTS.length);
}

describe('with a replica', () => {
  test('serves reports, exports and the proof from the replica, each with the age of its snapshot', async () => {
    expect(await metric('ams_replica_up')).toBe(1);
    const [{ began }] = (await onPrimary('select clock_timestamp()::text as began')).rows;
    await expectReportsFrom('replica');
    const exports = await onPrimary(`select from pg_stat_activity
      where application_name = 'account-management-service export' and query_start > '${began}'`);
    expect(exports.rowCount).toBe(0);
  });

  test('shows each payment in a report that is asked for as soon as the payment is acknowledged', async () => {
    const before = await countReports('replica');
    for (let round = 0; round < 20; round++) {
      await pay();
      const { body } = await get('/reports/accounts/summary');
      expect(body.data.collected).toBe(paid);
    }
    expect(await countReports('replica')).toBe(before + 20);
  });

  test('proves the books and exports the portfolio from the replica by commands with --replica', async () => {
    const proof = await runCli('verify', environment, '--replica');
    expect(proof.status, proof.stdout + proof.stderr).toBe(0);
    expect(proof.stderr).toBe('');
    expect(proof.stdout).toMatch(/The checks read everything that was acknowledged before 2\S+Z\./);
    const folder = `${await newFolder()}/out`;
    const exported = await runCli('export', environment, folder, '--replica');
    expect(exported.status, exported.stderr).toBe(0);
    expect(exported.stdout).toContain(`payments.csv: ${paid} rows`);
    expect(exported.stdout).toMatch(/The files contain everything that was acknowledged before 2\S+Z\./);
  });

  test('reads the primary if the address leads to another database', async () => {
    const other = { ...environment, DATABASE_REPLICA_URL: standby.address('postgres') };
    const proof = await runCli('verify', other, '--replica');
    expect(proof.status, proof.stdout + proof.stderr).toBe(0);
    expect(proof.stderr).toContain('Reports use the primary: the replica is not a standby of this database.');
  });

  test('repeats a report on the primary if the replica cancels it to replay a change', async () => {
    const locks = [new pg.Client(database), new pg.Client(database)] as const;
    for (const lock of locks) await lock.connect();
    try {
      // The proof on the replica reads the ledger, then waits for the lock of the commissions, which the replica replays, too.
      await locks[0].query('begin; lock table commissions in access exclusive mode');
      await sendToStandby();
      await untilStandby(`select from pg_locks where mode = 'AccessExclusiveLock' and granted`);
      await untilReplicaIs('up');
      const proving = get('/reports/proof');
      await untilStandby(`select from pg_stat_activity where wait_event_type = 'Lock'`);
      await locks[1].query('begin; lock table ledger_entries in access exclusive mode');
      await sendToStandby();
      await eventually(() => service.output()).toContain(
        'instead of the replica: canceling statement due to conflict',
      );
      for (const lock of locks) await lock.query('rollback');
      const proof = await proving;
      expect(proof.status, proof.text.slice(0, 500)).toBe(200);
      expect(proof.body.data).toMatchObject({ holds: true, day: { received: { count: paid } } });
    } finally {
      for (const lock of locks) await lock.end();
    }
  });
});

/** When the service last asked the standby how far it has replayed the log. */
async function lastCheckOfStandby(): Promise<string> {
  const { rows } = await onStandby(
    `select max(query_start)::text as at from pg_stat_activity
      where query like '%pg_is_in_recovery() as is_standby%' and pid <> pg_backend_pid()`,
  );
  return rows[0].at;
}

describe('with a replica that is behind', () => {
  test('waits for a short delay, and shows everything that was acknowledged', async () => {
    await onStandby('select pg_wal_replay_pause()');
    await pay();
    let isAnswered = false;
    const asked = get('/reports/accounts/summary').finally(() => {
      isAnswered = true;
    });
    const checks = new Set<unknown>();
    // While a report waits, the service asks the standby for its progress again and again.
    await eventually(async () => {
      checks.add(await lastCheckOfStandby());
      return isAnswered || checks.size > 3;
    }).toBe(true);
    await onStandby('select pg_wal_replay_resume()');
    const answer = await asked;
    expect(answer.body.data.collected).toBe(paid);
    expectAge(answer);
  });

  test('serves all reports from the primary while the replica is too far behind, and warns', async () => {
    await onStandby('select pg_wal_replay_pause()');
    try {
      await pay();
      await untilReplicaIs('behind');
      expect(await metric('ams_replica_up')).toBe(0);
      expect(await metric('ams_replica_lag_seconds')).toBeGreaterThan(2);
      await expectReportsFrom('primary');
      await pay();
    } finally {
      await onStandby('select pg_wal_replay_resume()');
    }
    await untilReplicaIs('up');
    await expectReportsFrom('replica');
  });
});

describe('with a replica that fails', () => {
  test('serves all reports from the primary while the replica is stopped, and uses it again afterwards', async () => {
    await standby.stop('immediate');
    await pay();
    expect((await get('/reports/accounts/summary')).body.data.collected).toBe(paid);
    await untilReplicaIs('down');
    await expectReportsFrom('primary');
    const other = await startService(environment);
    expect(await healthOf(other)).toMatchObject({ replica: 'down' });
    await other.stop();
    await standby.start();
    await untilReplicaIs('up');
    await expectReportsFrom('replica');
  });

  test('finishes a running report on the primary if the replica stops answering', async () => {
    standby.freeze();
    try {
      expect((await get('/reports/accounts/summary')).body.data.collected).toBe(paid);
      await pay();
      await untilReplicaIs('down');
    } finally {
      standby.thaw();
    }
    await untilReplicaIs('up');
  });

  test('does not use a replica that was made a primary', async () => {
    const DATABASE_REPLICA_URL = databaseOn(spare);
    const other = await startService({ ...environment, DATABASE_REPLICA_URL });
    await untilReplicaIs('up', other);
    await runStatement(DATABASE_REPLICA_URL, 'select pg_promote()');
    await untilReplicaIs('not a standby', other);
    await expectReportsFrom('primary', other);
    await other.stop();
  });
});

describe('without the synchronous standby that must confirm each commit', () => {
  test.each([
    ['POST /payments', () => ({ accountId, amount: 1, paymentMethodId: 2 })],
    ['POST /customers', () => ({ firstName: 'Test', lastName: 'Customer', phone: '+254700000001' })],
  ] as const)(
    '%s answers 503 to a repeat while the first request waits, and replays its answer later',
    async (route, body) => {
      const path = route.replace('POST ', '');
      const repeat = { token, headers: { 'idempotency-key': `without a standby ${path}` } };
      const other = await startService(environment);
      await setSynchronousStandbys('away');
      try {
        const first = service.call('POST', path, body(), repeat);
        await eventually(async () => (await onPrimary(WAITING_COMMITS)).rowCount).toBe(1);
        const second = await other.call('POST', path, body(), repeat);
        for (const answer of [await first, second]) {
          expect(answer.status, answer.text).toBe(503);
          expect(answer.body.error.code).toBe('INTERNAL_ERROR');
          expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
        }
      } finally {
        await setSynchronousStandbys('');
      }
      await eventually(async () => (await onPrimary(WAITING_COMMITS)).rowCount).toBe(0);
      const replayed = await other.call('POST', path, body(), repeat);
      expect(replayed.status, replayed.text).toBe(201);
      expect(replayed.headers.get('idempotent-replayed')).toBe('true');
      if (path === '/payments') paid += 1;
      await other.stop();
    },
  );
});

/** Commits that store an answer for an Idempotency-Key. Jobs also commit, at any time. */
const WAITING_COMMITS = `select from pg_stat_activity a
  join pg_locks l on l.pid = a.pid and l.relation = 'idempotency_keys'::regclass and l.mode = 'RowExclusiveLock'
  where a.wait_event = 'SyncRep'`;

async function setSynchronousStandbys(names: string): Promise<void> {
  await onPrimary(`alter system set synchronous_standby_names = '${names}'`);
  await onPrimary('select pg_reload_conf()');
  if (names !== '') await untilCommitsWait();
}

/** Commits until a commit waits for a standby, because PostgreSQL uses a new setting only some time after it was loaded. */
async function untilCommitsWait(): Promise<void> {
  const client = new pg.Client(database);
  await client.connect();
  const { rows } = await client.query('select pg_backend_pid() as pid');
  let commit: Promise<unknown> | undefined;
  await eventually(async () => {
    commit ??= client.query(COMMIT).finally(() => {
      commit = undefined;
    });
    const waits = `select from pg_stat_activity where pid = ${rows[0].pid} and wait_event = 'SyncRep'`;
    return (await onPrimary(waits)).rowCount;
  }).toBe(1);
  void commit?.then(() => client.end()); // When the setting is removed.
}

/** A statement that is written to the log when it is committed. */
const COMMIT = `select pg_logical_emit_message(true, 'test', '')`;

/** Commits something, because a lock alone is not written to the log until the next commit. */
async function sendToStandby(): Promise<void> {
  await onPrimary(COMMIT);
}

async function untilStandby(rows: string): Promise<void> {
  await eventually(async () => (await onStandby(rows)).rowCount).toBeGreaterThan(0);
}
