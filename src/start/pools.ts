import type { Pool } from 'pg';
import type { Config } from '../core/context.ts';
import { type CopyPool, openCopyPool } from '../core/database/copy-pool.ts';
import { type Connection, type Database, openDatabase } from '../core/database/db.ts';
import { createRefusedWrites, type RefusedWrites } from '../core/database/refused-writes.ts';
import { openReplica, type Replica } from '../core/database/replica.ts';
import { openRowStreams, type RowStreams } from '../core/database/row-streams.ts';
import {
  openReportReads,
  openSnapshotReads,
  type ReportReads,
  type SnapshotReads,
} from '../core/database/snapshot-reads.ts';
import type { TestClock } from '../core/database/test-clock.ts';
import { type DatabaseProbe, openDatabaseProbe } from '../platform/health/probe.ts';
import { readMigrationNames } from '../platform/migrations/files.ts';
import { PROOF_READS } from '../reports/proof/store.ts';
import { SUMMARY_READS } from '../reports/summary-store.ts';

/**
 * The database connections of an instance. Slow work has separate connections, so that requests never wait for it. The job queue
 * opens its own connections.
 */
export interface Pools {
  db: Database;
  /** The pool of `db`, for the metrics. */
  pool: Pool;
  copies: CopyPool;
  streams: RowStreams;
  verifier: SnapshotReads;
  summaries: SnapshotReads;
  reports: ReportReads;
  /** Serves exports, proofs, summaries and payment reports. Undefined without DATABASE_REPLICA_URL. */
  replica: Replica | undefined;
  probe: DatabaseProbe;
  refusedWrites: RefusedWrites;
  /** Cancels exports, uploads and long reads, while other requests may still run. */
  cancelLongWork(): Promise<void>;
  close(): Promise<void>;
}

interface PoolOptions {
  connection: Connection;
  /** The address of PostgreSQL, if `connection` is the address of a pooler. */
  direct?: Connection;
  /** The URL of the pooler for requests. The health check tests whether the pooler accepts connections. */
  pooler?: string | undefined;
  testClock?: TestClock | undefined;
  /** Gets the changes of the replica's state, a warning for each report that failed on the replica, and refused writes. */
  log?: {
    info(message: string): void;
    warn(message: string): void;
    error(fields: object, message: string): void;
  };
  /** @param name - the name of the pool, for the log. */
  onConnectionLost?(name: string, error: Error): void;
}

const SILENT = { info: () => {}, warn: () => {}, error: () => {} };

export async function openPools(
  config: Config,
  {
    connection,
    direct = connection,
    pooler,
    testClock,
    log = SILENT,
    onConnectionLost = () => {},
  }: PoolOptions,
): Promise<Pools> {
  const { limits } = config;
  const optionsOf = (name: string) => ({
    connection: direct,
    testClock,
    limits,
    onConnectionLost: (error: Error) => onConnectionLost(name, error),
  });
  const refusedWrites = createRefusedWrites(log);
  const { db, pool, close } = openDatabase({
    ...optionsOf('request'),
    onStatementError: refusedWrites.note,
    connection,
    poolSize: config.DATABASE_POOL_SIZE,
    prepare: config.namedStatements,
    pooled: config.pooled,
  });
  const replica =
    config.DATABASE_REPLICA_URL === ''
      ? undefined
      : openReplica({
          primary: direct,
          replica: config.DATABASE_REPLICA_URL,
          maxLagMs: config.DATABASE_REPLICA_MAX_LAG * 1000,
          timeoutMs: limits.replicaMs,
          log,
        });
  const copies = openCopyPool({ ...optionsOf('copy'), replica });
  const streams = openRowStreams(optionsOf('list file'));
  const verifier = openSnapshotReads({
    ...optionsOf('proof'),
    ...PROOF_READS,
    timeoutMs: limits.proofMs,
    replica,
  });
  const summaries = openSnapshotReads({
    ...optionsOf('summary'),
    ...SUMMARY_READS,
    timeoutMs: limits.summaryMs,
    replica,
  });
  const reports = openReportReads(db, { ...optionsOf('report'), replica });
  const probe = openDatabaseProbe({
    connection: direct,
    migrations: await readMigrationNames(),
    pooler,
    timeoutMs: limits.probeMs,
    onConnectionLost: () => {}, // The request pool reports the same failure.
  });
  return {
    ...{ db, pool, copies, streams, verifier, summaries, reports, replica, probe, refusedWrites },
    async cancelLongWork() {
      await Promise.all([
        copies.close(),
        streams.close(),
        verifier.close(),
        summaries.close(),
        reports.close(),
      ]);
    },
    async close() {
      await Promise.all([probe.close(), replica?.close()]);
      await close();
    },
  };
}
