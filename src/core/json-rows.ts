import type { RawBuilder } from 'kysely';
import pg from 'pg';
import { columnsOf, type Db } from './db.ts';
import { exactInt8 } from './int8.ts';
import { parseMoment } from './moment.ts';

/**
 * Rows that come as one JSON value, by `json_agg`. Column by column, those of a page would cost this process more than
 * all else that a list does; to write them as JSON costs PostgreSQL half of what is saved here.
 *
 * @returns what makes of such a row, in place, the one that its columns would have given.
 */
export type RowReader<Row> = (row: Row) => Row;

const readersOf = new WeakMap<Db, Map<string, Promise<RowReader<unknown>>>>();

/** The reader of what `select … from …` gives: PostgreSQL is asked once for the types. */
export function readerOf<Row>(db: Db, select: RawBuilder<Row>): Promise<RowReader<Row>> {
  const readers = readersOf.get(db) ?? new Map<string, Promise<RowReader<unknown>>>();
  readersOf.set(db, readers);
  const { sql: text } = select.compile(db);
  const known = readers.get(text);
  if (known) return known as Promise<RowReader<Row>>;
  const made = columnsOf(db, text).then(readerOfColumns);
  readers.set(text, made);
  made.catch(() => readers.delete(text));
  return made as Promise<RowReader<Row>>;
}

const types = pg.types.builtins;
const TEXT_ARRAY = 1009;
const FIRST_OF_OURS = 16_384;
/** Types whose values JSON has as a column has them. */
const SAME = new Set<number>([
  ...[types.BOOL, types.INT2, types.INT4, types.TEXT, types.VARCHAR, types.DATE],
  ...[types.JSON, types.JSONB, TEXT_ARRAY],
]);
const READ = new Map<number, (value: never) => unknown>([
  [types.INT8, exactInt8],
  [types.TIMESTAMPTZ, parseMoment],
]);

function readerOfColumns(columns: readonly pg.FieldDef[]): RowReader<unknown> {
  const toRead = columns.flatMap(({ name, dataTypeID }) => {
    const read = READ.get(dataTypeID) as ((value: unknown) => unknown) | undefined;
    if (read) return [{ name, read }];
    const isEnum = dataTypeID >= FIRST_OF_OURS;
    if (!isEnum && !SAME.has(dataTypeID)) throw new TypeError(`${name} cannot be read from JSON`);
    return [];
  });
  return (row) => {
    const values = row as Record<string, unknown>;
    for (const { name, read } of toRead) {
      const value = values[name];
      if (value !== null) values[name] = read(value);
    }
    return row;
  };
}
