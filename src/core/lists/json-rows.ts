import pg from 'pg';
import { columnTypes, type Db } from '../database/db.ts';
import { exactInt8 } from '../database/int8.ts';
import { isoTimestamp } from '../database/timestamps.ts';
import { databaseOf } from '../database/transactions.ts';

/**
 * Changes a row that PostgreSQL returned as JSON into the row that a query without JSON would return, in the same object. Parsing
 * the columns of a page is the most expensive part of a list. With one JSON value from `json_agg`, this process needs a third less
 * time. PostgreSQL needs more time, nearly as much as this process saves, but it can use all other cores.
 */
type RowReader<Row> = (row: Row) => Row;

/** The reader for the rows of the SQL `select … from …`. Asks PostgreSQL once for the column types. */
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
const TEXT_ARRAY = 1009;
/** Types whose values are the same in JSON and in a column. */
const SAME_IN_JSON = new Set<number>([
  ...[types.BOOL, types.INT2, types.INT4, types.TEXT, types.VARCHAR, types.DATE],
  ...[types.JSON, types.JSONB, TEXT_ARRAY],
]);
/** The first id of user-defined types in PostgreSQL. Ours are enums. */
const FIRST_USER_TYPE = 16_384;

const READ = new Map<number, (value: never) => unknown>([
  [types.INT8, exactInt8],
  [types.TIMESTAMPTZ, isoTimestamp],
  [types.BYTEA, columnTypes.getTypeParser(types.BYTEA, 'text')],
]);

/** Values of any other type would differ in JSON. The row omits them, because no list needs them. */
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
      // A newer version of the service may have dropped the column.
      if (value !== null && value !== undefined) values[name] = read(value);
    }
    return row;
  };
}
