import { CompiledQuery, type RawBuilder, sql } from 'kysely';
import { Database, type Db, type Tx } from './db.ts';
import type { Lane } from './reading-lanes.ts';
import type { DB } from './tables.ts';

/**
 * Finds a few rows by their key or in the order of an index. Outside a transaction, statements of other requests wait for this
 * statement, so it must always be quick; see reading-lanes.ts.
 * @param text a constant text with the parameters $1, $2, …
 */
export async function lookUp<Row>(
  db: Db | Tx,
  text: string,
  values: readonly unknown[],
  lane: Lane = 'rows',
): Promise<Row[]> {
  if (db instanceof Database && db.lanes) return db.lanes.find<Row>(lane, text, values);
  return run<Row>(db, text, values);
}

/**
 * Runs a statement of constant text. The query builder would need 0.1 ms at every call to assemble a long statement.
 *
 * @param text the statement with the parameters $1, $2, …
 */
export async function run<Row>(db: Db | Tx, text: string, values: readonly unknown[]): Promise<Row[]> {
  return (await db.executeQuery<Row>(CompiledQuery.raw(text, [...values]))).rows;
}

const DELETE_BATCH = 5_000;

/**
 * Deletes rows in batches, so that no statement runs long or holds locks for long. Stops between two batches when the
 * signal aborts.
 * @returns the number of deleted rows.
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
      where ctid = any(array(select ctid from ${from} where ${where} limit ${DELETE_BATCH})) and ${where}`.execute(
      db,
    );
    deleted += Number(numAffectedRows);
    if (numAffectedRows < DELETE_BATCH) break;
  }
  return deleted;
}
