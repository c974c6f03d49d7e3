import { type RawBuilder, sql } from 'kysely';

/** `('a', 'b')`: literals, because the planner matches no partial index with a parameter in a generic plan. */
export function literalList(values: readonly string[]): RawBuilder<unknown> {
  return sql`(${sql.join(values.map((value) => sql.lit(value)))})`;
}
