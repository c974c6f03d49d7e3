import { type Dialect, Kysely, type KyselyPlugin, PostgresDialect, type Transaction } from 'kysely';
import pg from 'pg';
import type { TimeLimits } from '../time-limits.ts';
import { parseInt8 } from './int8.ts';
import { openPipelinedReads, type PipelinedReads } from './pipelined-reads.ts';
import { namingPool } from './prepared-statements.ts';
import type { DB } from './tables.ts';
import { followClock, type TestClock } from './test-clock.ts';
import { isoTimestamp } from './timestamps.ts';

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
  /** Whether to use named prepared statements, and reading lanes. */
  prepare: boolean;
  /**
   * Whether `connection` leads to a pooler in transaction mode. A pooler accepts no settings from clients, so the settings of the
   * role apply.
   */
  pooled?: boolean;
  /** The time that `business_now()` returns if TEST_CLOCK is on. If undefined, `business_now()` returns real time. */
  testClock?: TestClock | undefined;
  limits: TimeLimits;
  /** If the statements have another time limit than those of requests. */
  statementTimeoutMs?: number;
  /** Called when a connection breaks. The pool opens a new connection when it needs one. */
  onConnectionLost(error: Error): void;
  /** Called for each failed statement. */
  onStatementError?(error: unknown): void;
}

/** PostgreSQL settings that apply to every request. */
export function sessionTimeoutsMs({ statementMs, lockMs, idleInTransactionMs }: TimeLimits) {
  return {
    statement_timeout: statementMs,
    lock_timeout: lockMs,
    idle_in_transaction_session_timeout: idleInTransactionMs,
  };
}

/** PostgreSQL's ids of array types, which `pg.types.builtins` does not have. */
export const ARRAYS = { INT4: 1007, INT8: 1016, TEXT: 1009, DATE: 1182 } as const;
const parseTexts: (text: string) => (string | null)[] = pg.types.getTypeParser(ARRAYS.TEXT as number);

/** Reads an array in one dimension. One without quotes and nulls, such as the runs of an account, is split ten times as fast. */
function readArray<Value>(read: (text: string) => Value) {
  return (text: string): (Value | null)[] => {
    const isPlain =
      text.startsWith('{') && !text.includes('"') && !text.includes('N') && text.lastIndexOf('{') === 0;
    if (isPlain) return text === '{}' ? [] : text.slice(1, -1).split(',').map(read);
    return parseTexts(text).map((one) => {
      if (one !== null && typeof one !== 'string')
        throw new Error('An array with two dimensions cannot be read.');
      return one === null ? null : read(one);
    });
  };
}
const ARRAY_READERS = new Map<number, (text: string) => unknown>([
  [ARRAYS.INT4, readArray(Number)],
  [ARRAYS.INT8, readArray(parseInt8)],
  [ARRAYS.TEXT, readArray((text) => text)],
  [ARRAYS.DATE, readArray((text) => text)],
]);

/** Reads an int8 as an exact number, a date as text and a timestamptz as ISO 8601 in UTC, also in arrays. */
export const columnTypes: pg.CustomTypesConfig = {
  getTypeParser(oid, format) {
    if (oid === pg.types.builtins.INT8) return parseInt8;
    if (oid === pg.types.builtins.DATE) return (text: string) => text;
    if (oid === pg.types.builtins.TIMESTAMPTZ) return isoTimestamp;
    return ARRAY_READERS.get(oid) ?? pg.types.getTypeParser(oid, format);
  },
};

/** Kysely with the connection pool of requests. A statement outside a transaction uses any free connection of the pool. */
export class Database extends Kysely<DB> {
  readonly dialect: Dialect;
  readonly pool: pg.Pool;
  readonly limits: TimeLimits;
  /** Undefined if named statements are not used. */
  readonly lanes: PipelinedReads | undefined;
  /** The row readers of json-rows.ts. The key is the text `select … from …` of a list. */
  readonly rowReaders = new Map<string, Promise<(row: unknown) => unknown>>();

  constructor(
    dialect: Dialect,
    pool: pg.Pool,
    limits: TimeLimits,
    lanes?: PipelinedReads,
    plugins: KyselyPlugin[] = [],
  ) {
    super({ dialect, plugins });
    this.dialect = dialect;
    this.pool = pool;
    this.limits = limits;
    this.lanes = lanes;
  }

  override withPlugin(plugin: KyselyPlugin): Database {
    return new Database(this.dialect, this.pool, this.limits, this.lanes, [plugin]);
  }
}

interface PoolOptions extends pg.PoolConfig, Pick<DatabaseOptions, 'connection' | 'testClock'> {
  onConnectionLost(error: Error): void;
}

/** PostgreSQL would compile some statements of a page for a second, to save a few milliseconds. */
const WITHOUT_COMPILATION = { options: '-c jit=off' };

/** Opens a pool whose broken connections do not end the process. */
export function openPool({ connection, testClock, onConnectionLost, ...settings }: PoolOptions): pg.Pool {
  const pool = new pg.Pool({ ...addressOf(connection), ...WITHOUT_COMPILATION, ...settings });
  // Node.js ends the process at an `error` event without a listener.
  pool.on('error', onConnectionLost);
  pool.on('connect', (client) => client.on('error', onConnectionLost));
  if (testClock) followClock(pool, testClock);
  return pool;
}

function addressOf(connection: Connection): pg.ClientConfig {
  return typeof connection === 'string' ? { connectionString: connection } : connection;
}

export function openDatabase({
  connection,
  poolSize,
  prepare,
  pooled = false,
  testClock,
  limits,
  statementTimeoutMs = limits.statementMs,
  onConnectionLost,
  onStatementError = () => {},
}: DatabaseOptions) {
  const settings: pg.ClientConfig = {
    application_name: 'account-management-service',
    connectionTimeoutMillis: limits.connectMs,
    keepAlive: true,
    ...(pooled
      ? { options: undefined }
      : { ...sessionTimeoutsMs(limits), statement_timeout: statementTimeoutMs }),
    // A statement may first wait for an earlier statement of its connection, which waits for a lock. This wait is shorter than the
    // margin, so pg gives up only if the server no longer answers.
    query_timeout: statementTimeoutMs + limits.lockMs + 500,
    types: columnTypes,
    pipeline: true,
  };
  const pool = openPool({
    ...settings,
    ...{ connection, testClock, onConnectionLost },
    max: poolSize,
    idleTimeoutMillis: 30_000,
  });
  const lanes = prepare
    ? openPipelinedReads({ ...addressOf(connection), ...settings }, onConnectionLost)
    : undefined;
  const dialect = new PostgresDialect({ pool: namingPool(pool, prepare, onStatementError) });
  return {
    db: new Database(dialect, pool, limits, lanes),
    pool,
    close: async () => {
      await Promise.all([pool.end(), lanes?.close()]);
    },
  };
}
