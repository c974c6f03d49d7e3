import { CompiledQuery, type RawBuilder, sql } from 'kysely';
import { Database, type Db, type Tx } from './db.ts';
import type { Lane } from './pipelined-reads.ts';
import { UNNAMED } from './prepared-statements.ts';
import type { DB } from './tables.ts';

// Which way to run a statement:
// - `sql` or the query builder, and `execute`: the usual way.
// - `lookUp`: outside a transaction, for a few rows by key or in the order of an index. It shares a connection with other requests.
// - `planAndRun`: if the best plan depends on the values.
// - `run`: for text that is assembled.
// - `sendWithCommit` (transactions.ts): the last statements of a transaction.
// Decision 0014 has the reasons and figures.

/** A statement of `sql` or of the query builder. */
export interface Statement<Row> {
  compile(db: Db): CompiledQuery<Row>;
}

/**
 * Finds a few rows by their key or in the order of an index. Outside a transaction, statements of other requests wait for this
 * statement, so it must always be quick; see pipelined-reads.ts.
 */
export async function lookUp<Row>(
  db: Db | Tx,
  statement: Statement<Row>,
  lane: Lane = 'rows',
): Promise<Row[]> {
  const query = statement.compile(db);
  if (db instanceof Database && db.lanes) return db.lanes.find<Row>(lane, query.sql, query.parameters);
  return (await db.executeQuery<Row>(query)).rows;
}

/**
 * Runs a statement that PostgreSQL plans for the given values. Other statements may get one plan for all values. If some values are
 * frequent and others are rare, such a plan can be a hundred times slower.
 */
export async function planAndRun<Row>(db: Db | Tx, statement: RawBuilder<Row>): Promise<Row[]> {
  return (await sql<Row>`${sql.raw(UNNAMED)} ${statement}`.execute(db)).rows;
}

/**
 * Runs a statement that is assembled as text. Statements of one piece use `sql` instead.
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
