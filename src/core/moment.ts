import type { ColumnType } from 'kysely';
import pg from 'pg';

/** How a timestamptz column reads (as `Date.toISOString` writes it) and what may be written to it. */
export type Moment = ColumnType<string, Date, Date>;

const toDate: (text: string) => Date = pg.types.getTypeParser(pg.types.builtins.TIMESTAMPTZ);

/**
 * Reads PostgreSQL's text of a timestamptz. In a session of UTC that is two slices of it; a `Date` for each moment of a
 * list would cost more than its amounts do.
 */
export function parseMoment(text: string): string {
  if (text[10] !== ' ' || !text.endsWith('+00')) return toDate(text).toISOString();
  const milliseconds = text.slice(20, -3).slice(0, 3).padEnd(3, '0');
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${milliseconds}Z`;
}
