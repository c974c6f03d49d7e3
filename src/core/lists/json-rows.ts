import pg from 'pg';
import { ARRAYS, columnTypes, type Db } from '../database/db.ts';
import { exactInt8 } from '../database/int8.ts';
import { isoTimestamp } from '../database/timestamps.ts';
import { databaseOf } from '../database/transactions.ts';

/**
 * Converts a row in place, from the JSON of PostgreSQL to the row that a query without JSON would return. Lists read a page as
 * one JSON value from `json_agg`, because parsing the columns of each row is the most expensive part of a list. JSON saves a
 * third of the time of this process. It costs PostgreSQL nearly as much time as it saves, but PostgreSQL can use all other cores.
 */
type RowReader<Row> = (row: Row) => Row;

/** Returns the reader for rows of the SQL `select … from …`. Asks PostgreSQL for the column types once for each text. */
export function readerOf<Row>(db: Db, text: string): Promise<RowReader<Row>> {
  const { pool, rowReaders } = databaseOf(db);
  const known = rowReaders.get(text);
  if (known) return known as Promise<RowReader<Row>>;
  const made = pool.query(`${text} limit 0`).then(({ fields }) => readerOfColumns(fields));
  rowReaders.set(text, made);
  made.catch(() => rowReaders.delete(text)); // The next call tries again.
  return made as Promise<RowReader<Row>>;
}

const types = pg.types.builtins;
/** Types whose values have the same form in JSON and in the result of a query. */
const SAME_IN_JSON = new Set<number>([
  ...[types.BOOL, types.INT2, types.INT4, types.TEXT, types.VARCHAR, types.DATE],
  ...[types.JSON, types.JSONB, ARRAYS.INT4, ARRAYS.TEXT, ARRAYS.DATE],
]);
/** PostgreSQL gives user-defined types an id from this number on. Ours are enums, whose values are the same text in JSON. */
const FIRST_USER_TYPE = 16_384;

const READ = new Map<number, (value: never) => unknown>([
  [types.INT8, exactInt8],
  [ARRAYS.INT8, (values: number[]) => values.map(exactInt8)],
  [types.TIMESTAMPTZ, isoTimestamp],
  [types.BYTEA, columnTypes.getTypeParser(types.BYTEA, 'text')],
]);

/** Omits a value of any other type, which would have another form in JSON. No list needs such values. */
const omit = () => undefined;

function readerOfColumns(columns: readonly pg.FieldDef[]): RowReader<unknown> {
  const toRead = columns
    .filter(({ dataTypeID: type }) => !SAME_IN_JSON.has(type) && type < FIRST_USER_TYPE)
    .map(({ name, dataTypeID }) => ({
      name,
      read: (READ.get(dataTypeID) ?? omit) as (value: unknown) => unknown,
    }));
  return (row) => {
    const values = row as Record<string, unknown>;
    for (const { name, read } of toRead) {
      const value = values[name];
      // A newer version of the service may have dropped the column after its type was read.
      if (value !== null && value !== undefined) values[name] = read(value);
    }
    return row;
  };
}
