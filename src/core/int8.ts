import type { ColumnType } from 'kysely';

/** How an int8 column reads (a number, checked to be exact) and what may be written to it. */
export type Int8 = ColumnType<number, bigint | number, bigint | number>;

/**
 * Reads PostgreSQL's text of an int8. Ids, counts and money in minor units all stay far below 2^53;
 * @throws RangeError rather than round where one does not.
 */
export function parseInt8(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError('an int8 from the database is beyond 2^53');
  return value;
}
