import type { Readable, Writable } from 'node:stream';
import { sql } from 'kysely';
import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { createConcurrencyLimit } from '../concurrency-limit.ts';
import type { TimeLimits } from '../time-limits.ts';
import type { Tx } from './db.ts';
import { onConnection } from './transactions.ts';

/**
 * Loads large files into tables with `COPY … FROM STDIN`, in one transaction that lasts as long as the upload.
 * @throws AppError 429 or 503 like `ConcurrencyLimit.enter`.
 */
export type Load = <T>(caller: string, work: (tx: Tx, copyIn: CopyIn) => Promise<T>) => Promise<T>;

/** @param statement - a `copy … from stdin`. @returns a stream. Write the rows to the stream, and end it. */
export type CopyIn = (statement: string) => Writable;

export const MAX_LOADS = 3;
/** Longer than the longest allowed upload. */
const LOAD_TIMEOUT_MS = 20 * 60_000;

/** Runs a statement that cannot be part of a transaction, such as `create index concurrently`. */
export async function runAlone(pool: pg.Pool, statement: string): Promise<void> {
  const client = await pool.connect();
  try {
    // The statement can wait as long as an upload, because it waits for all transactions that have used the table.
    await client.query(`select set_config('lock_timeout', $1, false)`, [String(LOAD_TIMEOUT_MS)]);
    await client.query(statement);
  } finally {
    client.release(true); // Close the connection, because its lock_timeout was changed.
  }
}

/** @param running - a set that collects the streams to cancel when the service stops. */
export function createLoader(pool: pg.Pool, running: Set<Readable | Writable>, { slotMs }: TimeLimits): Load {
  const slots = createConcurrencyLimit({
    what: 'uploads',
    slots: MAX_LOADS,
    maxPerCaller: 2,
    maxWaiting: 10,
    waitMs: slotMs,
  });

  async function load<T>(caller: string, work: (tx: Tx, copyIn: CopyIn) => Promise<T>): Promise<T> {
    const leave = await slots.enter(caller);
    try {
      const client = await pool.connect();
      const copyIn = (statement: string) => {
        const rows = client.query(copyFrom(statement));
        running.add(rows);
        // After a cancelled COPY, the error of the server arrives late, when nothing else listens for errors.
        rows.on('error', () => {});
        return rows.once('close', () => running.delete(rows));
      };
      return await onConnection(client, async (tx) => {
        await sql`select set_config('statement_timeout', ${String(LOAD_TIMEOUT_MS)}, true)`.execute(tx);
        return work(tx, copyIn);
      });
    } finally {
      leave();
    }
  }

  return load;
}
