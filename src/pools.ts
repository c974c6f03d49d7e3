import type { Pool } from 'pg';
import type { Config } from './core/context.ts';
import { type CopyPool, openCopyPool } from './core/database/copy.ts';
import { type Connection, type Database, openDatabase } from './core/database/db.ts';
import { type LongReads, openLongReads } from './core/database/long-reads.ts';
import type { TestClock } from './core/database/test-clock.ts';
import { readMigrationNames } from './database.ts';
import { type DatabaseProbe, openDatabaseProbe } from './platform/health/probe.ts';
import { PROOF_READS } from './proof/store.ts';
import { SUMMARY_READS } from './reports/summary-store.ts';

/** All database connections of an instance. Slow work has separate connections, so that requests never wait for it. */
export interface Pools {
  db: Database;
  /** The pool of `db`, for the metrics. */
  pool: Pool;
  copies: CopyPool;
  verifier: LongReads;
  summaries: LongReads;
  probe: DatabaseProbe;
  /** Cancels exports, uploads and long reads, while other requests may still run. */
  cancelLongWork(): Promise<void>;
  close(): Promise<void>;
}

interface PoolOptions {
  connection: Connection;
  /** The address of PostgreSQL, if `connection` is the address of a pooler. */
  direct?: Connection;
  pooler?: string | undefined;
  testClock?: TestClock | undefined;
  /** @param name of the pool, for the log. */
  onConnectionLost?(name: string, error: Error): void;
}

export async function openPools(
  config: Config,
  { connection, direct = connection, pooler, testClock, onConnectionLost = () => {} }: PoolOptions,
): Promise<Pools> {
  const directly = (name: string) => ({
    connection: direct,
    testClock,
    onConnectionLost: (error: Error) => onConnectionLost(name, error),
  });
  const { db, pool, close } = openDatabase({
    ...directly('request'),
    connection,
    poolSize: config.DATABASE_POOL_SIZE,
    prepare: config.namedStatements,
    pooled: config.pooled,
  });
  const copies = openCopyPool(directly('copy'));
  const verifier = openLongReads({ ...directly('proof'), ...PROOF_READS });
  const summaries = openLongReads({ ...directly('summary'), ...SUMMARY_READS });
  const probe = openDatabaseProbe({
    connection: direct,
    migrations: await readMigrationNames(),
    pooler,
    onConnectionLost: () => {}, // The request pool reports the same failure.
  });
  return {
    ...{ db, pool, copies, verifier, summaries, probe },
    async cancelLongWork() {
      await Promise.all([copies.close(), verifier.close(), summaries.close()]);
    },
    async close() {
      await probe.close();
      await close();
    },
  };
}
