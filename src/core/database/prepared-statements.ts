import type { PostgresCursor, PostgresPoolClient, PostgresQueryResult } from 'kysely';
import pg from 'pg';
import { isStale } from './postgres-errors.ts';

/** The maximum number of names for each connection. Filters of lists can produce any number of statement texts. */
const MAX_NAMES = 200;

/**
 * An SQL comment that keeps a statement unnamed. PostgreSQL may use a generic plan for a named statement. If a filter has
 * frequent and rare values, a generic plan can be a hundred times slower than a plan for the given values.
 */
export const UNNAMED = '/* unnamed */';

/**
 * Returns a function that names statement texts, so that PostgreSQL parses each text once for each connection. After MAX_NAMES
 * names, new texts get no name.
 */
export function nameStatements(prefix: string): (text: string) => string | undefined {
  const names = new Map<string, string>();
  return (text) => {
    const known = names.get(text);
    if (known !== undefined || names.size >= MAX_NAMES) return known;
    const name = `${prefix}${names.size}`;
    names.set(text, name);
    return name;
  };
}

/** The pool that Kysely uses: a `namingClient` for each connection. */
export function namingPool(pool: pg.Pool, prepare: boolean, onError: (error: unknown) => void) {
  const clients = new WeakMap<pg.PoolClient, PostgresPoolClient>();
  return {
    end: () => pool.end(),
    async connect() {
      const client = await pool.connect();
      const naming = clients.get(client) ?? namingClient(client, prepare, onError);
      clients.set(client, naming);
      return naming;
    },
  };
}

/**
 * Names the statements of a connection. `release` closes the connection after an error that PostgreSQL did not send, such as a
 * read time-out or a broken socket, because the connection may still be busy or inside a transaction. `release` also closes a
 * connection whose named statements are stale.
 * @param onError - called with the error of each failed statement.
 */
export function namingClient(
  client: pg.PoolClient,
  prepare: boolean,
  onError: (error: unknown) => void = () => {},
): PostgresPoolClient {
  const nameOf = nameStatements('s');
  let isBroken = false;

  function query<R>(text: string, values: readonly unknown[]): Promise<PostgresQueryResult<R>>;
  function query<R>(cursor: PostgresCursor<R>): PostgresCursor<R>;
  function query(text: unknown, values: readonly unknown[] = []): unknown {
    if (typeof text !== 'string') throw new TypeError('Cursors are not supported.');
    // PostgreSQL plans a select even if it has no parameters, but it does not plan begin, commit or rollback.
    const isPlanned = values.length > 0 || text.startsWith('select ');
    const name = prepare && isPlanned && !text.includes(UNNAMED) ? nameOf(text) : undefined;
    return client.query({ text, values: [...values], ...(name && { name }) }).catch((error: unknown) => {
      onError(error);
      isBroken ||= !(error instanceof pg.DatabaseError) || isStale(error);
      throw error;
    });
  }

  return { query, release: () => client.release(isBroken) };
}
