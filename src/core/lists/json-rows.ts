import type { RawBuilder } from 'kysely';
import pg from 'pg';
import { columnTypes, type Db, databaseOf } from '../database/db.ts';
import { exactInt8 } from '../database/int8.ts';
import { parseMoment } from '../database/moment.ts';

/**
 * Rows that come as one JSON value, by `json_agg`. Read column by column, those of a page are the dearest part of a list
 * for this process, which has one core; as JSON they cost it a third less, and PostgreSQL, which has the others, nearly
 * as much more.
 *
 * @returns what makes of such a row, in place, the one that its columns would have given.
 */
export type RowReader<Row> = (row: Row) => Row;

/** The reader of what `select … from …` gives: PostgreSQL is asked once for the types. */
export function readerOf<Row>(db: Db, select: RawBuilder<Row>): Promise<RowReader<Row>> {
  const { pool, rowReaders } = databaseOf(db);
  const { sql: text } = select.compile(db);
  const known = rowReaders.get(text);
  if (known) return known as Promise<RowReader<Row>>;
  const made = pool.query(`${text} limit 0`).then(({ fields }) => readerOfColumns(fields));
  rowReaders.set(text, made);
  made.catch(() => rowReaders.delete(text)); // The next call asks again.
  return made as Promise<RowReader<Row>>;
}

const types = pg.types.builtins;
const TEXT_ARRAY = 1009;
/** Types whose values JSON has as a column has them. */
const SAME = new Set<number>([
  ...[types.BOOL, types.INT2, types.INT4, types.TEXT, types.VARCHAR, types.DATE],
  ...[types.JSON, types.JSONB, TEXT_ARRAY],
]);
/** The first number of a type that is none of PostgreSQL's own: here, of an enum. */
const FIRST_OF_OURS = 16_384;

const READ = new Map<number, (value: never) => unknown>([
  [types.INT8, exactInt8],
  [types.TIMESTAMPTZ, parseMoment],
  [types.BYTEA, columnTypes.getTypeParser(types.BYTEA, 'text')],
]);

/** Of any other type, which JSON would show as something else, a row has no value: no list shows one. */
const leftOut = () => undefined;

function readerOfColumns(columns: readonly pg.FieldDef[]): RowReader<unknown> {
  const toRead = columns
    .filter(({ dataTypeID: type }) => !SAME.has(type) && type < FIRST_OF_OURS)
    .map(({ name, dataTypeID }) => ({
      name,
      read: (READ.get(dataTypeID) ?? leftOut) as (value: unknown) => unknown,
    }));
  return (row) => {
    const values = row as Record<string, unknown>;
    for (const { name, read } of toRead) {
      const value = values[name];
      // Undefined is what a newer version has taken out of the table.
      if (value !== null && value !== undefined) values[name] = read(value);
    }
    return row;
  };
}
