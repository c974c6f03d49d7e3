import type { ColumnType } from 'kysely';
import pg from 'pg';

/** The type of a timestamptz column: read as text like that of `Date.toISOString`, written as Date. */
export type TimestampColumn = ColumnType<string, Date, Date>;

const toDate: (text: string) => Date = pg.types.getTypeParser(pg.types.builtins.TIMESTAMPTZ);

/**
 * Converts PostgreSQL's text of a timestamptz, from a column or from JSON, to the text of `Date.toISOString`. For a database
 * session in UTC, only slices the text, because parsing each timestamp of a list as a `Date` would be slow.
 */
export function isoTimestamp(text: string): string {
  const isPlain = text[4] === '-' && (text[10] === ' ' || text[10] === 'T');
  const end = text.endsWith('+00') ? -3 : text.endsWith('+00:00') ? -6 : 0;
  if (!isPlain || end === 0) return toDate(text.replace('T', ' ')).toISOString();
  const milliseconds = text.slice(20, end).slice(0, 3).padEnd(3, '0');
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${milliseconds}Z`;
}
