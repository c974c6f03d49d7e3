import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { dropDatabase } from '../../test/support/drop-database.ts';
import { whileHolding } from '../../test/support/harness.ts';
import { databaseOn, runStatement } from '../../test/support/statements.ts';
import { PATIENT, until } from '../../test/support/waiting.ts';
import { readConfig } from '../config/config.ts';
import { openDatabase } from '../core/database/db.ts';
import { readMigrationFiles } from '../platform/migrations/files.ts';
import { migrate } from '../platform/migrations/runner.ts';
import { currencyOf, prepareDatabase, withPreparationLock } from './database-preparation.ts';

const config = readConfig({ NODE_ENV: 'test' });
let database: string;
let connection: ReturnType<typeof databaseOn>;

const create = (from: string) => runStatement(inject('server'), `create database ${database} ${from}`);
const query = async (statement: string) => (await runStatement(connection, statement)).rows;
const prepare = (warn: (message: string) => void = () => {}) =>
  prepareDatabase(connection, config, currencyOf(config), { warn });

beforeEach(() => {
  database = `ams_test_${randomUUID().replaceAll('-', '')}`;
  connection = databaseOn(inject('server'), database);
});

afterEach(() => dropDatabase(database));

describe('three instances that start together', () => {
  it('migrate the database once, do not keep waiting for its locks, and add the demo catalogue once', async () => {
    await create('');
    const files = await readMigrationFiles();
    const at = files.findLastIndex(({ isTransaction }) => isTransaction);
    const missing = files.slice(at).map(({ name }) => name);
    await migrateUntil(files[at - 1]?.name);

    const waits: string[] = [];
    const prepared = [0, 1, 2].map(() => prepare((message) => waits.push(message)));
    // Each migration writes to this table.
    await whileHolding({ connection }, 'lock table kysely_migration in share mode', () =>
      until('a migration that stops waiting for its lock', () => waits.length > 0),
    );
    const ends = await Promise.all(prepared);

    expect(waits[0]).toMatch(
      `Migration ${missing[0]} did not get its locks and tries again in 1 s. The longest transactions have the process ids `,
    );
    expect(ends.filter(({ isNew }) => isNew)).toEqual([{ isNew: true, migrations: missing }]);
    expect(ends.flatMap(({ migrations }) => migrations)).toEqual(missing);
    const applied = await query('select name from kysely_migration order by name');
    expect(applied).toEqual(files.map(({ name }) => ({ name })));
    expect(await query('select count(*)::int as products from products')).toEqual([{ products: 5 }]);
  });

  async function migrateUntil(last: string | undefined): Promise<void> {
    const { db, close } = openDatabase({
      ...{ connection, limits: PATIENT, poolSize: 1, prepare: false, onConnectionLost: () => {} },
    });
    await migrate(db, { last });
    await close();
  }
});

describe('an instance that waits for another one', () => {
  it('has no snapshot, for which a concurrent build of an index would wait', async () => {
    await create(`template ${inject('template')}`);
    const trying = `select from pg_stat_activity
      where datname = current_database() and query like '%advisory_lock%' and pid <> pg_backend_pid()`;
    let waiting: ReturnType<typeof prepare> | undefined;
    await withPreparationLock(connection, config, async (_db, holder) => {
      waiting = prepare();
      await until('both instances to try the lock', async () => (await query(trying)).length === 2);
      await holder.query(`set statement_timeout = '60s'`); // Without an end, the failure would say nothing.
      await holder.query('create index concurrently on payments (amount_minor)');
    });
    expect(await waiting).toEqual({ isNew: false, migrations: [] });
  });
});

describe('a database whose ledger has partitions, as the command of version 0.1.0 made them', () => {
  it('is refused with the command that removes them, and is used without them', async () => {
    await create(`template ${inject('template')}`);
    await query('alter table ledger_entries rename to ledger_entries_1');
    await query('create table ledger_entries (like ledger_entries_1) partition by range (id)');
    await expect(prepare()).rejects.toThrow(
      'This version does not support the partitions of ledger_entries. Install version 0.1.0, run `npm run partition -- --revert`, and then install this version again.',
    );
    await query('drop table ledger_entries');
    await query('alter table ledger_entries_1 rename to ledger_entries');
    expect(await prepare()).toEqual({ isNew: false, migrations: [] });
  });
});

describe('a database that a later version has migrated', () => {
  it('is used until one of the migrations excludes this version', async () => {
    await create(`template ${inject('template')}`);
    await query(`insert into kysely_migration values ('9998_compatible', now()::text)`);
    expect(await prepare()).toEqual({ isNew: false, migrations: [] });
    await query(`insert into kysely_migration values ('9999_breaking', now()::text)`);
    await query(
      `create or replace function oldest_usable_migration() returns text language sql return '9999_breaking'`,
    );
    await expect(prepare()).rejects.toThrow(
      'A later version of the service has migrated this database, and this version cannot work with it.',
    );
  });
});

describe('a database whose books are in another currency', () => {
  it('is refused', async () => {
    await create(`template ${inject('template')}`);
    const shillings = readConfig({ NODE_ENV: 'test', CURRENCY: 'UGX' });
    await expect(prepareDatabase(connection, shillings, currencyOf(shillings))).rejects.toThrow(
      /^CURRENCY does not match this database: its books are in KES with 2 decimals, not in UGX with 0 decimals\.$/,
    );
  });
});
