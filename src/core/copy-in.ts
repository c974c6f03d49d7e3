import type { Writable } from 'node:stream';
import { sql } from 'kysely';
import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { onConnection, type Tx } from './db.ts';
import { busy } from './errors.ts';

/**
 * Large files into tables, by `COPY … FROM STDIN`: runs the work in one transaction, which may take as long as
 * whoever sends the file.
 *
 * @throws AppError 503 while as many files come in as there are connections for them.
 */
export type Load = <T>(work: (tx: Tx, copyIn: CopyIn) => Promise<T>) => Promise<T>;

/** @param statement `copy … from stdin`. The stream takes its rows; its end is the end of the statement. */
export type CopyIn = (statement: string) => Writable;

export const MAX_LOADS = 2;
/** Above the time that a file may take to come in. */
const LOAD_TIMEOUT_MS = 20 * 60_000;

/** @param running where the streams stand that a stop has to break off. */
export function createLoader(pool: pg.Pool, running: Set<Writable>): Load {
  let loads = 0;

  async function load<T>(work: (tx: Tx, copyIn: CopyIn) => Promise<T>): Promise<T> {
    if (loads >= MAX_LOADS) throw busy(MAX_LOADS, 'uploads');
    loads += 1;
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
      loads -= 1;
    }
  }

  return load;
}
