import { type RawBuilder, sql } from 'kysely';

/** `('a', 'b')`. Literals are used because a generic plan with parameters cannot use a partial index. */
export function literalList(values: readonly string[]): RawBuilder<unknown> {
  return sql`(${sql.join(values.map((value) => sql.lit(value)))})`;
}
