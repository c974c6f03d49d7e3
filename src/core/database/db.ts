import { setTimeout as delay } from 'node:timers/promises';
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  DummyDriver,
  Kysely,
  type KyselyPlugin,
  type PostgresCursor,
  PostgresDialect,
  type PostgresPoolClient,
  type PostgresQueryResult,
  type QueryExecutor,
  type RawBuilder,
  sql,
  Transaction,
} from 'kysely';
import pg from 'pg';
import { AppError, unavailable } from '../http/errors.ts';
import { parseInt8 } from './int8.ts';
import { type Line, type LookUps, openLookUps } from './look-ups.ts';
import { parseMoment } from './moment.ts';
import { isStale, nameStatements } from './named-statements.ts';
import type { DB } from './tables.ts';
import { followClock, type TestClock } from './test-clock.ts';

export type Db = Kysely<DB>;
/** A function that takes a Tx must run inside a transaction; a Db is not accepted. */
export type Tx = Transaction<DB>;

/** A connection string, or the settings of the embedded server. */
export type Connection =
  | string
  | { host: string; port: number; user: string; database: string; password?: string };

export interface DatabaseOptions {
  connection: Connection;
  poolSize: number;
  /** Named prepared statements, and look-ups that share connections. */
  prepare: boolean;
  /** Behind a pooler in transaction mode: it takes no time-outs from its clients, so that they are the role's. */
  pooled?: boolean;
  /** Dates rows with TEST_CLOCK=on; without it they have real time. */
  testClock?: TestClock | undefined;
  /** How long one statement may take: 5 s, but for connections that nothing else waits for. */
  statementTimeoutMs?: number;
  /** Called when an idle connection breaks; the pool opens another by itself. */
  onConnectionLost(error: Error): void;
}

/** What PostgreSQL holds every request to, by the names of its settings. */
export const SESSION_TIMEOUTS_MS = {
  statement_timeout: 5_000,
  lock_timeout: 3_000,
  idle_in_transaction_session_timeout: 10_000,
} as const;
/**
 * Above the server's own time-outs, also for a statement that was sent behind one that waits for a lock: it only ends
 * calls to a server that no longer answers.
 */
const QUERY_TIMEOUT_MARGIN_MS = SESSION_TIMEOUTS_MS.lock_timeout + 500;
const CONNECT_TIMEOUT_MS = 3_000;
const MOST_STALE_CONNECTIONS = 100;
/** Short, because the transaction may have used most of the time that a request has. */
const EXISTING_ID_TIMEOUT_MS = 1_000;

/** How columns come: int8 as an exact number, a date as its text, a moment as ISO 8601 in UTC. */
export const columnTypes: pg.CustomTypesConfig = {
  getTypeParser(oid, format) {
    if (oid === pg.types.builtins.INT8) return parseInt8;
    if (oid === pg.types.builtins.DATE) return (text: string) => text;
    if (oid === pg.types.builtins.TIMESTAMPTZ) return parseMoment;
    return pg.types.getTypeParser(oid, format);
  },
};

/** What requests work on: statements of their own take any free connection of the pool. */
export class Database extends Kysely<DB> {
  readonly dialect: Dialect;
  readonly pool: pg.Pool;
  /** Connections for quick reads that all requests share; undefined without named statements. */
  readonly lookUps: LookUps | undefined;
  /** Of each `select … from …` that lists have sent, how its rows are read from JSON. */
  readonly rowReaders = new Map<string, Promise<(row: unknown) => unknown>>();

  constructor(dialect: Dialect, pool: pg.Pool, lookUps?: LookUps, plugins: KyselyPlugin[] = []) {
    super({ dialect, plugins });
    this.dialect = dialect;
    this.pool = pool;
    this.lookUps = lookUps;
  }

  override withPlugin(plugin: KyselyPlugin): Database {
    return new Database(this.dialect, this.pool, this.lookUps, [plugin]);
  }
}

/**
 * A transaction whose statements are pipelined: each is sent at once, without waiting for the answers of those before
 * it, and they run in the order in which they were sent. `Promise.all` of several costs one round trip.
 */
class PipelinedTransaction extends Transaction<DB> {
  readonly database: Database;

  constructor(database: Database, executor: QueryExecutor, connection: DatabaseConnection) {
    const { dialect } = database;
    super({
      config: { dialect },
      dialect,
      driver: new DummyDriver(), // Of a transaction nothing asks for it.
      executor: executor.withConnectionProvider({ provideConnection: (use) => use(connection) }),
    });
    this.database = database;
  }
}

export function openDatabase(options: DatabaseOptions) {
  const target =
    typeof options.connection === 'string' ? { connectionString: options.connection } : options.connection;
  const statementTimeoutMs = options.statementTimeoutMs ?? SESSION_TIMEOUTS_MS.statement_timeout;
  const settings: pg.ClientConfig = {
    ...target,
    application_name: 'account-management-service',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    ...(!options.pooled && { ...SESSION_TIMEOUTS_MS, statement_timeout: statementTimeoutMs }),
    query_timeout: statementTimeoutMs + QUERY_TIMEOUT_MARGIN_MS,
    types: columnTypes,
    pipeline: true,
  };
  const pool = new pg.Pool({ ...settings, max: options.poolSize, idleTimeoutMillis: 30_000 });
  // Without these two listeners a restart of PostgreSQL would end the process: an `error` event
  // that nobody hears is thrown. A query in flight still rejects by itself.
  pool.on('error', options.onConnectionLost);
  pool.on('connect', (client) => client.on('error', options.onConnectionLost));
  if (options.testClock) followClock(pool, options.testClock);
  const lookUps = options.prepare ? openLookUps(settings, options.onConnectionLost) : undefined;
  const dialect = new PostgresDialect({ pool: guardedPool(pool, options.prepare) });
  return {
    db: new Database(dialect, pool, lookUps),
    pool,
    close: async () => {
      await Promise.all([pool.end(), lookUps?.close()]);
    },
  };
}

/**
 * Finds a few rows by their key, or in the order of an index. Outside a transaction the statement shares a connection
 * with those of other requests, so it must be one that is always quick; see look-ups.ts.
 *
 * @param text always the same for the same statement, with $1, $2 … for what varies.
 */
export async function lookUp<Row>(
  db: Db | Tx,
  text: string,
  values: readonly unknown[],
  line: Line = 'rows',
): Promise<Row[]> {
  if (db instanceof Database && db.lookUps) return db.lookUps.find<Row>(line, text, values);
  return run<Row>(db, text, values);
}

/**
 * Runs a statement of constant text. The query builder would assemble a long one at every call, for 0.1 ms.
 *
 * @param text with $1, $2 … for what varies.
 */
export async function run<Row>(db: Db | Tx, text: string, values: readonly unknown[]): Promise<Row[]> {
  return (await db.executeQuery<Row>(CompiledQuery.raw(text, [...values]))).rows;
}

/** The database behind a handle that is itself, or a transaction of `inTransaction` or `inSnapshot`. */
export function databaseOf(db: Db | Tx): Database {
  if (db instanceof Database) return db;
  if (db instanceof PipelinedTransaction) return db.database;
  throw new Error('Only a database of openDatabase, or a transaction on it, is known here.');
}

/** The answer to a commit was lost: the work may be done or not. Check before repeating it. */
class CommitUnknown extends Error {}

/** Whether it is certain that a failed transaction left no trace. */
export function changedNothing(error: unknown): boolean {
  return !(error instanceof CommitUnknown);
}

/**
 * Runs the work in one transaction and runs it again, at most three times, when it lost a race or
 * PostgreSQL broke a deadlock or a serialization cycle by undoing it; as often as there may be connections, when
 * their named statements have gone stale. Given a transaction, the work joins that one.
 *
 * @param startsWithReads that the work locks or reads before it writes. Its first statements are sent along with BEGIN, and
 *   would run without a transaction should BEGIN be cancelled.
 * @throws CommitUnknown when nobody can say whether the transaction was committed.
 */
export async function inTransaction<T>(
  db: Db | Tx,
  work: (tx: Tx) => Promise<T>,
  { startsWithReads = false }: { startsWithReads?: boolean } = {},
): Promise<T> {
  if (isTx(db)) return work(db); // part of a larger transaction, which is the one to be run again
  for (let attempt = 1; ; attempt++) {
    try {
      return await runOnce(databaseOf(db), BEGIN, work, startsWithReads);
    } catch (error) {
      if (attempt > (isStale(error) ? MOST_STALE_CONNECTIONS : 3) || !isRetryable(error)) {
        throw await withExistingId(db, error);
      }
      await delay(10 * attempt * (1 + Math.random()));
    }
  }
}

/**
 * Adds the id of the existing row to DUPLICATE_ENTRY. A failed transaction runs no further query, so this runs after it.
 * The refusal is certain without the id, so a failed or slow lookup only leaves the id out.
 */
async function withExistingId(db: Db, error: unknown): Promise<unknown> {
  if (!(error instanceof AppError) || !error.existing) return error;
  const lookup = error.existing.execute(db).then(
    ({ rows }) => rows[0]?.id,
    () => undefined,
  );
  const id = await Promise.race([lookup, delay(EXISTING_ID_TIMEOUT_MS, undefined, { ref: false })]);
  if (id !== undefined) error.details.id = id;
  return error;
}

const BEGIN = CompiledQuery.raw('begin');
const BEGIN_SNAPSHOT = CompiledQuery.raw('begin isolation level repeatable read read only');
const COMMIT = CompiledQuery.raw('commit');
const ROLLBACK = CompiledQuery.raw('rollback');
const IN_FAILED_TRANSACTION = '25P02';

function runOnce<T>(
  database: Database,
  begin: CompiledQuery,
  work: (tx: Tx) => Promise<T>,
  startsWithReads = false,
): Promise<T> {
  return database.connection().execute(async (reserved) => {
    const executor = reserved.getExecutor();
    const connection = await executor.provideConnection(async (held) => held);
    const begun = connection.executeQuery(begin);
    begun.catch(() => {}); // Awaited below, and by each statement.
    const pipeline = openPipeline(begun, connection);
    let result: T;
    try {
      if (!startsWithReads) await begun;
      result = await work(new PipelinedTransaction(database, executor, pipeline.connection));
      await begun;
    } catch (error) {
      pipeline.end();
      // It fails only with its connection, and the transaction ends with that.
      await connection.executeQuery(ROLLBACK).catch(() => {});
      throw error;
    }
    pipeline.end();
    try {
      await connection.executeQuery(COMMIT);
    } catch (error) {
      if (isRolledBack(error)) throw error;
      throw new CommitUnknown('the answer to a commit was lost', { cause: error });
    }
    return result;
  });
}

/**
 * Whether PostgreSQL itself refused a commit: for a constraint, or to break a cycle. Any other failure, such as that of a
 * pooler whose server is gone, leaves open what became of it.
 */
function isRolledBack(error: unknown): boolean {
  return ['23', '40'].includes(sqlState(error)?.slice(0, 2) ?? '');
}

/**
 * A connection for the statements of one transaction. Their answers all wait for that of BEGIN, and fail as it does. Where a
 * statement fails, those that were sent behind it fail with the same error: PostgreSQL says of them only that the
 * transaction is aborted. Once the transaction ends no further statement is sent.
 */
function openPipeline(begun: Promise<unknown>, connection: DatabaseConnection) {
  let failure: unknown;
  let hasEnded = false;
  async function send<R>(query: CompiledQuery) {
    if (hasEnded) throw new Error('The transaction has ended.');
    try {
      return await connection.executeQuery<R>(query);
    } catch (error) {
      failure ??= error;
      throw sqlState(error) === IN_FAILED_TRANSACTION ? failure : error;
    }
  }
  const pipelined: DatabaseConnection = {
    executeQuery: async <R>(query: CompiledQuery) => {
      const [answer] = await Promise.all([send<R>(query), begun]);
      return answer;
    },
    streamQuery: (query, chunkSize) => connection.streamQuery(query, chunkSize),
  };
  return {
    connection: pipelined,
    end: () => {
      hasEnded = true;
    },
  };
}

/**
 * Runs the work in one transaction on a connection of another pool, which is given back, or closed where its
 * transaction could not be ended.
 */
export async function onConnection<T>(client: pg.PoolClient, work: (tx: Tx) => Promise<T>): Promise<T> {
  const { query, release } = guardedClient(client, false);
  const pool = { connect: async () => ({ query, release: () => {} }), end: async () => {} };
  try {
    return await new Kysely<DB>({ dialect: new PostgresDialect({ pool }) }).transaction().execute(work);
  } finally {
    release();
  }
}

/** Runs the work with a shorter time-out for each of its statements than the connection has: see `isTimeout`. */
export function withTimeout<T>(db: Db, timeoutMs: number, work: (tx: Tx) => Promise<T>): Promise<T> {
  return runOnce(databaseOf(db), BEGIN, async (tx) => {
    await sql`select set_config('statement_timeout', ${String(timeoutMs)}, true)`.execute(tx);
    return work(tx);
  });
}

/** Whether PostgreSQL ended a statement because it took too long. */
export function isTimeout(error: unknown): boolean {
  return sqlState(error) === '57014';
}

/**
 * Reads that belong together: all see the database as it was at the first of them. Given a transaction, they join
 * it, and see what it has written.
 */
export async function inSnapshot<T>(db: Db | Tx, work: (tx: Tx) => Promise<T>): Promise<T> {
  if (isTx(db)) return work(db);
  return runOnce(databaseOf(db), BEGIN_SNAPSHOT, work, true);
}

const DELETED_AT_ONCE = 5_000;

/**
 * Deletes rows that nobody needs any more, so many a statement that none runs long or holds locks for long;
 * the number of them. Ends early, between two statements, when the signal says so.
 */
export async function deleteInBatches(
  db: Db,
  signal: AbortSignal,
  { table, where }: { table: keyof DB; where: RawBuilder<unknown> },
): Promise<number> {
  let deleted = 0;
  while (!signal.aborted) {
    const from = sql.table(table);
    const { numAffectedRows = 0n } = await sql`
      delete from ${from}
      where ctid = any(array(select ctid from ${from} where ${where} limit ${DELETED_AT_ONCE})) and ${where}`.execute(
      db,
    );
    deleted += Number(numAffectedRows);
    if (numAffectedRows < DELETED_AT_ONCE) break;
  }
  return deleted;
}

function isTx(db: Db | Tx): db is Tx {
  return db.isTransaction;
}

/** Another transaction was faster: run again, this one will see what the other did. */
export class LostRace extends Error {}

function isRetryable(error: unknown): boolean {
  const code = sqlState(error);
  return error instanceof LostRace || code === '40001' || code === '40P01' || isStale(error);
}

export function sqlState(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined;
}

/** The name of the unique constraint or index that refused a row, if that is what the error says. */
export function violatedUnique(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError && error.code === '23505' ? error.constraint : undefined;
}

export function violatedCheck(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError && error.code === '23514' ? error.constraint : undefined;
}

export function violatedForeignKey(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError && error.code === '23503' ? error.constraint : undefined;
}

// Server shutting down or starting, too many connections, disk full, time-outs of lock and statement.
const UNAVAILABLE_STATES = /^(08|53|57P|58)|^(40001|40P01|55P03|57014|25P03|25006)$/;
/**
 * A database, schema, table, column, type or function that does not exist: the database was not migrated, is being restored,
 * or is of another version. No request can cause it, because the names in statements do not come from requests.
 */
const NOT_MIGRATED_STATES = /^(3D000|3F000|42P01|42703|42704|42883)$/;
// A connection that cannot be made, or breaks. ENOENT is a socket's file that is missing, and only then.
const UNAVAILABLE_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENETDOWN',
  'ENOTFOUND',
  'EAI_AGAIN',
]);
// What pg and pg-pool say without a code.
const UNAVAILABLE_MESSAGES = new Set([
  'Connection terminated',
  'Connection terminated unexpectedly',
  'Connection terminated due to connection timeout',
  'timeout expired',
  'timeout exceeded when trying to connect',
  'Query read timeout',
  'Client has encountered a connection error and is not queryable',
  'Client was closed and is not queryable',
  'Cannot use a pool after calling end on the pool',
]);

/** Turns "the database cannot be reached, is not migrated or did not answer in time" into a 503; others pass through. */
export function asUnavailable(error: unknown): AppError | undefined {
  if (error instanceof AppError) return error;
  if (error instanceof LostRace || isStale(error)) return unavailable(error, 1);
  if (error instanceof CommitUnknown) return unavailable(error);
  const state = sqlState(error);
  if (state !== undefined) {
    return UNAVAILABLE_STATES.test(state) || NOT_MIGRATED_STATES.test(state) ? unavailable(error) : undefined;
  }
  return isLostConnection(error) ? unavailable(error) : undefined;
}

function isLostConnection(error: unknown): boolean {
  // One failure for each address that a host name has.
  if (error instanceof AggregateError) return error.errors.length > 0 && error.errors.every(isLostConnection);
  if (!(error instanceof Error)) return false;
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (code === undefined) return UNAVAILABLE_MESSAGES.has(error.message);
  return UNAVAILABLE_CODES.has(code) || (code === 'ENOENT' && syscall === 'connect');
}

/**
 * What Kysely sees of the pool. Each statement text gets a name, so that PostgreSQL parses and plans
 * it once a connection. A connection whose statement failed on our side (a read time-out, a broken
 * socket) may still be busy with it or inside a transaction, so it is closed instead of used again.
 */
function guardedPool(pool: pg.Pool, prepare: boolean) {
  const guarded = new WeakMap<pg.PoolClient, PostgresPoolClient>();
  return {
    end: () => pool.end(),
    async connect() {
      const client = await pool.connect();
      const known = guarded.get(client) ?? guardedClient(client, prepare);
      guarded.set(client, known);
      return known;
    },
  };
}

function guardedClient(client: pg.PoolClient, prepare: boolean): PostgresPoolClient {
  const nameOf = nameStatements('s');
  let broken = false;

  function query<R>(text: string, values: readonly unknown[]): Promise<PostgresQueryResult<R>>;
  function query<R>(cursor: PostgresCursor<R>): PostgresCursor<R>;
  function query(text: unknown, values: readonly unknown[] = []): unknown {
    if (typeof text !== 'string') throw new TypeError('Cursors are not used here.');
    // A query may have all its values written out; what only begins or ends a transaction is planned by nobody.
    const isPlanned = values.length > 0 || text.startsWith('select ');
    const name = prepare && isPlanned && !text.includes(UNNAMED) ? nameOf(text) : undefined;
    return client.query({ text, values: [...values], ...(name && { name }) }).catch((error: unknown) => {
      broken ||= !(error instanceof pg.DatabaseError) || isStale(error);
      throw error;
    });
  }

  return { query, release: () => client.release(broken) };
}

/**
 * A comment that keeps a statement unnamed. Lists carry it: a generic plan for a filter whose values
 * are unevenly spread can be a hundred times slower than one made for the value at hand.
 */
export const UNNAMED = '/* unnamed */';
