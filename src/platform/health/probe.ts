import pg from 'pg';
import type { DatabaseOptions } from '../../core/database/db.ts';
import { sqlState } from '../../core/database/postgres-errors.ts';

/** `other version`: it answers, but has fewer or other migrations than this version of the service, or none. */
export type DatabaseState = 'up' | 'other version' | 'down';

/** Asks PostgreSQL on a connection that no request ever waits for. */
export interface DatabaseProbe {
  /** `down` without an answer within two seconds. However many ask at once, PostgreSQL is asked once. */
  state(): Promise<DatabaseState>;
  close(): Promise<void>;
}

const TIMEOUT_MS = 2_000;
/** PostgreSQL's codes for a schema and a table that do not exist. */
const NOT_MIGRATED = new Set(['3F000', '42P01']);

interface ProbeOptions extends Pick<DatabaseOptions, 'connection' | 'onConnectionLost'> {
  /** The names of this version's migrations, in order. */
  migrations: readonly string[];
  /** The address of the pooler that requests go through, which has to take connections, too. */
  pooler?: string | undefined;
}

/**
 * The service's own pool would not do: it may be busy to the last connection while PostgreSQL is well. Neither would
 * a question through the pooler, for the same reason.
 */
export function openDatabaseProbe({
  connection,
  migrations,
  pooler,
  onConnectionLost,
}: ProbeOptions): DatabaseProbe {
  const target = typeof connection === 'string' ? { connectionString: connection } : connection;
  const pool = new pg.Pool({
    ...target,
    application_name: 'account-management-service health',
    max: 1,
    connectionTimeoutMillis: TIMEOUT_MS,
    idleTimeoutMillis: 30_000,
    query_timeout: TIMEOUT_MS,
  });
  // An `error` event that nobody hears would end the process.
  pool.on('error', onConnectionLost);
  pool.on('connect', (client) => client.on('error', onConnectionLost));
  let asking: Promise<DatabaseState> | undefined;

  async function ask(): Promise<DatabaseState> {
    const [answer, poolerTakesUs] = await Promise.all([
      readVersion(),
      pooler === undefined || takesConnections(pooler),
    ]);
    return poolerTakesUs ? answer : 'down';
  }

  /** The table has a row for each migration, so reading all of it costs no more than any other question. */
  async function readVersion(): Promise<DatabaseState> {
    let client: pg.PoolClient | undefined;
    try {
      client = await pool.connect();
      const { rows } = await client.query<{ name: string }>(
        'select name from kysely_migration order by name',
      );
      client.release();
      const isThisVersion = rows.map(({ name }) => name).join() === migrations.join();
      return isThisVersion ? 'up' : 'other version';
    } catch (error) {
      client?.release(true); // It may still wait for the answer, so the next question needs another.
      return NOT_MIGRATED.has(sqlState(error) ?? '') ? 'other version' : 'down';
    }
  }

  function state(): Promise<DatabaseState> {
    asking ??= within(TIMEOUT_MS, ask()).finally(() => {
      asking = undefined;
    });
    return asking;
  }

  return { state, close: () => pool.end() };
}

/** A pooler lets a client in before it has a connection of PostgreSQL to give. */
async function takesConnections(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: TIMEOUT_MS });
  client.on('error', () => {}); // Told to `connect`, too.
  try {
    await client.connect();
    return true;
  } catch {
    return false; // Which way it fails does not matter to the question.
  } finally {
    void client.end();
  }
}

async function within(timeoutMs: number, answer: Promise<DatabaseState>): Promise<DatabaseState> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<DatabaseState>((resolve) => {
    timer = setTimeout(resolve, timeoutMs, 'down');
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}
