import pg from 'pg';

/** Runs one statement on a separate connection. */
export async function runStatement(
  connection: string | pg.ClientConfig,
  statement: string,
  values: unknown[] = [],
): Promise<pg.QueryResult> {
  const settings = typeof connection === 'string' ? { connectionString: connection } : connection;
  const client = new pg.Client({ connectionTimeoutMillis: 10_000, ...settings });
  client.on('error', () => {}); // The query reports the error.
  await client.connect();
  try {
    return await client.query(statement, values);
  } finally {
    await client.end();
  }
}

/** Whether a server executes a statement. Use it to wait for a server that starts. */
export async function executes(connectionString: string, statement: string): Promise<boolean> {
  try {
    await runStatement({ connectionString, connectionTimeoutMillis: 2_000 }, statement);
    return true;
  } catch {
    return false; // The server is still starting.
  }
}

/** The settings of a connection to another database on the same server. */
export function databaseOn(server: pg.ClientConfig, database: string) {
  if (server.connectionString) {
    const url = new URL(server.connectionString);
    url.pathname = `/${database}`;
    return url.href;
  }
  const { host = '', port = 5432, user = '', password } = server;
  return { host, port, user, database, ...(typeof password === 'string' && { password }) };
}
