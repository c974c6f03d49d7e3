import type { Writable } from 'node:stream';
import { sql } from 'kysely';
import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { createSharedSlots } from '../http/shared-slots.ts';
import type { Tx } from './db.ts';
import { onConnection } from './transactions.ts';

/**
 * Large files into tables, by `COPY … FROM STDIN`: runs the work in one transaction, which may take as long as
 * whoever sends the file.
 *
 * @throws AppError 429 while a file of the same caller comes in, 503 while there is no connection for another.
 */
export type Load = <T>(caller: string, work: (tx: Tx, copyIn: CopyIn) => Promise<T>) => Promise<T>;

/** @param statement `copy … from stdin`. The stream takes its rows; its end is the end of the statement. */
export type CopyIn = (statement: string) => Writable;

export const MAX_LOADS = 2;
/** For the end of what came before it. */
export const COPY_WAIT_MS = 3_000;
/** Above the time that a file may take to come in. */
const LOAD_TIMEOUT_MS = 20 * 60_000;

/** @param running where the streams stand that a stop has to break off. */
export function createLoader(pool: pg.Pool, running: Set<Writable>): Load {
  const slots = createSharedSlots({
    what: 'uploads',
    slots: MAX_LOADS,
    mostPerCaller: 2,
    mostWaiting: 10,
    waitMs: COPY_WAIT_MS,
  });

  async function load<T>(caller: string, work: (tx: Tx, copyIn: CopyIn) => Promise<T>): Promise<T> {
    const leave = await slots.enter(caller);
    try {
      const client = await pool.connect();
      const copyIn = (statement: string) => {
        const rows = client.query(copyFrom(statement));
        running.add(rows);
        // The server's word on a COPY that was broken off comes after the pipeline has let go of it.
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
