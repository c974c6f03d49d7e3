import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { type DatabaseOptions, openPool } from '../../core/database/db.ts';
import { sqlState } from '../../core/database/postgres-errors.ts';
import { isUsable } from '../migrations/version-rules.ts';

/**
 * `other version`: the database answers, but lacks migrations of this version of the service, or has later ones with which this
 * version cannot work.
 */
export type DatabaseState = 'up' | 'other version' | 'down';

/** Checks PostgreSQL on a separate connection. */
export interface DatabaseProbe {
  /** `down` if there is no answer within `timeoutMs`. Concurrent callers share one query. */
  state(): Promise<DatabaseState>;
  close(): Promise<void>;
}

/** PostgreSQL's codes for a missing schema, table and function. */
const NOT_MIGRATED = new Set(['3F000', '42P01', '42883']);

interface ProbeOptions extends Pick<DatabaseOptions, 'connection' | 'onConnectionLost'> {
  /** The names of this version's migrations, in order. */
  migrations: readonly string[];
  /** The URL of the pooler for requests. If it accepts no connections, the state is `down`. */
  pooler?: string | undefined;
  timeoutMs: number;
}

/**
 * Uses a separate connection, because all connections of the request pool or the pooler may be busy while PostgreSQL is healthy.
 */
export function openDatabaseProbe({
  connection,
  migrations,
  pooler,
  timeoutMs,
  onConnectionLost,
}: ProbeOptions): DatabaseProbe {
  const pool = openPool({
    ...{ connection, onConnectionLost },
    application_name: 'account-management-service health',
    max: 1,
    connectionTimeoutMillis: timeoutMs,
    idleTimeoutMillis: 30_000,
    query_timeout: timeoutMs,
  });
  let asking: Promise<DatabaseState> | undefined;

  async function ask(): Promise<DatabaseState> {
    const [answer, poolerAnswers] = await Promise.all([
      readVersion(),
      pooler === undefined || acceptsConnections(pooler, timeoutMs),
    ]);
    return poolerAnswers ? answer : 'down';
  }

  async function readVersion(): Promise<DatabaseState> {
    let client: pg.PoolClient | undefined;
    try {
      client = await pool.connect();
      const { rows } = await client.query<{ applied: string[]; oldestUsable: string }>(
        `select array(select name from kysely_migration order by name)::text[] as applied,
          oldest_usable_migration() as "oldestUsable"`,
      );
      client.release();
      const [{ applied, oldestUsable } = { applied: [], oldestUsable: '' }] = rows;
      return isUsable(migrations, applied, oldestUsable) ? 'up' : 'other version';
    } catch (error) {
      client?.release(true); // The connection may still wait for its answer, so the next check opens another connection.
      return NOT_MIGRATED.has(sqlState(error) ?? '') ? 'other version' : 'down';
    }
  }

  function state(): Promise<DatabaseState> {
    asking ??= Promise.race([ask(), sleep(timeoutMs, 'down' as const, { ref: false })]).finally(() => {
      asking = undefined;
    });
    return asking;
  }

  return { state, close: () => pool.end() };
}

/** Whether the pooler accepts a client. For this the pooler needs no connection to PostgreSQL, so a busy pooler counts as up. */
async function acceptsConnections(url: string, timeoutMs: number): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: timeoutMs });
  client.on('error', () => {}); // `connect` reports the error.
  try {
    await client.connect();
    return true;
  } catch {
    return false; // The reason for the failure does not matter here.
  } finally {
    void client.end();
  }
}
