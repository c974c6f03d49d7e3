import type { Insertable } from 'kysely';
import type { DB } from './tables.ts';

/** Rows to insert, by table. */
export type RowsOf<Table extends keyof DB> = { [T in Table]?: Insertable<DB[T]>[] };

/**
 * The statement that inserts rows: none, one or many. It can be part of a larger one.
 *
 * @param columns that are written. A row has null for those that it leaves out; other columns of the table have their
 *   default.
 * @param parameter that holds the rows, as `rowsAsJson` gives them.
 */
export function insertRows(table: keyof DB, columns: readonly string[], parameter: `$${number}`): string {
  const names = columns.map((column) => `"${column}"`).join(', ');
  return `insert into ${table} (${names}) overriding system value
    select ${names} from json_populate_recordset(null::${table}, ${parameter}::json)`;
}

/** Bytes in the form that PostgreSQL reads from text; amounts as numbers, which are exact below 2^53. */
export function rowsAsJson(rows: readonly object[] = []): string {
  return JSON.stringify(rows, function (this: Record<string, unknown>, key, value: unknown) {
    const given = this[key]; // `value` of a buffer is what its toJSON gives.
    if (Buffer.isBuffer(given)) return `\\x${given.toString('hex')}`;
    return typeof value === 'bigint' ? Number(value) : value;
  });
}
