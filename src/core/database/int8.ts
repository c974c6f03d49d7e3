import type { ColumnType } from 'kysely';

/** The type of an int8 column: read as a number that is checked to be exact, written as bigint or number. */
export type Int8 = ColumnType<number, bigint | number, bigint | number>;

/** Reads the text that PostgreSQL sends for an int8; see `exactInt8`. */
export function parseInt8(text: string): number {
  return exactInt8(Number(text));
}

/**
 * Checks that an int8 is exact as a number. Ids, counts and money in minor units stay far below 2^53.
 * @throws RangeError beyond 2^53.
 */
export function exactInt8(value: number): number {
  if (!Number.isSafeInteger(value)) throw new RangeError('an int8 from the database is beyond 2^53');
  return value;
}
