import { once } from 'node:events';
import { pipeline, type Readable, Transform, type Writable } from 'node:stream';
import pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { createConcurrencyLimit } from '../concurrency-limit.ts';
import { unavailable } from '../http/errors.ts';
import { BYTE_ORDER_MARK } from '../values/csv.ts';
import { type PlainDate, parsePlainDate } from '../values/dates.ts';
import { createLoader, type Load, MAX_LOADS, runAlone } from './copy-in.ts';
import { type Connection, columnTypes, type DatabaseOptions, openPool } from './db.ts';
import { orReadPrimary, type Replica, type Snapshot } from './replica.ts';

/**
 * Exports large results as CSV with `COPY … TO STDOUT`. Exports and uploads (copy-in.ts) share a pool that other requests do not
 * use. PostgreSQL writes the CSV, because the package csv-stringify would use more CPU time in this process than the query takes.
 * Exports use the replica if it can serve them. If the replica fails after the first bytes of an export, the export fails.
 */
export interface CopyPool {
  /**
   * Starts an export and waits for its first bytes, so that the service can answer an early failure with an error. If the
   * statement fails later, the stream fails. The stream has a byte order mark, a header and one line for each row, in UTF-8 with
   * CRLF (RFC 4180). Destroying the stream cancels the statement.
   * @param caller see `callerOf` in access.ts.
   * @param query `select …` whose column names become the header. COPY accepts no parameters: use literals (see `dateLiteral`).
   * Cells must not contain line breaks.
   * @param quoted the names of text columns, whose values get quotes. Many programs convert values without quotes to numbers or
   * dates.
   * @throws AppError 429 or 503 like `ConcurrencyLimit.enter`, or an error of the statement before its first bytes.
   */
  open(caller: string, query: string, quoted: readonly string[]): Promise<Snapshot<Readable>>;
  /**
   * Runs work that exports several results, one after the other, from one snapshot of the database. The results are CSV with LF.
   * Cells are allowed to contain line breaks.
   * @throws AppError like `open`.
   */
  openSnapshot<T>(caller: string, work: (copyOut: Snapshot<CopyOut>) => Promise<T>): Promise<T>;
  load: Load;
  /** Runs a statement that cannot be part of a transaction. */
  runAlone(statement: string): Promise<void>;
  /** Cancels running exports and uploads. */
  close(): Promise<void>;
}

/** @returns the rows, in UTF-8 without a byte order mark. Read them to the end before the next call. See `open` for `quoted`. */
type CopyOut = (query: string, quoted: readonly string[]) => Readable & { rowCount: number };

const EXPORTS = 2;

// With this datestyle, COPY writes dates as ISO 8601. With this work_mem, an export sorts in memory.
const BEGIN = `
  begin transaction read only;
  set local datestyle = 'ISO';
  set local work_mem = '64MB'`;
const BEGIN_SNAPSHOT = BEGIN.replace('transaction', 'transaction isolation level repeatable read');

interface CopyOptions
  extends Pick<DatabaseOptions, 'connection' | 'onConnectionLost' | 'testClock' | 'limits'> {
  replica?: Replica | undefined;
}

export function openCopyPool({ replica, limits, ...options }: CopyOptions): CopyPool {
  const settings: pg.PoolConfig = {
    application_name: 'account-management-service export',
    connectionTimeoutMillis: limits.connectMs,
    idleTimeoutMillis: 10_000,
    keepAlive: true,
    types: columnTypes,
    statement_timeout: limits.exportMs,
    lock_timeout: limits.lockMs,
    idle_in_transaction_session_timeout: limits.exportMs, // The limit of the role may be shorter, because it is meant for requests.
  };
  const running = new Set<Readable | Writable>();
  const working = new Set<pg.PoolClient>();
  let isClosing = false;
  const openExportPool = (connection: Connection, max: number) => {
    const pool = openPool({ ...settings, ...options, connection, max });
    pool.on('acquire', (client) => {
      working.add(client);
      if (isClosing) breakOff(client); // `close` did not end this connection, because it was still being opened.
    });
    pool.on('release', (_error, client) => working.delete(client));
    return pool;
  };
  const pool = openExportPool(options.connection, EXPORTS + MAX_LOADS);
  const standbyPool = replica && openExportPool(replica.connection, EXPORTS);
  const slots = createConcurrencyLimit({
    what: 'exports',
    slots: EXPORTS,
    maxPerCaller: 2,
    maxWaiting: 10,
    waitMs: limits.slotMs,
  });

  async function open(caller: string, query: string, quoted: readonly string[]): Promise<Snapshot<Readable>> {
    const leave = await slots.enter(caller);
    try {
      const { value, takenAtMs } = await onEither(async (client) => {
        const { lines, ended } = await start(client, BEGIN, copyStatement(query, quoted));
        await once(lines, 'readable');
        return { lines, ended };
      });
      void value.ended.then(leave);
      return { value: value.lines, takenAtMs };
    } catch (error) {
      leave();
      throw error;
    }
  }

  async function openSnapshot<T>(
    caller: string,
    work: (copyOut: Snapshot<CopyOut>) => Promise<T>,
  ): Promise<T> {
    const leave = await slots.enter(caller);
    let failure: Error | undefined;
    let client: pg.PoolClient | undefined;
    try {
      const begun = await onEither((connected) => begin(connected, BEGIN_SNAPSHOT));
      client = begun.value;
      return await work({ value: copierOn(client), takenAtMs: begun.takenAtMs });
    } catch (error) {
      failure = error as Error;
      throw error;
    } finally {
      if (client) await giveBack(client, failure);
      leave();
    }
  }

  /** Runs work on a connection to the replica if the replica can serve it, otherwise on a connection to the primary. */
  function onEither<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<Snapshot<T>> {
    const found = standbyPool && replica?.read(standbyPool, work);
    return orReadPrimary(found, async () => work(await pool.connect()));
  }

  async function begin(client: pg.PoolClient, statement: string): Promise<pg.PoolClient> {
    try {
      await client.query(statement);
      return client;
    } catch (error) {
      client.release(true);
      throw error;
    }
  }

  /** @returns the lines, and a promise that resolves when the connection is back in the pool or closed. */
  async function start(client: pg.PoolClient, beginning: string, statement: string) {
    await begin(client, beginning);
    const copy = client.query(copyTo(statement));
    // A closed connection may emit `error` after the pipeline has removed its listeners.
    copy.on('error', () => {});
    const lines = crlfLines();
    running.add(lines);
    const ended = new Promise<void>((resolve) => {
      pipeline(copy, lines, (error) => {
        running.delete(lines);
        void giveBack(client, error).finally(resolve);
      });
    });
    return { lines, ended };
  }

  function copierOn(client: pg.PoolClient): CopyOut {
    return (query, quoted) => {
      const rows = client.query(copyTo(copyStatement(query, quoted)));
      rows.on('error', () => {});
      running.add(rows);
      return rows.once('close', () => running.delete(rows));
    };
  }

  async function close(): Promise<void> {
    isClosing = true;
    slots.close();
    const reason = unavailable(new Error('The service is stopping.'));
    for (const stream of running) stream.destroy(reason);
    for (const client of working) breakOff(client);
    await Promise.all([pool.end(), standbyPool?.end()]);
  }

  return {
    open,
    openSnapshot,
    load: createLoader(pool, running, limits),
    runAlone: (statement) => runAlone(pool, statement),
    close,
  };
}

/** Returns the connection to the pool. After a failure, closes the connection instead, which ends the statement on the server. */
async function giveBack(client: pg.PoolClient, failure: Error | null | undefined): Promise<void> {
  if (failure) return client.release(true);
  try {
    await client.query('commit');
    client.release();
  } catch {
    client.release(true); // The export is complete: all rows were read before this failure.
  }
}

/** Ends the connection, even during a statement, without waiting for the end of the statement. */
function breakOff(client: pg.PoolClient): void {
  if (client instanceof pg.Client) void client.end();
}

function copyStatement(query: string, quoted: readonly string[]): string {
  const columns = quoted.map((name) => pg.escapeIdentifier(name)).join(', ');
  return `copy (${query}) to stdout (format csv, header true, encoding 'UTF8', force_quote (${columns}))`;
}

/**
 * Adds the byte order mark, and ends lines with CRLF instead of LF. No cell contains LF, so each LF ends a line. In Latin-1,
 * every byte is one character, so all other bytes stay unchanged. Conversion and search are fast native code.
 */
function crlfLines(): Transform {
  const begin = Buffer.from(BYTE_ORDER_MARK);
  let hasBegun = false;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      if (!hasBegun) this.push(begin);
      hasBegun = true;
      done(null, Buffer.from(chunk.toString('latin1').replaceAll('\n', '\r\n'), 'latin1'));
    },
  });
}

/**
 * A calendar date as SQL text, for statements that take no parameters.
 *
 * @throws RangeError for text that is not a date, although its type is PlainDate.
 */
export function dateLiteral(day: PlainDate): string {
  if (parsePlainDate(day) === undefined) throw new RangeError('The value is not a calendar date.');
  return `date '${day}'`;
}

/** SQL that converts minor units to units of the currency. In SQL, bigint × 0.01 is a numeric with exactly two decimals. */
export function inUnits(minor: string, decimals: number): string {
  return decimals === 0 ? minor : `(${minor}) * 0.${'1'.padStart(decimals, '0')}`;
}

/** The currency's code as SQL text. @throws RangeError for other text. */
export function currencyLiteral(code: string): string {
  if (!/^[A-Z]{3}$/.test(code)) throw new RangeError('The value is not a currency code.');
  return `'${code}'`;
}
