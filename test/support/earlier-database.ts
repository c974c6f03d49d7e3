import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, inject } from 'vitest';
import { openDatabase } from '../../src/core/database/db.ts';
import { readMigrationNames } from '../../src/platform/migrations/files.ts';
import { migrate } from '../../src/platform/migrations/runner.ts';
import { dropDatabase } from './drop-database.ts';
import { databaseOn, runStatement } from './statements.ts';
import { PATIENT } from './waiting.ts';

export interface EarlierDatabase {
  db: ReturnType<typeof openDatabase>['db'];
  client: pg.Client;
  connection: ReturnType<typeof databaseOn>;
}

/** An empty database for the tests of a group. @param before - it is migrated up to the last migration before this one. */
export function useDatabaseBefore(before: string): EarlierDatabase {
  const name = `ams_test_${randomUUID().replaceAll('-', '')}`;
  const connection = databaseOn(inject('server'), name);
  const earlier = { client: new pg.Client(connection), connection } as EarlierDatabase;
  let close: () => Promise<void>;
  beforeAll(async () => {
    await runStatement(inject('server'), `create database ${name}`);
    const limits = PATIENT;
    const opened = openDatabase({
      connection,
      limits,
      poolSize: 2,
      prepare: false,
      onConnectionLost: () => {},
    });
    close = opened.close;
    earlier.db = opened.db;
    await earlier.client.connect();
    const names = (await readMigrationNames()).filter((one) => one < before);
    await migrate(opened.db, { last: names.at(-1) });
  });
  afterAll(async () => {
    await earlier.client.end();
    await close();
    await dropDatabase(name);
  });
  return earlier;
}

/**
 * Replaces all rows of an earlier database by the rows of a database of this version. Leaves out the tables and columns that only
 * this version has. No trigger runs, so the rows can also be changed as an earlier version wrote them.
 */
export async function copyBooks(from: pg.Client, { client: to }: EarlierDatabase): Promise<void> {
  const { rows: tables } = await to.query<{ name: string; columns: string }>(`
    select c.relname as name, string_agg(quote_ident(a.attname), ', ' order by a.attnum) as columns
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
    where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and c.relname <> 'kysely_migration'
    group by c.relname`);
  await to.query('set session_replication_role = replica');
  await to.query(`truncate ${tables.map(({ name }) => name).join(', ')}`);
  for (const { name, columns } of tables) {
    const { rows } = await from.query<{ all: string }>(
      `select coalesce(json_agg(t), '[]')::text as all from ${name} t`,
    );
    await to.query(
      `insert into ${name} (${columns}) overriding system value
       select ${columns} from json_populate_recordset(null::${name}, $1::json)`,
      [rows[0]?.all],
    );
  }
  const { rows: sequences } = await from.query<{ name: string; last: string }>(
    `select sequencename as name, last_value as last from pg_sequences where schemaname = 'public' and last_value is not null`,
  );
  for (const { name, last } of sequences) await to.query('select setval($1::regclass, $2)', [name, last]);
  await to.query('set session_replication_role = origin');
}
