import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Kysely, PostgresDialect, sql } from 'kysely';
import pg from 'pg';
import type { Config, Currency } from '../core/context.ts';
import { type Connection, type Db, openPool, sessionTimeoutsMs, type Tx } from '../core/database/db.ts';
import { sqlState } from '../core/database/postgres-errors.ts';
import type { DB } from '../core/database/tables.ts';
import { TIME_LIMITS } from '../core/time-limits.ts';
import { currencyDecimals } from '../core/values/money.ts';
import { installJobQueue } from '../platform/jobs/queue.ts';
import { migrate } from '../platform/migrations/runner.ts';
import { addDemoCatalogue } from './demo-catalogue.ts';

const OLDEST_SERVER_VERSION = 150_000;
/** A random number, so that no other program uses the same lock in this database. */
const PREPARATION_LOCK = 7_203_160_418;
const LOCK_POLL_MS = 100;
/**
 * Longer than any migration and any wait for a migration. The time-outs of the role are meant for requests, so they can be too
 * short here.
 */
const PREPARATION_TIMEOUT_MS = 24 * 3_600_000;
const CONNECT_TIMEOUT_MS = 10_000;
/** The SQLSTATE of an argument that a function refuses, such as the name of an unknown time zone. */
const INVALID_PARAMETER_VALUE = '22023';

export interface Preparation {
  migrations: string[];
  /** Whether this call set up the books in a new database. */
  isNew: boolean;
}

/** An error that the operator can correct. The operator sees only its message. */
export class PreparationError extends Error {}

interface PrepareOptions {
  /** The URL of the pooler that requests use for the same database. It is checked before the database is changed. */
  pooler?: string | undefined;
  /** Called when a migration waits for a lock. */
  warn?: (message: string) => void;
}

/**
 * Prepares the database for this version: migrations, the job queue, the currency and, for a new database outside production with
 * DEMO_DATA=on, the demo catalogue. Instances that start at the same time do this one after another.
 */
export async function prepareDatabase(
  connection: Connection,
  config: Config,
  currency: Currency,
  { pooler, warn = () => {} }: PrepareOptions = {},
): Promise<Preparation> {
  return withPreparationLock(connection, config, async (db, _client, pool) => {
    if (pooler !== undefined) await checkPooler(pooler);
    await checkTimeZone(db, config.BUSINESS_TIMEZONE);
    const migrations = await migrate(db, { onWait: warn });
    await installJobQueue(pool);
    const isNew = await db.transaction().execute((tx) => openBooks(tx, config, currency));
    return { migrations, isNew };
  });
}

/** Checks that PostgreSQL knows the time zone. Node.js and PostgreSQL, which both use it, have different lists of time zones. */
async function checkTimeZone(db: Kysely<DB>, name: string): Promise<void> {
  try {
    await sql`select timestamptz 'epoch' at time zone ${name}`.execute(db);
  } catch (cause) {
    if (sqlState(cause) !== INVALID_PARAMETER_VALUE) throw cause;
    throw new PreparationError(
      'BUSINESS_TIMEZONE is unknown to PostgreSQL. Use the current IANA name, such as Africa/Nairobi.',
      { cause },
    );
  }
}

/** Runs the work under a lock. Instances that start wait for this lock. Instances that already serve requests do not wait. */
export async function withPreparationLock<T>(
  connection: Connection,
  config: Config,
  work: (db: Kysely<DB>, client: pg.PoolClient, pool: pg.Pool) => Promise<T>,
): Promise<T> {
  const { pool, client, close } = await connectDirectly(connection, config);
  const db = new Kysely<DB>({ dialect: new PostgresDialect({ pool }) });
  try {
    // Polls, because a statement that waits for the lock has a snapshot. A `create index concurrently` of the instance that holds
    // the lock would wait for the end of this snapshot, and neither instance could continue.
    while (!(await tryLock(client))) await sleep(LOCK_POLL_MS);
    return await work(db, client, pool);
  } finally {
    await close(); // This also releases the lock.
  }
}

async function tryLock(client: pg.PoolClient): Promise<boolean> {
  const { rows } = await client.query<{ isLocked: boolean }>(
    'select pg_try_advisory_lock($1) as "isLocked"',
    [PREPARATION_LOCK],
  );
  return rows[0]?.isLocked ?? false;
}

/**
 * Opens a connection that has its own session, in a pool of two connections.
 * @throws PreparationError if the server cannot be reached, is older than PostgreSQL 15, or is a pooler, or if the database has
 * partitions.
 */
export async function connectDirectly(connection: Connection, config: Config) {
  const pool = openPool({
    connection,
    onConnectionLost: () => {}, // The current or next query on the connection reports the error.
    max: 2,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: PREPARATION_TIMEOUT_MS,
    lock_timeout: PREPARATION_TIMEOUT_MS,
    idle_in_transaction_session_timeout: PREPARATION_TIMEOUT_MS,
  });
  const variable = config.pooled ? 'DATABASE_DIRECT_URL' : 'DATABASE_URL';
  const client = await pool.connect().catch((error: unknown) => {
    throw typeof connection === 'string' ? connectionError(error, variable) : error;
  });
  async function close(): Promise<void> {
    client.release(true);
    await pool.end();
  }
  try {
    await checkServer(client, variable);
    await refusePartitions(client);
    return { pool, client, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The secret that signs access tokens, from the configuration or generated once for this database. */
export async function getJwtSecret(db: Db, config: Config): Promise<string> {
  if (config.JWT_SECRET !== '') return config.JWT_SECRET;
  return (await storeOnce(db, 'jwt_secret', randomBytes(48).toString('base64url'))).value;
}

/** Stores a value in the table `settings` if the key has no value. @returns the stored value, and whether it is new. */
async function storeOnce(db: Db, key: string, value: string): Promise<{ value: string; isNew: boolean }> {
  const inserted = await db
    .insertInto('settings')
    .values({ key, value })
    .onConflict((conflict) => conflict.doNothing())
    .returning('value')
    .executeTakeFirst();
  if (inserted) return { value, isNew: true };
  const kept = await db
    .selectFrom('settings')
    .select('value')
    .where('key', '=', key)
    .executeTakeFirstOrThrow();
  return { value: kept.value, isNew: false };
}

type AddressVariable = 'DATABASE_URL' | 'DATABASE_DIRECT_URL';

/**
 * The error for a failed connection. It names the variable in which the operator can correct server, database, user and password.
 */
function connectionError(cause: unknown, variable: AddressVariable): PreparationError {
  const causes = cause instanceof AggregateError ? cause.errors : [cause];
  const reasons = causes.map((each) => (each instanceof Error ? each.message : String(each)));
  // A pooler refuses time-outs as startup parameters.
  if (reasons.some((reason) => /startup parameter/i.test(reason))) return poolerError(variable, cause);
  return new PreparationError(`The database of ${variable} cannot be reached: ${reasons.join('; ')}.`, {
    cause,
  });
}

function poolerError(variable: AddressVariable, cause?: unknown): PreparationError {
  return new PreparationError(
    `${variable} is the address of a pooler. A pooler supports neither sessions nor time-outs. Set DATABASE_DIRECT_URL to the address of PostgreSQL, and DATABASE_URL to the address of the pooler.`,
    { cause },
  );
}

async function checkServer(client: pg.PoolClient, variable: AddressVariable): Promise<void> {
  const { rows } = await client.query<{ version: number; timeoutMs: number }>(
    `select current_setting('server_version_num')::int as version, setting::int as "timeoutMs"
     from pg_settings where name = 'statement_timeout'`,
  );
  if ((rows[0]?.version ?? 0) < OLDEST_SERVER_VERSION) {
    throw new PreparationError(
      `${variable} is the address of a PostgreSQL older than 15; this service needs 15 or newer.`,
    );
  }
  // Some poolers ignore time-outs in startup parameters instead of refusing them.
  if (rows[0]?.timeoutMs !== PREPARATION_TIMEOUT_MS) throw poolerError(variable);
}

/** Version 0.1.0 had a command that divided these tables. Migrations and backups of later versions need plain tables. */
async function refusePartitions(client: pg.PoolClient): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `select relname as name from pg_class
     where relkind = 'p' and oid in (to_regclass('audit_entries'), to_regclass('ledger_entries')) order by 1`,
  );
  if (rows.length > 0) {
    throw new PreparationError(
      `This version does not support the partitions of ${rows.map(({ name }) => name).join(' and ')}. Install version 0.1.0, run \`npm run partition -- --revert\`, and then install this version again.`,
    );
  }
}

/**
 * Checks that connections through the pooler have time-outs, and lead to the database that is being prepared. In that database,
 * the preparation lock is not free, because this process holds it.
 */
async function checkPooler(url: string): Promise<void> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: CONNECT_TIMEOUT_MS,
  });
  client.on('error', () => {}); // The query reports the error.
  try {
    await client.connect();
    const { rows } = await client.query<{ isFree: boolean; role: string; timeouts: Record<string, number> }>(
      `select pg_try_advisory_xact_lock($1) as "isFree", quote_ident(current_user) as role,
         (select json_object_agg(name, setting::int) from pg_settings where name = any ($2)) as timeouts`,
      [PREPARATION_LOCK, Object.keys(sessionTimeoutsMs(TIME_LIMITS))],
    );
    const { isFree = true, role = '', timeouts = {} } = rows[0] ?? {};
    if (isFree) {
      throw new PreparationError(
        'DATABASE_URL and DATABASE_DIRECT_URL must be addresses of the same database.',
      );
    }
    const statements = missingTimeouts(role, timeouts);
    if (statements.length > 0) {
      throw new PreparationError(
        `The PostgreSQL role that DATABASE_URL uses through the pooler has no time-outs, or longer ones than the service needs. Run: ${statements.join(' ')} Then make the pooler open new connections (RECONNECT in the console of PgBouncer).`,
      );
    }
  } catch (error) {
    throw error instanceof PreparationError ? error : connectionError(error, 'DATABASE_URL');
  } finally {
    await client.end();
  }
}

/** The statements that set the missing time-outs of the role, and shorten those that are too long. 0 means no time-out. */
function missingTimeouts(role: string, timeouts: Readonly<Record<string, number>>): string[] {
  return Object.entries(sessionTimeoutsMs(TIME_LIMITS)).flatMap(([name, longestMs]) => {
    const { [name]: foundMs = 0 } = timeouts;
    if (foundMs > 0 && foundMs <= longestMs) return [];
    return [`alter role ${role} set ${name} = '${longestMs / 1_000}s';`];
  });
}

/** In a new database, stores the currency and, if wanted, adds the demo catalogue. In an existing one, checks the currency. */
async function openBooks(tx: Tx, config: Config, { code, decimals }: Currency): Promise<boolean> {
  const wanted = `${code} with ${decimals} decimals`;
  const { value, isNew } = await storeOnce(tx, 'currency', wanted);
  if (value !== wanted) {
    throw new PreparationError(
      `CURRENCY does not match this database: its books are in ${value}, not in ${wanted}.`,
    );
  }
  if (isNew && !config.production && config.DEMO_DATA === 'on') await addDemoCatalogue(tx, decimals);
  return isNew;
}

export function currencyOf(config: Config): Currency {
  return { code: config.CURRENCY, decimals: currencyDecimals(config.CURRENCY) };
}
