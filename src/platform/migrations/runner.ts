import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Db } from '../../core/database/db.ts';
import { sqlState } from '../../core/database/postgres-errors.ts';
import { type MigrationFile, readMigrationFiles } from './files.ts';
import { haveSameHistory, isUsable } from './version-rules.ts';

/**
 * The `lock_timeout` of a migration. While the migration waits for its lock, requests wait behind it. The time-out is shorter than
 * deadlock_timeout (1 s): if the migration and a request wait for each other, the migration fails first, and PostgreSQL never has
 * to cancel the request.
 */
const LOCK_TIMEOUT_MS = 500;
/** PostgreSQL's codes for a lock that was not available in time, and for a deadlock. */
const NOT_LOCKED = ['55P03', '40P01'];
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;

/** The database cannot be used with this version of the service. The operator sees the message as one line. */
export class MigrationError extends Error {}

interface MigrateOptions {
  /** The name of the last migration to apply. Default: all migrations are applied. */
  last?: string | undefined;
  /** Called before each pause, when a migration waits for a lock. */
  onWait?: (message: string) => void;
}

/**
 * Applies the missing migrations, each in its own transaction, so that a lock ends with the migration that needs it. A file that
 * starts with `-- Outside a transaction` runs without a transaction. The caller holds the preparation lock
 * (`withPreparationLock`), so that no other instance migrates at the same time.
 * @returns the names of the migrations that this call has applied.
 * @throws MigrationError if this version cannot work with the migrations of the database.
 */
export async function migrate(db: Db, { last, onWait = () => {} }: MigrateOptions = {}): Promise<string[]> {
  const files = await readMigrationFiles();
  const own = files.map(({ name }) => name);
  const applied = await readAppliedMigrations(db);
  if (!haveSameHistory(own, applied)) throw otherMigrations();
  if (applied.length > own.length && !isUsable(own, applied, await readOldestUsable(db)))
    throw otherMigrations();
  const missing = files.slice(applied.length).filter(({ name }) => last === undefined || name <= last);
  for (const file of missing) await apply(db, file, onWait);
  return missing.map(({ name }) => name);
}

async function readAppliedMigrations(db: Db): Promise<string[]> {
  const { rows: tables } =
    await sql`select from pg_tables where schemaname = current_schema() and tablename = 'kysely_migration'`.execute(
      db,
    );
  if (tables.length === 0) {
    await sql`create table kysely_migration (name text primary key, timestamp text not null)`.execute(db);
  }
  const { rows } = await sql<{ name: string }>`select name from kysely_migration order by name`.execute(db);
  return rows.map(({ name }) => name);
}

async function readOldestUsable(db: Db): Promise<string> {
  const { rows } = await sql<{ name: string }>`select oldest_usable_migration() as name`.execute(db);
  return rows[0]?.name ?? '';
}

function otherMigrations(): MigrationError {
  return new MigrationError(
    'A later version of the service has migrated this database, and this version cannot work with it. Install the later version, or restore the backup that was taken before the upgrade.',
  );
}

/** Applies a migration. If it does not get a lock in time, its transaction is rolled back and repeated after a pause. */
async function apply(db: Db, file: MigrationFile, onWait: (message: string) => void): Promise<void> {
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    try {
      return await (file.isTransaction ? applyInTransaction(db, file) : applyStatements(db, file));
    } catch (error) {
      if (!NOT_LOCKED.includes(sqlState(error) ?? '')) throw error;
    }
    onWait(
      `Migration ${file.name} did not get its locks and tries again in ${pauseMs / 1_000} s. ${await describeLongTransactions(db)}`,
    );
    await sleep(pauseMs);
  }
}

async function applyInTransaction(db: Db, { name, statements }: MigrationFile): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await sql.raw(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`).execute(tx);
    for (const statement of statements) await sql.raw(statement).execute(tx);
    await record(tx, name);
  });
}

/** Requests do not wait for a statement with `concurrently`. So its own wait for locks has no short time-out. */
async function applyStatements(db: Db, { name, statements }: MigrationFile): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
  await record(db, name);
}

async function record(db: Db, name: string): Promise<void> {
  await sql`insert into kysely_migration (name, timestamp) values (${name}, ${new Date().toISOString()})`.execute(
    db,
  );
}

/** The transactions that probably hold the locks. An ordinary user of the database does not see those of other users. */
async function describeLongTransactions(db: Db): Promise<string> {
  const { rows } = await sql<{ pid: number; name: string; seconds: number }>`
    select pid, application_name as name, extract(epoch from now() - xact_start)::integer as seconds
    from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid()
      and xact_start < now() - make_interval(secs => ${LOCK_TIMEOUT_MS / 1_000})
    order by xact_start limit 3`.execute(db);
  const found = rows.map(({ pid, name, seconds }) => `${pid} (${name || 'unnamed'}, ${seconds} s)`);
  return found.length === 0 ? '' : `The longest transactions have the process ids ${found.join(', ')}.`;
}
