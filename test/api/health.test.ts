import { sql } from 'kysely';
import pg from 'pg';
import { describe, expect, inject, it, vi } from 'vitest';
import { buildApp } from '../../src/app.ts';
import { openDatabase } from '../../src/core/database/db.ts';
import { openDatabaseProbe } from '../../src/platform/health/probe.ts';
import { startInstanceForTest, startServiceForTest, useService, whileHolding } from '../support/harness.ts';
import { type Answer, createCaller } from '../support/http.ts';
import { eventually, PATIENT } from '../support/waiting.ts';

const service = useService();
const NOT_THERE = 'redis://127.0.0.1:1';

describe('GET /health', () => {
  it('returns the state of the service and its parts, at the root and without the envelope', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: new Date('2026-11-02T08:15:30.123Z') });
    const answer = await createCaller(service.origin)('GET', '/health').finally(() => vi.useRealTimers());
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      status: 'ok',
      timestamp: '2026-11-02T08:15:30.123Z',
      uptime: expect.any(Number),
      database: 'up',
      writes: 'accepted',
      redis: 'disabled',
      replica: 'disabled',
      silentProviders: [],
    });
    expect(answer.body.uptime).toBeGreaterThan(0);
  });

  it('counts its uptime in seconds', async () => {
    const before = process.uptime(); // in seconds
    const { uptime } = (await createCaller(service.origin)('GET', '/health')).body;
    expect(uptime).toBeGreaterThanOrEqual(before);
    expect(uptime).toBeLessThanOrEqual(process.uptime());
  });

  it('is not below /api', async () => {
    expect((await service.call('GET', '/health', undefined, { token: null })).status).toBe(404);
  });

  it('is degraded, and still 200, while Redis cannot be reached', async () => {
    const { origin, call, redis } = await startInstanceForTest(service, {
      REDIS_URL: NOT_THERE,
      RATE_LIMIT_GENERAL: '100',
    });
    const answer = await createCaller(origin)('GET', '/health');
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ status: 'degraded', database: 'up', redis: 'down' });
    const asked = vi.spyOn(redis ?? expect.fail('There is no client of Redis.'), 'inTime');
    expect((await call('GET', '/customers', undefined, { token: service.adminToken })).status).toBe(200);
    expect(asked).not.toHaveBeenCalled(); // No request waits for Redis.
  });

  it('is degraded, and still 200 and ready, while PostgreSQL refuses writes because its disk is full', async () => {
    const full = await startServiceForTest({ METRICS_TOKEN: 'a token of the monitoring' });
    const { pool } = full.parts;
    // PostgreSQL sends this error if it cannot extend the file of a table.
    await pool.query(`
      create function refuse() returns trigger language plpgsql as $$
      begin
        raise exception 'could not extend file "base/5/16384": No space left on device' using errcode = '53100';
      end $$`);
    await pool.query('create trigger full_disk before insert on customers execute function refuse()');
    const call = createCaller(full.origin);
    const metric = async () => {
      const { text } = await call('GET', '/metrics', undefined, { token: 'a token of the monitoring' });
      return /^ams_database_refuses_writes (\d)$/m.exec(text)?.[1];
    };
    expect(await metric()).toBe('0');
    const customer = { firstName: 'Jane', lastName: 'Doe', phone: '+254712345678' };
    expect((await full.call('POST', '/customers', customer)).status).toBe(503);
    const { status, body } = await call('GET', '/health');
    expect([status, body]).toMatchObject([200, { status: 'degraded', database: 'up', writes: 'refused' }]);
    expect(await metric()).toBe('1');
    expect((await call('GET', '/readyz')).status).toBe(200);
    expect((await full.call('GET', '/customers')).status).toBe(200);
  });

  it('is down with 503 while the database cannot be reached, readiness too; liveness is not', async () => {
    const nowhere = { host: '127.0.0.1', port: 1, user: 'nobody', database: 'nothing' };
    const lost = openDatabase({
      limits: PATIENT,
      connection: nowhere,
      poolSize: 2,
      prepare: true,
      onConnectionLost: () => {},
    });
    const probe = openDatabaseProbe({
      connection: nowhere,
      migrations: [],
      timeoutMs: 60_000,
      onConnectionLost: () => {},
    });
    const app = buildApp({ ...service.parts, probe, context: { ...service.context, db: lost.db } });
    try {
      const health = await app.inject('/health');
      expect(health.statusCode).toBe(503);
      expect(health.json()).toMatchObject({ status: 'down', database: 'down' });
      expect((await app.inject('/readyz')).statusCode).toBe(503);
      expect((await app.inject('/livez')).statusCode).toBe(200);
      const headers = { authorization: `Bearer ${service.adminToken}` };
      const answer = await app.inject({ url: '/api/products', headers });
      expect(answer.statusCode).toBe(503);
      expect(answer.json()).toMatchObject({ success: false, error: { code: 'INTERNAL_ERROR', details: {} } });
      expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
      expect(answer.body).not.toContain('ECONNREFUSED');
    } finally {
      await app.close();
      await probe.close();
      await lost.close();
    }
  });

  it('is up again after every connection to the database was cut', async () => {
    await service.call('GET', '/products');
    await sql`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`.execute(service.context.db);
    const statusOf = async () => (await service.call('GET', '/products')).status;
    await eventually(statusOf).toBe(200);
    await eventually(async () => (await createCaller(service.origin)('GET', '/health')).body.status).toBe(
      'ok',
    );
  });
});

describe('under overload', () => {
  it('refuses at once the requests that it cannot answer soon, and answers the others', async () => {
    await whileHolding(service, 'lock table products in access exclusive mode', async (blocker) => {
      const refused: Answer[] = [];
      const waiting = Array.from({ length: 200 }, async () => {
        const answer = await service.call('GET', '/products');
        if (answer.status === 503) refused.push(answer);
        return answer.status;
      });
      await eventually(() => refused.length).toBe(200 - 128);
      expect((await createCaller(service.origin)('GET', '/livez')).status).toBe(200);
      expect((await createCaller(service.origin)('GET', '/health')).body.status).toBe('ok');
      await blocker.query('rollback');
      for (const answer of refused) expect(answer.headers.get('retry-after')).toBe('1');
      const statuses = await Promise.all(waiting);
      expect(statuses.filter((status) => status === 200)).toHaveLength(128);
      expect((await service.call('GET', '/products')).status).toBe(200);
    });
  });

  it('ends every request at its time limit, for any cause of the delay', async () => {
    const { call } = await startInstanceForTest(service, {}, { answerMs: 100 });
    const token = service.adminToken;
    await whileHolding(service, 'lock table customers in access exclusive mode', async () => {
      const answers = await Promise.all(
        Array.from({ length: 100 }, () => call('GET', '/customers', undefined, { token })),
      );
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]));
    });
  });
});

describe('GET /readyz', () => {
  it('is not ready once the process has begun to stop', async () => {
    expect((await createCaller(service.origin)('GET', '/readyz')).body).toEqual({ status: 'ready' });
    const stopping = buildApp({ ...service.parts, isAccepting: () => false });
    try {
      const answer = await stopping.inject('/readyz');
      expect(answer.statusCode).toBe(503);
      expect((await stopping.inject('/livez')).statusCode).toBe(200);
    } finally {
      await stopping.close();
    }
  });

  it('depends on the migrations of the database, which may be later ones, missing, other ones or none', async () => {
    const other = await startServiceForTest();
    const run = (statement: string) => sql.raw(statement).execute(other.context.db);
    const readiness = async () => {
      const answer = await createCaller(other.origin)('GET', '/readyz');
      return { code: answer.status, ...answer.body };
    };
    const READY = { code: 200, status: 'ready' };
    const OTHER_VERSION = {
      code: 503,
      status: 'this version cannot work with the migrations of the database',
    };

    // A later version has migrated the database. Only a migration that excludes this version matters.
    expect(await readiness()).toEqual(READY);
    await run(`insert into kysely_migration values ('9999_newer', now()::text)`);
    expect(await readiness()).toEqual(READY);
    const exclude = (name: string) =>
      run(`create or replace function oldest_usable_migration() returns text language sql return '${name}'`);
    await exclude('9999_newer');
    expect(await readiness()).toEqual(OTHER_VERSION);
    await exclude('0036_oldest_usable_migration');
    expect(await readiness()).toEqual(READY);

    // A migration of this version is missing, or another is in its place.
    await run(`delete from kysely_migration where name = '9999_newer' or name = '0001_spine'`);
    expect(await readiness()).toEqual(OTHER_VERSION);
    await run(`insert into kysely_migration values ('0001_spine', now()::text)`);
    expect(await readiness()).toEqual(READY);
    await run(`update kysely_migration set name = '0000_other' where name like '0001_%'`);
    expect(await readiness()).toEqual(OTHER_VERSION);

    // The database was never migrated.
    await run('drop schema public cascade; create schema public');
    expect(await readiness()).toEqual(OTHER_VERSION);
    const health = await createCaller(other.origin)('GET', '/health');
    expect(health.status).toBe(503);
    expect(health.body).toMatchObject({ status: 'down', database: 'other version' });

    // The database was dropped.
    const server = new pg.Client(inject('server'));
    await server.connect();
    const { database } = new pg.Client(other.connection);
    await server.query(`drop database ${pg.escapeIdentifier(database ?? '')} with (force)`);
    await server.query(`create database ${pg.escapeIdentifier(database ?? '')}`);
    await server.end();
    expect((await readiness()).code).toBe(503);
    await eventually(readiness).toEqual(OTHER_VERSION);
  });
});
