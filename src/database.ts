import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Kysely, type Migration, Migrator, PostgresDialect, sql } from 'kysely';
import pg from 'pg';
import type { Config } from './config.ts';
import type { Currency } from './core/context.ts';
import type { Connection, Db, Tx } from './core/db.ts';
import { currencyDecimals } from './core/money.ts';
import type { DB } from './core/tables.ts';
import { addDemoCatalogue } from './demo.ts';

const MIGRATIONS = join(import.meta.dirname, '..', 'migrations');
const OLDEST_SERVER_VERSION = 150_000;
/** Any number that no other program uses on the same database. */
const PREPARATION_LOCK = 7_203_160_418;

export interface Preparation {
  migrations: string[];
  /** True when this call found a database without books and set them up. */
  isNew: boolean;
}

/** A mistake of the operator's, told in one line. */
export class PreparationError extends Error {}

/**
 * Brings the database to the state that this version needs: migrations, the books' currency and, in a
 * new one outside production, the demo catalogue. Instances that start at once do this one by one.
 */
export async function prepareDatabase(
  connection: Connection,
  config: Config,
  currency: Currency,
): Promise<Preparation> {
  return whileNobodyPrepares(connection, async (db) => {
    const migrations = await migrate(db);
    const isNew = await db.transaction().execute((tx) => openBooks(tx, config, currency));
    return { migrations, isNew };
  });
}

/** Works on the database alone but for instances that run already: those that start meanwhile wait. */
export async function whileNobodyPrepares<T>(
  connection: Connection,
  work: (db: Kysely<DB>, client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  const target = typeof connection === 'string' ? { connectionString: connection } : connection;
  const pool = new pg.Pool({ ...target, max: 2, connectionTimeoutMillis: 10_000 });
  pool.on('error', () => {}); // An idle connection that breaks here is reported by the next query.
  const db = new Kysely<DB>({ dialect: new PostgresDialect({ pool }) });
  const lock = await pool.connect().catch((error: unknown) => {
    throw typeof connection === 'string' ? cannotConnect(error) : error;
  });
  try {
    await checkServerVersion(lock);
    await lock.query('select pg_advisory_lock($1)', [PREPARATION_LOCK]);
    return await work(db, lock);
  } finally {
    lock.release(true); // Closing the connection gives the lock back, whatever happened.
    await db.destroy();
  }
}

/** The secret that signs access tokens: the configured one, or one made once for this database. */
export async function getJwtSecret(db: Db, config: Config): Promise<string> {
  if (config.JWT_SECRET !== '') return config.JWT_SECRET;
  await db
    .insertInto('settings')
    .values({ key: 'jwt_secret', value: randomBytes(48).toString('base64url') })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const row = await db
    .selectFrom('settings')
    .select('value')
    .where('key', '=', 'jwt_secret')
    .executeTakeFirstOrThrow();
  return row.value;
}

/** Server, database, user and password all come from DATABASE_URL, so the operator can put it right there. */
function cannotConnect(cause: unknown): PreparationError {
  const causes = cause instanceof AggregateError ? cause.errors : [cause];
  const reasons = causes.map((each) => (each instanceof Error ? each.message : String(each)));
  return new PreparationError(`The database of DATABASE_URL cannot be reached: ${reasons.join('; ')}.`, {
    cause,
  });
}

async function checkServerVersion(client: pg.PoolClient): Promise<void> {
  const { rows } = await client.query<{ version: number }>(
    `select current_setting('server_version_num')::int as version`,
  );
  if ((rows[0]?.version ?? 0) < OLDEST_SERVER_VERSION) {
    throw new PreparationError(
      'DATABASE_URL leads to a PostgreSQL older than 15; this service needs 15 or newer.',
    );
  }
}

/** @param last the migration to stop after; default: all are applied. @returns the names of those applied. */
export async function migrate(db: Kysely<DB>, last?: string): Promise<string[]> {
  const migrator = new Migrator({ db, provider: { getMigrations: readMigrations } });
  const { error, results } = await (last === undefined
    ? migrator.migrateToLatest()
    : migrator.migrateTo(last));
  if (error) throw error;
  return (results ?? []).map((result) => result.migrationName);
}

export async function readMigrations(): Promise<Record<string, Migration>> {
  const files = (await readdir(MIGRATIONS)).filter((file) => file.endsWith('.sql'));
  const entries = files.map(async (file) => {
    const text = await readFile(join(MIGRATIONS, file), 'utf8');
    return [
      file.replace('.sql', ''),
      { up: async (db: Kysely<unknown>) => void (await sql.raw(text).execute(db)) },
    ];
  });
  return Object.fromEntries(await Promise.all(entries));
}

/** Fixes the currency of a database without books; of one with books, checks it. */
async function openBooks(tx: Tx, config: Config, { code, decimals }: Currency): Promise<boolean> {
  const value = `${code} with ${decimals} decimals`;
  const opened = await tx
    .insertInto('settings')
    .values({ key: 'currency', value })
    .onConflict((conflict) => conflict.doNothing())
    .returning('key')
    .executeTakeFirst();
  if (opened) {
    if (!config.production && config.DEMO_DATA === 'on') await addDemoCatalogue(tx, decimals);
    return true;
  }
  const kept = await tx
    .selectFrom('settings')
    .select('value')
    .where('key', '=', 'currency')
    .executeTakeFirstOrThrow();
  if (kept.value !== value) {
    throw new PreparationError(
      `CURRENCY does not fit this database: its books are in ${kept.value}, not in ${value}.`,
    );
  }
  return false;
}

export function currencyOf(config: Config): Currency {
  return { code: config.CURRENCY, decimals: currencyDecimals(config.CURRENCY) };
}
