import type { Insertable } from 'kysely';
import type { DB } from './tables.ts';

/** Rows to insert, by table. */
export type RowsOf<Table extends keyof DB> = { [T in Table]?: Insertable<DB[T]>[] };

/**
 * A statement that inserts any number of rows. It can be part of a larger statement.
 * @param columns the columns to write. If a row omits one of these columns, the column becomes null. All other columns of the
 * table get their default.
 * @param parameter the parameter that contains the result of `rowsAsJson`.
 */
export function insertRows(table: keyof DB, columns: readonly string[], parameter: `$${number}`): string {
  const names = columns.map((column) => `"${column}"`).join(', ');
  return `insert into ${table} (${names}) overriding system value
    select ${names} from json_populate_recordset(null::${table}, ${parameter}::json)`;
}

/**
 * Rows as a JSON array for PostgreSQL. Bytes become PostgreSQL's hex text, and amounts become numbers, which are exact below 2^53.
 * Null columns are omitted: they are about half of the columns of a payment.
 */
export function rowsAsJson(rows: readonly object[] = []): string {
  return JSON.stringify(
    rows.map((row) => {
      const columns: Record<string, unknown> = {};
      for (const name in row) {
        const value = (row as Record<string, unknown>)[name];
        if (value !== null) columns[name] = asJson(value);
      }
      return columns;
    }),
  );
}

/** Converts a value for `JSON.stringify`. A replacer function of `JSON.stringify` would take twice as long. */
function asJson(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  if (Buffer.isBuffer(value)) return `\\x${value.toString('hex')}`;
  if (Array.isArray(value)) return value.map(asJson);
  const copy: Record<string, unknown> = {};
  for (const name in value) copy[name] = asJson((value as Record<string, unknown>)[name]);
  return copy;
}
