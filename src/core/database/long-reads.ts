import { sql } from 'kysely';
import type pg from 'pg';
import { createSharedSlots } from '../http/shared-slots.ts';
import { type DatabaseOptions, openDatabase, type Tx } from './db.ts';
import { onConnection } from './transactions.ts';

/** Reads of a large part of the database, a few at a time, on connections that nothing else waits for. */
export interface LongReads {
  /**
   * Does the work on a snapshot of the database. Where as many run as may, it waits for its turn a few seconds.
   * @param caller see `callerOf` in gate.ts.
   * @throws what is answered as 429 where the caller has as many of them as it may, and as 503 where its turn does not
   *   come or it takes too long.
   */
  read<T>(caller: string, work: (tx: Tx) => Promise<T>): Promise<T>;
  /** Breaks off what is running. */
  close(): Promise<void>;
}

interface LongReadOptions extends Pick<DatabaseOptions, 'connection' | 'onConnectionLost' | 'testClock'> {
  /** What is read, in the plural. */
  what: string;
  /** How many may run at once. */
  connections: number;
  /** How long the work may take in all. */
  timeoutMs: number;
}

const MOST_PER_CALLER = 4;
const MOST_WAITING = 50;
const WAIT_MS = 3_000;

export function openLongReads({ what, connections, timeoutMs, ...options }: LongReadOptions): LongReads {
  const { pool, close: closePool } = openDatabase({
    ...options,
    poolSize: connections,
    prepare: false,
    statementTimeoutMs: timeoutMs,
  });
  const slots = createSharedSlots({
    what,
    slots: connections,
    mostPerCaller: MOST_PER_CALLER,
    mostWaiting: MOST_WAITING,
    waitMs: WAIT_MS,
  });
  const working = new Set<pg.PoolClient>();

  async function read<T>(caller: string, work: (tx: Tx) => Promise<T>): Promise<T> {
    const leave = await slots.enter(caller);
    try {
      return await readNow(work);
    } finally {
      leave();
    }
  }

  async function readNow<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    const client = await pool.connect();
    working.add(client);
    const timer = setTimeout(() => breakOff(client), timeoutMs);
    try {
      return await onConnection(client, async (tx) => {
        await sql`set transaction isolation level repeatable read, read only`.execute(tx);
        // Sums over all rows may sort and hash in memory; compiling them takes longer than it gains.
        await sql`set local work_mem = '64MB'`.execute(tx);
        await sql`set local jit = off`.execute(tx);
        return work(tx);
      });
    } finally {
      clearTimeout(timer);
      working.delete(client);
    }
  }

  async function close(): Promise<void> {
    slots.close();
    for (const client of working) breakOff(client);
    await closePool();
  }

  return { read, close };
}

/** Cuts the connection; what the server still does then ends with its statement_timeout at the latest. */
function breakOff(client: pg.PoolClient): void {
  client.connection.stream.destroy(); // `end` would wait for the answer.
}
