import { sql } from 'kysely';
import pg from 'pg';
import { type DatabaseOptions, inSnapshot, openDatabase, type Tx } from '../core/db.ts';

/** Reads of the whole database, one at a time, on a connection that nothing else waits for. */
export interface Prover {
  /**
   * Does the work on a snapshot of the database. Where other work runs, it waits for its turn a few seconds.
   * @throws what is answered as 503, when its turn does not come or it takes too long.
   */
  prove<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /** Breaks off what is running. */
  close(): Promise<void>;
}

export interface ProverOptions extends Pick<DatabaseOptions, 'connection' | 'onConnectionLost'> {
  /** How long the work may take in all. */
  timeoutMs?: number;
}

export const PROOF_TIMEOUT_MS = 120_000;

export function openProver({ timeoutMs = PROOF_TIMEOUT_MS, ...options }: ProverOptions): Prover {
  const database = openDatabase({
    ...options,
    poolSize: 1,
    prepare: false,
    statementTimeoutMs: timeoutMs,
  });
  let working: pg.PoolClient | undefined;
  database.pool.on('acquire', (client) => {
    working = client;
  });
  database.pool.on('release', () => {
    working = undefined;
  });

  /** Ends the connection; what the server still does then ends with its statement_timeout at the latest. */
  function breakOff(): void {
    if (working instanceof pg.Client) void working.end();
  }

  async function prove<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return inSnapshot(database.db, async (tx) => {
      const timer = setTimeout(breakOff, timeoutMs);
      try {
        // Sums over all rows may sort and hash in memory; compiling them takes longer than it gains.
        await sql`set local work_mem = '64MB'`.execute(tx);
        await sql`set local jit = off`.execute(tx);
        return await work(tx);
      } finally {
        clearTimeout(timer);
      }
    });
  }

  async function close(): Promise<void> {
    breakOff();
    await database.close();
  }

  return { prove, close };
}
