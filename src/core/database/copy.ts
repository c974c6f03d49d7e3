import { once } from 'node:events';
import { pipeline, type Readable, Transform, type Writable } from 'node:stream';
import pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { unavailable } from '../http/errors.ts';
import { createSharedSlots } from '../http/shared-slots.ts';
import { BYTE_ORDER_MARK } from '../values/csv.ts';
import { type PlainDate, parsePlainDate } from '../values/dates.ts';
import { COPY_WAIT_MS, createLoader, type Load, MAX_LOADS } from './copy-in.ts';
import { columnTypes, type DatabaseOptions } from './db.ts';
import { followClock } from './test-clock.ts';

/**
 * Large results as CSV, streamed by `COPY … TO STDOUT`, on connections that nothing else waits for. Files come
 * in on them, too: see copy-in.ts.
 */
export interface CopyPool {
  /**
   * Starts an export and waits for its first bytes, so that whatever is wrong with it is still an error.
   * The stream holds a byte order mark, a header, and one line a row, in UTF-8, ended by CRLF as RFC 4180 has it; destroying it
   * ends the statement on the server. If the statement fails later, the stream fails and never ends.
   *
   * @param caller see `callerOf` in gate.ts.
   * @param query `select …` with the columns named as the header shall be. COPY takes no parameters: see
   *   `dateLiteral`. No cell may hold a line break.
   * @param quoted the columns of text, by name. A reader that heeds quotes keeps them as text.
   * @throws AppError 429 while an export of the same caller runs, 503 while there is no connection for another.
   */
  open(caller: string, query: string, quoted: readonly string[]): Promise<Readable>;
  load: Load;
  /** Breaks off what is running. */
  close(): Promise<void>;
}

const EXPORTS = 2;
const CONNECT_TIMEOUT_MS = 3_000;
export const EXPORT_TIMEOUT_MS = 10 * 60_000;
/** Nothing here waits for more than another copy's last statements. */
const LOCK_TIMEOUT_MS = 3_000;

// A slow statement is what this pool is for: it may sort in memory, and its dates are ISO 8601 on every server.
const BEGIN = `
  begin transaction read only;
  set local datestyle = 'ISO';
  set local work_mem = '64MB'`;

export function openCopyPool({
  connection,
  onConnectionLost,
  testClock,
}: Pick<DatabaseOptions, 'connection' | 'onConnectionLost' | 'testClock'>): CopyPool {
  const target = typeof connection === 'string' ? { connectionString: connection } : connection;
  const pool = new pg.Pool({
    ...target,
    application_name: 'account-management-service export',
    max: EXPORTS + MAX_LOADS,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: 10_000,
    keepAlive: true,
    types: columnTypes,
    statement_timeout: EXPORT_TIMEOUT_MS,
    lock_timeout: LOCK_TIMEOUT_MS,
    idle_in_transaction_session_timeout: EXPORT_TIMEOUT_MS, // Not the role's, which is made for requests.
  });
  // An `error` event that nobody hears would end the process.
  pool.on('error', onConnectionLost);
  pool.on('connect', (client) => client.on('error', onConnectionLost));
  if (testClock) followClock(pool, testClock);

  const running = new Set<Transform | Writable>();
  const working = new Set<pg.PoolClient>();
  let closing = false;
  const slots = createSharedSlots({
    what: 'exports',
    slots: EXPORTS,
    mostPerCaller: 2,
    mostWaiting: 10,
    waitMs: COPY_WAIT_MS,
  });
  pool.on('acquire', (client) => {
    working.add(client);
    if (closing) breakOff(client); // It was still connecting.
  });
  pool.on('release', (_error, client) => working.delete(client));

  async function open(caller: string, query: string, quoted: readonly string[]): Promise<Readable> {
    const leave = await slots.enter(caller);
    let client: pg.PoolClient | undefined;
    try {
      client = await pool.connect();
      await client.query(BEGIN);
    } catch (error) {
      client?.release(true);
      leave();
      throw error;
    }
    const lines = start(client, copyStatement(query, quoted), leave);
    await once(lines, 'readable');
    return lines;
  }

  function start(client: pg.PoolClient, statement: string, leave: () => void): Readable {
    const copy = client.query(copyTo(statement));
    // The end of a connection that was given up is told to the stream after the pipeline has let go of it.
    copy.on('error', () => {});
    const lines = crlfLines();
    running.add(lines);
    pipeline(copy, lines, (error) => {
      running.delete(lines);
      void giveBack(client, error).finally(leave);
    });
    return lines;
  }

  async function close(): Promise<void> {
    closing = true;
    slots.close();
    const reason = unavailable(new Error('The service is stopping.'));
    for (const stream of running) stream.destroy(reason);
    for (const client of working) breakOff(client);
    await pool.end();
  }

  return { open, load: createLoader(pool, running), close };
}

/** A connection in the middle of a COPY is closed, which ends the statement on the server. */
async function giveBack(client: pg.PoolClient, failure: Error | null | undefined): Promise<void> {
  if (failure) return client.release(true);
  try {
    await client.query('commit');
    client.release();
  } catch {
    client.release(true); // Everything was read before; only the connection is lost.
  }
}

/** Ends the connection, also in the middle of a statement, whose end on the server nobody waits for. */
function breakOff(client: pg.PoolClient): void {
  if (client instanceof pg.Client) void client.end();
}

function copyStatement(query: string, quoted: readonly string[]): string {
  const columns = quoted.map((name) => pg.escapeIdentifier(name)).join(', ');
  return `copy (${query}) to stdout (format csv, header true, encoding 'UTF8', force_quote (${columns}))`;
}

/**
 * Puts the byte order mark in front. COPY ends lines with LF. No cell holds one, so each LF is the end of a line. In Latin-1 every byte is a
 * character, which leaves all others as they are, and the two conversions and the search are native.
 */
function crlfLines(): Transform {
  const begin = Buffer.from(BYTE_ORDER_MARK);
  let isBegun = false;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      if (!isBegun) this.push(begin);
      isBegun = true;
      done(null, Buffer.from(chunk.toString('latin1').replaceAll('\n', '\r\n'), 'latin1'));
    },
  });
}

/**
 * A calendar date as SQL text, for statements that take no parameters.
 *
 * @throws RangeError for text that is no date, whatever its type says.
 */
export function dateLiteral(day: PlainDate): string {
  if (parsePlainDate(day) === undefined) throw new RangeError('Only a calendar date can be written as one.');
  return `date '${day}'`;
}

/** The currency's code as SQL text. @throws RangeError for other text. */
export function currencyLiteral(code: string): string {
  if (!/^[A-Z]{3}$/.test(code)) throw new RangeError('Only a currency code can be written as one.');
  return `'${code}'`;
}
