import type { Insertable } from 'kysely';
import type { DB } from './tables.ts';

/** Rows to insert, by table. */
export type RowsOf<Table extends keyof DB> = { [T in Table]?: Insertable<DB[T]>[] };

/**
 * A statement that inserts any number of rows. It may be part of a larger statement.
 *
 * @param columns the columns to write. A column that a row omits becomes null. Other columns of the table get their
 *   default.
 * @param parameter the parameter that contains the result of `rowsAsJson`.
 */
export function insertRows(table: keyof DB, columns: readonly string[], parameter: `$${number}`): string {
  const names = columns.map((column) => `"${column}"`).join(', ');
  return `insert into ${table} (${names}) overriding system value
    select ${names} from json_populate_recordset(null::${table}, ${parameter}::json)`;
}

/** Writes bytes as PostgreSQL's hex text, and amounts as numbers, which are exact below 2^53. */
export function rowsAsJson(rows: readonly object[] = []): string {
  return JSON.stringify(rows, function (this: Record<string, unknown>, key, value: unknown) {
    const given = this[key]; // For a buffer, `value` is the result of its toJSON.
    if (Buffer.isBuffer(given)) return `\\x${given.toString('hex')}`;
    return typeof value === 'bigint' ? Number(value) : value;
  });
}
