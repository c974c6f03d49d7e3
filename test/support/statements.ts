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
