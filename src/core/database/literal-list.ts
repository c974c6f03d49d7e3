import { type RawBuilder, sql } from 'kysely';

/** SQL such as `('a', 'b')`. The values are literals, because a generic plan with parameters cannot use a partial index. */
export function literalList(values: readonly string[]): RawBuilder<unknown> {
  return sql`(${sql.join(values.map((value) => sql.lit(value)))})`;
}
