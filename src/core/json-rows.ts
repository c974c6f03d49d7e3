import type { RawBuilder } from 'kysely';
import pg from 'pg';
import { columnsOf, columnTypes, type Db } from './db.ts';
import { exactInt8 } from './int8.ts';

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
/** Types whose values JSON has as a column has them. */
const SAME = new Set<number>([
  ...[types.BOOL, types.INT2, types.INT4, types.TEXT, types.VARCHAR, types.DATE],
  ...[types.JSON, types.JSONB, TEXT_ARRAY],
]);

function readerOfColumns(columns: readonly pg.FieldDef[]): RowReader<unknown> {
  const toRead = columns
    .filter(({ dataTypeID }) => !SAME.has(dataTypeID))
    .map(({ name, dataTypeID }) => ({
      name,
      read: dataTypeID === types.INT8 ? exactInt8 : readText(name, dataTypeID),
    }));
  return (row) => {
    const values = row as Record<string, unknown>;
    for (const { name, read } of toRead) {
      const value = values[name];
      if (value !== null) values[name] = read(value as never);
    }
    return row;
  };
}

/** Most types come as their text. @throws TypeError for those that JSON has a form of its own for, such as numeric. */
function readText(name: string, type: number) {
  const parse = columnTypes.getTypeParser(type, 'text');
  return (value: unknown) => {
    if (typeof value !== 'string') throw new TypeError(`${name} cannot be read from JSON`);
    return parse(value);
  };
}
