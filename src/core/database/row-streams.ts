import { once } from 'node:events';
import { PassThrough, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { sql } from 'kysely';
import { createConcurrencyLimit } from '../concurrency-limit.ts';
import { unavailable } from '../http/errors.ts';
import { type DatabaseOptions, openDatabase, type Tx } from './db.ts';
import { inSnapshot } from './transactions.ts';

/** Streams text that is made from rows of one snapshot of the database, on connections that other requests do not use. */
export interface RowStreams {
  /**
   * Starts a stream and waits for its first bytes, so that the service can answer an early failure with an error. If the work fails
   * later, the stream fails. Destroying the stream ends the work.
   * @param caller see `callerOf` in http/access.ts.
   * @param textsOf yields at least one text. It is resumed only when the reader has taken the earlier texts.
   * @throws AppError 429 or 503 like `ConcurrencyLimit.enter`, or an error of the work before its first text.
   */
  open(caller: string, textsOf: (tx: Tx) => AsyncGenerator<string>): Promise<Readable>;
  /** Ends running streams with an error. */
  close(): Promise<void>;
}

const STREAMS = 2;
/** The first page of a list asks for the types of its columns on a second connection, see json-rows.ts. */
const CONNECTIONS = STREAMS + 1;

export function openRowStreams({
  limits,
  ...options
}: Pick<DatabaseOptions, 'connection' | 'onConnectionLost' | 'testClock' | 'limits'>): RowStreams {
  const { db, close: closeDatabase } = openDatabase({
    ...options,
    limits,
    poolSize: CONNECTIONS,
    prepare: false,
    statementTimeoutMs: limits.exportMs,
  });
  const running = new Set<Readable>();
  const slots = createConcurrencyLimit({
    what: 'files of lists',
    slots: STREAMS,
    maxPerCaller: 2,
    maxWaiting: 10,
    waitMs: limits.slotMs,
  });

  async function open(caller: string, textsOf: (tx: Tx) => AsyncGenerator<string>): Promise<Readable> {
    const leave = await slots.enter(caller);
    const texts = new PassThrough();
    running.add(texts);
    const tooLate = () => texts.destroy(new Error('The file of a list took longer than its time limit.'));
    const timer = setTimeout(tooLate, limits.exportMs);
    const begun = once(texts, 'readable');
    void inSnapshot(db, async (tx) => {
      // A slow reader keeps the transaction waiting between two reads.
      await sql`select set_config('idle_in_transaction_session_timeout', ${String(limits.exportMs)}, true)`.execute(
        tx,
      );
      await pipeline(textsOf(tx), texts);
    })
      .catch((error: Error) => texts.destroy(error))
      .finally(() => {
        clearTimeout(timer);
        running.delete(texts);
        leave();
      });
    await begun;
    return texts;
  }

  async function close(): Promise<void> {
    slots.close();
    for (const texts of running) texts.destroy(unavailable(new Error('The service is stopping.')));
    await closeDatabase();
  }

  return { open, close };
}
