import pg from 'pg';
import type { DatabaseOptions } from '../core/db.ts';

/** Asks whether PostgreSQL answers, on a connection that no request ever waits for. */
export interface DatabaseProbe {
  /** False where it does not say so within two seconds. However many ask at once, PostgreSQL is asked once. */
  isUp(): Promise<boolean>;
  close(): Promise<void>;
}

const TIMEOUT_MS = 2_000;

interface ProbeOptions extends Pick<DatabaseOptions, 'connection' | 'onConnectionLost'> {
  /** The address of the pooler that requests go through, which has to take connections, too. */
  pooler?: string | undefined;
}

/**
 * The service's own pool would not do: it may be busy to the last connection while PostgreSQL is well. Neither would
 * a question through the pooler, for the same reason.
 */
export function openDatabaseProbe({ connection, pooler, onConnectionLost }: ProbeOptions): DatabaseProbe {
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
  let asking: Promise<boolean> | undefined;

  async function ask(): Promise<boolean> {
    const answers = await Promise.all([answersQuestions(), pooler === undefined || takesConnections(pooler)]);
    return answers.every((answer) => answer);
  }

  async function answersQuestions(): Promise<boolean> {
    let client: pg.PoolClient | undefined;
    try {
      client = await pool.connect();
      await client.query('select 1');
      client.release();
      return true;
    } catch {
      client?.release(true); // It may still wait for the answer, so the next question needs another.
      return false; // Which way it fails does not matter to the question.
    }
  }

  function isUp(): Promise<boolean> {
    asking ??= within(TIMEOUT_MS, ask()).finally(() => {
      asking = undefined;
    });
    return asking;
  }

  return { isUp, close: () => pool.end() };
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

async function within(timeoutMs: number, answer: Promise<boolean>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(resolve, timeoutMs, false);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}
