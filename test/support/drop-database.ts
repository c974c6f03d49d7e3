import { inject } from 'vitest';
import { runStatement } from './statements.ts';
import { untilPasses } from './waiting.ts';

/**
 * Drops a database on the server of the test run, and ends its connections. PostgreSQL waits for them for only five seconds, and a server
 * process that is stopped ends later.
 */
export async function dropDatabase(name: string): Promise<void> {
  await untilPasses(() => runStatement(inject('server'), `drop database if exists ${name} with (force)`));
}
