import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Redis } from 'ioredis';
import pg from 'pg';
import { openBooks } from './load.mjs';
import { openPrograms } from './programs.mjs';

/**
 * @param further - the names of additional options.
 * @param defaults - numbers that replace the defaults below.
 */
export function readOptions(further = [], defaults = {}) {
  const usual = { rounds: 3, seconds: 5, connections: 32, ...defaults };
  const names = ['payments', 'rounds', 'seconds', 'connections', 'database', ...further];
  const { values } = parseArgs({
    options: {
      ...Object.fromEntries(names.map((name) => [name, { type: 'string' }])),
      write: { type: 'boolean' },
    },
  });
  const number = (name) => (values[name] === undefined ? usual[name] : Number(values[name]));
  return {
    ...values,
    ...{ payments: number('payments'), accounts: number('accounts'), customers: number('customers') },
    ...{ rounds: number('rounds'), seconds: number('seconds'), connections: number('connections') },
  };
}

/**
 * Opens everything that a benchmark needs. Fills a new database, unless the options name one. `database` is a client that is not
 * connected yet. `redis` is undefined if BENCH_REDIS_URL is not set. `close` ends all programs and connections, and removes the
 * scratch folder and the new database.
 */
export async function openBench(name, options) {
  const scratch = mkdtempSync(join(tmpdir(), 'ams-bench-'));
  const programs = openPrograms(scratch);
  const redis = process.env.BENCH_REDIS_URL ? new Redis(process.env.BENCH_REDIS_URL) : undefined;
  const books = await openBooks(name, options);
  const database = new pg.Client({ connectionString: books.url });

  async function close() {
    await programs.stopAll();
    await database.end();
    redis?.disconnect();
    await books.drop();
    rmSync(scratch, { recursive: true });
  }

  return { scratch, programs, redis, url: books.url, size: books.size, database, close };
}
