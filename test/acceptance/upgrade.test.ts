import pg from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startPaying, strangeOf } from '../faults/clients.ts';
import { createCaller } from '../support/http.ts';
import { runStatement } from '../support/statements.ts';
import { eventually } from '../support/waiting.ts';
import { expectBooksToHold } from './books.ts';
import { registerAdmin } from './client.ts';
import { nextVersion } from './next-version.ts';
import {
  cleanUpAfterwards,
  type Environment,
  failToStart,
  NO_RATE_LIMITS,
  newDatabase,
  type RunningService,
  report,
  startService,
} from './process.ts';

cleanUpAfterwards();

const COMPATIBLE = { '9997_column': 'alter table payments add column next text;\n' };
const CONCURRENT = {
  '9998_index': `-- Outside a transaction: requests continue while the index is built.
drop index concurrently if exists payments_next;
create index concurrently payments_next on payments (next);
`,
};
const BREAKING = {
  '9999_breaking': `create or replace function oldest_usable_migration() returns text language sql immutable
  return '9999_breaking';
`,
};

let environment: Environment;
let service: RunningService;
let token: string;

// Each test has its own database, because a migration cannot be undone.
beforeEach(async () => {
  environment = { ...NO_RATE_LIMITS, DATABASE_URL: await newDatabase() };
  service = await startService(environment);
  token = await registerAdmin(service);
});

afterEach(() => service.stop());

/** The number of transactions that wait for the exclusive lock that a migration needs on payments. */
async function countWaiting(client: pg.Client): Promise<number> {
  const { rowCount } = await client.query(
    `select from pg_locks where relation = 'payments'::regclass and mode = 'AccessExclusiveLock' and not granted`,
  );
  return rowCount ?? 0;
}

const readiness = async () => (await createCaller(service.origin)('GET', '/readyz')).status;

describe('a migration of the next version', () => {
  test('stops waiting for a lock so that payments continue, and tries again until it gets the lock', async () => {
    const migrate = await nextVersion(COMPATIBLE);
    const paying = await startPaying([service.origin], service, token, { clients: 8, pauseMs: 10 });
    const reader = new pg.Client(environment.DATABASE_URL);
    await reader.connect();
    await reader.query(`set application_name = 'a long report'; begin; select from payments limit 1`);
    const migrating = migrate(environment);
    for (let attempt = 1; attempt <= 2; attempt++) {
      await eventually(() => countWaiting(reader)).not.toBe(0);
      await eventually(() => countWaiting(reader)).toBe(0);
      const givenUp = performance.now();
      await eventually(() => paying.lastSuccess() > givenUp).toBe(true);
    }
    expect(await readiness()).toBe(200);
    await reader.end();
    const migrated = await migrating;
    expect(migrated).toMatchObject({ status: 0, stdout: expect.stringContaining('applied 9997_column') });
    expect(migrated.stderr).toMatch(
      /^Migration 9997_column did not get its locks and tries again in 1 s\. The longest transactions have the process ids \d+ \(a long report, \d+ s\)/,
    );
    const end = performance.now();
    await eventually(() => paying.lastSuccess() > end).toBe(true);
    await paying.stop();
    expect(strangeOf(paying.outcomes)).toEqual([]);
    expect(paying.outcomes.filter(({ status }) => status === 503)).toEqual([]);
    const attempts = migrated.stderr.split('tries again').length - 1;
    expect(attempts).toBeGreaterThanOrEqual(2);
    report(`migration behind a long report: ${await paying.compare(service)}; ${attempts} attempts failed`);
    await expectBooksToHold(environment.DATABASE_URL ?? '');
  });

  test('builds an index while two processes migrate and payments continue', async () => {
    expect(await (await nextVersion(COMPATIBLE))(environment)).toMatchObject({ status: 0 });
    const migrate = await nextVersion({ ...COMPATIBLE, ...CONCURRENT });
    const paying = await startPaying([service.origin], service, token, { clients: 4, pauseMs: 10 });
    const ends = await Promise.all([migrate(environment), migrate(environment)]);
    expect(ends.map(({ status, stderr }) => [status, stderr])).toEqual([
      [0, ''],
      [0, ''],
    ]);
    await paying.stop();
    expect(paying.outcomes.filter(({ status }) => status !== 200 && status !== 201)).toEqual([]);
    const valid = await runStatement(
      environment.DATABASE_URL ?? '',
      `select from pg_index where indexrelid = 'payments_next'::regclass and indisvalid`,
    );
    expect(valid.rowCount).toBe(1);
  });

  test('lets this version run and start, until a migration excludes it', async () => {
    const next = { ...COMPATIBLE, ...CONCURRENT };
    expect(await (await nextVersion(next))(environment)).toMatchObject({ status: 0 });
    expect(await readiness()).toBe(200);
    const again = await startService(environment);
    expect((await again.call('GET', '/payments', undefined, { token })).status).toBe(200);
    await again.stop();
    const migrate = await nextVersion({ ...next, ...BREAKING });
    expect(await migrate(environment)).toMatchObject({ status: 0 });
    await eventually(readiness).toBe(503);
    expect(await failToStart(environment)).toMatchObject({
      status: 1,
      stderr: expect.stringContaining(
        'A later version of the service has migrated this database, and this version cannot work with it.',
      ),
    });
  });
});
