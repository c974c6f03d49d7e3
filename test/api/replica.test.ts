import { sql } from 'kysely';
import pg from 'pg';
import { beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { buildApp } from '../../src/app.ts';
import { createHorizonReader } from '../../src/changes/events/feed-horizon.ts';
import type { Config } from '../../src/core/context.ts';
import type { Db } from '../../src/core/database/db.ts';
import { openPostingQueue } from '../../src/payments/posting/post-payments.ts';
import { openPools } from '../../src/start/pools.ts';
import { newAccount, pay, useService, waitingForLock, whileHolding } from '../support/harness.ts';
import { createCaller } from '../support/http.ts';
import { runStatement } from '../support/statements.ts';
import { eventually, until } from '../support/waiting.ts';

/**
 * The database of the service is also its replica: in the search path of these connections, other functions take the place of those
 * that report the state of a standby. So a test decides how far the replica is, and needs no second server.
 */
const service = useService();
const FUNCTIONS = `
  create schema standby;
  create table standby.state (replayed pg_lsn, is_standby boolean not null default true);
  insert into standby.state default values;
  create function standby.pg_is_in_recovery() returns boolean language sql as 'select is_standby from standby.state';
  create function standby.pg_last_wal_replay_lsn() returns pg_lsn language sql as
    'select coalesce(replayed, pg_current_wal_flush_lsn()) from standby.state'`;
const OTHER_CLUSTER = `create function standby.pg_control_system(out system_identifier bigint) language sql as 'select 1::bigint'`;
const REPORTS = [
  '/reports/accounts/summary',
  '/reports/payments',
  '/reports/payments?format=csv',
  '/reports/proof',
  '/exports/portfolio',
];
let accountId: number;

beforeAll(async () => {
  await runStatement(service.connection, FUNCTIONS);
  accountId = (await newAccount(service)).id;
});

const setStandby = (change: string) => runStatement(service.connection, `update standby.state set ${change}`);
beforeEach(() => setStandby('replayed = null, is_standby = true'));

/** The address of a database of the server, whose connections find unqualified names in a schema first. */
function addressOf(schema: string, database?: string): string {
  const { host, port, user, password, database: own } = new pg.Client(service.connection);
  const url = new URL(`postgres://server/${database ?? own}`);
  url.username = user ?? '';
  if (typeof password === 'string') url.password = password;
  for (const [name, value] of Object.entries({ host, port: String(port) })) url.searchParams.set(name, value);
  url.searchParams.set('options', `-c search_path=${schema},pg_catalog,public`);
  return url.href;
}

/** Opens the pools of another instance, with other addresses of the database. */
async function openOther(settings: Partial<Config>, connection = service.connection) {
  const config: Config = { ...service.context.config, ...settings };
  const warnings: string[] = [];
  const log = { info: () => {}, warn: (message: string) => warnings.push(message), error: () => {} };
  const pools = await openPools(config, { connection, log });
  onTestFinished(async () => {
    await pools.cancelLongWork();
    await pools.close();
  });
  /** The number of payments, as a summary reads it. */
  const countPayments = async () => {
    const { value } = await pools.summaries.read('test', (tx) => count(tx));
    return value;
  };
  return { config, pools, warnings, countPayments, status: () => pools.replica?.status() };
}

const openReplica = (maxLagSeconds: number, replica = addressOf('standby'), primary = service.connection) =>
  openOther({ DATABASE_REPLICA_URL: replica, DATABASE_REPLICA_MAX_LAG: maxLagSeconds }, primary);

async function count(db: Db): Promise<number> {
  const { rows } = await sql<{ payments: number }>`select count(*) as payments from payments`.execute(db);
  return rows[0]?.payments ?? 0;
}

const countNow = () => count(service.context.db);

/** Starts an instance with these pools. */
async function startWith({ config, pools }: Awaited<ReturnType<typeof openOther>>) {
  const { testClock, ...parts } = service.parts;
  const context = { ...service.context, config, db: pools.db };
  const app = buildApp({
    ...{ ...parts, ...pools, horizon: createHorizonReader(pools.db) },
    context: { ...context, queue: openPostingQueue(context) },
  });
  onTestFinished(() => app.close());
  return createCaller(`${await app.listen({ host: '127.0.0.1', port: 0 })}/api`);
}

describe('a replica', () => {
  it('serves reports, exports and the proof, each with the age of its snapshot', async () => {
    const other = await openReplica(3_600);
    const call = await startWith(other);
    for (const path of REPORTS) {
      const answer = await call('GET', path, undefined, { token: service.adminToken });
      expect(answer.status, answer.text.slice(0, 500)).toBe(200);
      expect(answer.headers.get('snapshot-age'), path).toMatch(/^\d+\.\d$/);
    }
    expect(other.status()).toMatchObject({ state: 'up', reports: { replica: REPORTS.length, primary: 0 } });
  });

  it('is read only after it has replayed every payment that was acknowledged before', async () => {
    const { countPayments, status } = await openReplica(3_600);
    await countPayments();
    await setStandby('replayed = pg_current_wal_flush_lsn()');
    await pay(service, accountId, 1);
    const asked = vi.spyOn(pg.Client.prototype, 'query');
    onTestFinished(() => asked.mockRestore());
    let isRead = false;
    const reading = countPayments().finally(() => {
      isRead = true;
    });
    const looks = () =>
      asked.mock.calls.filter(([query]: unknown[]) =>
        (query as pg.QueryConfig).text?.includes('pg_last_wal_replay_lsn'),
      ).length;
    await until('several looks at the progress of the replica', () => looks() > 5 || isRead);
    expect(isRead).toBe(false);
    await setStandby('replayed = null');
    expect(await reading).toBe(await countNow());
    expect(status()?.reports).toEqual({ replica: 2, primary: 0 });
  });

  it('is not read while it is further behind than the limit', async () => {
    await setStandby(`replayed = '0/1'`);
    const { countPayments, status } = await openReplica(0.2);
    expect(await countPayments()).toBe(await countNow());
    expect(status()).toMatchObject({ state: 'behind', reports: { replica: 0, primary: 1 } });
  });

  it('whose delay exceeds the limit during a read is replaced by the primary', async () => {
    const { countPayments, status } = await openReplica(1);
    await countPayments();
    await setStandby(`replayed = '0/1'`);
    expect(await countPayments()).toBe(await countNow());
    expect(status()?.reports.primary).toBeGreaterThan(0);
  });

  it.each([
    ['was made a primary', 'update standby.state set is_standby = false'],
    ['belongs to another cluster', OTHER_CLUSTER],
  ])('is not read if it %s', async (_what, change) => {
    onTestFinished(async () => {
      await runStatement(service.connection, 'drop function if exists standby.pg_control_system');
    });
    await runStatement(service.connection, change);
    const { countPayments, status } = await openReplica(3_600);
    expect(await countPayments()).toBe(await countNow());
    expect(status()).toMatchObject({ state: 'not a standby', reports: { replica: 0, primary: 1 } });
  });

  it('is not read for a minute after a failover, because it may have payments that the new primary does not have', async () => {
    const setTimeline = (timeline: string) =>
      runStatement(
        service.connection,
        `create schema if not exists leader;
         create or replace function leader.pg_walfile_name(pg_lsn) returns text language sql as $$ select '${timeline}' $$`,
      );
    await setTimeline('00000001');
    const { countPayments, status } = await openReplica(3_600, addressOf('standby'), addressOf('leader'));
    await countPayments();
    await setTimeline('00000002');
    await countPayments();
    expect(status()?.reports).toEqual({ replica: 1, primary: 1 });
  });

  it('that cannot be reached is not read', async () => {
    const url = new URL(addressOf('standby'));
    url.searchParams.set('host', '127.0.0.1');
    url.searchParams.set('port', '1');
    const { countPayments, status } = await openReplica(3_600, url.href);
    expect(await countPayments()).toBe(await countNow());
    expect(status()).toMatchObject({ state: 'down', reports: { replica: 0, primary: 1 } });
  });

  it('that fails during a read is replaced by the primary', async () => {
    const { countPayments, warnings } = await openReplica(3_600);
    await whileHolding(service, 'lock table payments in access exclusive mode', async (holder) => {
      const reading = countPayments();
      await eventually(() => waitingForLock(holder)).toHaveLength(1);
      await holder.query('select pg_terminate_backend(pid) from unnest($1::int[]) as pid', [
        await waitingForLock(holder),
      ]);
      await eventually(() => warnings.join()).toContain('A report uses the primary instead of the replica');
      await holder.query('rollback');
      expect(await reading).toBe(await countNow());
    });
  });
});

describe('while no standby confirms commits', () => {
  it.each([
    ['/payments', () => ({ accountId, amount: 1, paymentMethodId: 2 })],
    ['/customers', () => ({ firstName: 'Test', lastName: 'Customer', phone: '+254700000001' })],
  ])(
    'a repeat of POST %s gets 503, and not the answer for a request that is still running',
    async (path, body) => {
      await runStatement(
        service.connection,
        `create schema if not exists late; create or replace view late.pg_stat_activity as
        select current_database() as datname, 'SyncRep' as wait_event, now() - interval '1 hour' as query_start`,
      );
      const { limits } = service.context.config;
      const impatient = { limits: { ...limits, lockMs: 100, postingMs: 100 } };
      const healthy = await startWith(await openOther(impatient));
      const late = await startWith(await openOther(impatient, addressOf('late')));
      const repeat = { token: service.adminToken, headers: { 'idempotency-key': `late ${path}` } };
      const { rows } = await sql<{
        id: number;
      }>`select id from users where email = 'admin@example.com'`.execute(service.context.db);
      const first = `
      select pg_advisory_xact_lock(hashtextextended('idempotency key user ${rows[0]?.id} /api${path} late ${path}', 0));
      insert into idempotency_keys (caller, path, key, body_hash) values ('user ${rows[0]?.id}', '/api${path}', 'late ${path}', '')`;
      await whileHolding(service, first, async () => {
        const running = await healthy('POST', path, body(), repeat);
        expect([running.status, running.body.error.code], running.text).toEqual([409, 'DUPLICATE_ENTRY']);
        const answer = await late('POST', path, body(), repeat);
        expect([answer.status, answer.body.error.code], answer.text).toEqual([503, 'INTERNAL_ERROR']);
        expect(answer.headers.get('retry-after')).toBe('1');
      });
      expect((await late('POST', path, body(), repeat)).status).toBe(201);
    },
  );
});
