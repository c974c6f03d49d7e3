import { sql } from 'kysely';
import type pg from 'pg';
import { createSharedSlots } from '../http/shared-slots.ts';
import { type DatabaseOptions, openDatabase, type Tx } from './db.ts';
import { onConnection } from './transactions.ts';

/** A snapshot pool: a few separate connections for long consistent reads. */
export interface LongReads {
  /**
   * Runs the work on a snapshot of the database. Waits a few seconds for a free connection.
   * @param caller see `callerOf` in access.ts.
   * @throws an error that is answered as 429 if the caller has reached its limit, or as 503 if no connection is free in time or
   *   the work takes too long.
   */
  read<T>(caller: string, work: (tx: Tx) => Promise<T>): Promise<T>;
  /** Cancels running reads. */
  close(): Promise<void>;
}

interface LongReadOptions extends Pick<DatabaseOptions, 'connection' | 'onConnectionLost' | 'testClock'> {
  /** A plural noun for the reads, used in error messages. */
  what: string;
  /** The maximum number of reads at the same time. */
  connections: number;
  /** The longest time for the whole work. */
  timeoutMs: number;
}

const MAX_PER_CALLER = 4;
const MAX_WAITING = 50;
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
    maxPerCaller: MAX_PER_CALLER,
    maxWaiting: MAX_WAITING,
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
    const timer = setTimeout(() => cancel(client), timeoutMs);
    try {
      return await onConnection(client, async (tx) => {
        await sql`set transaction isolation level repeatable read, read only`.execute(tx);
        // Gives sums over all rows enough memory to sort and hash. JIT compilation takes more time than it saves.
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
    for (const client of working) cancel(client);
    await closePool();
  }

  return { read, close };
}

/** Closes the connection. The server ends the statement after its statement_timeout at the latest. */
function cancel(client: pg.PoolClient): void {
  client.connection.stream.destroy(); // `end` would wait for the answer.
}
