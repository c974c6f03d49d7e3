import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../database/db.ts';

/**
 * Reads all rows of a list with one statement, in parts. The plan of a list that has a cursor reads the next rows with each
 * `fetchPage`, and no rows after the last ones. Needs a transaction.
 */
export interface RowCursor {
  /** @param statement - the whole statement of the list. Only the first call uses it. */
  next<Row>(tx: Db, statement: RawBuilder<Row>): Promise<Row[]>;
}

const ROWS = sql.raw('500');

export function createRowCursor(): RowCursor {
  let isOpen = false;
  return {
    async next<Row>(tx: Db, statement: RawBuilder<Row>) {
      if (!isOpen)
        await sql`declare list_rows no scroll cursor for select to_json(row) as row from (${statement}) as row`.execute(
          tx,
        );
      isOpen = true;
      const { rows } = await sql<{ row: Row }>`fetch ${ROWS} from list_rows`.execute(tx);
      return rows.map(({ row }) => row);
    },
  };
}
