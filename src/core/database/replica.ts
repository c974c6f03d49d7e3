import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { AppError } from '../http/errors.ts';
import { type Connection, openPool } from './db.ts';
import { asUnavailable, isTimeout } from './postgres-errors.ts';

/**
 * A hot standby that serves reports, so that the reports do not slow down the primary. For each report, the service asks the
 * primary for the last position in its write-ahead log, and reads the standby only after the standby has replayed the log up to
 * this position. So a report shows everything that this or another instance acknowledged before the report was requested. The
 * service cannot compare times instead, because the time of the last replayed transaction does not change while nothing is
 * written.
 */
export interface Replica {
  /** The address of the replica, for pools. */
  readonly connection: Connection;
  /**
   * Runs a read on the replica, after the replica has replayed everything that was acknowledged before this call.
   * @param pool - the connections to the replica.
   * @returns undefined if the primary must serve the report, for example because the replica failed during the read.
   */
  read<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<Snapshot<T> | undefined>;
  status(): ReplicaStatus;
  close(): Promise<void>;
}

/** What was read from one snapshot of the database. */
export interface Snapshot<T> {
  value: T;
  /** A time of `performance.now`. The snapshot contains everything that was acknowledged before this time. */
  takenAtMs: number;
}

/**
 * Reads the primary if the replica cannot serve the read.
 * @param found - the result of `Replica.read`, if there is a replica.
 */
export async function orReadPrimary<T>(
  found: Promise<Snapshot<T> | undefined> | undefined,
  readPrimary: () => Promise<T>,
): Promise<Snapshot<T>> {
  const snapshot = await found;
  if (snapshot) return snapshot;
  const takenAtMs = performance.now();
  return { value: await readPrimary(), takenAtMs };
}

/**
 * - behind: the replica is further behind than the limit, or a failover replaced the primary less than a minute ago.
 * - not a standby: the server is not in recovery, or is a standby of another database. After a failover, this server can be the
 *   former primary, which does not have the newest payments.
 */
export type ReplicaState = 'up' | 'behind' | 'not a standby' | 'down';

interface ReplicaStatus {
  state: ReplicaState;
  /** How far the replica was behind at the last check, with a precision of a second. Undefined if it is not known. */
  lagSeconds: number | undefined;
  /** The number of reports of this instance, by the server on which they started. */
  reports: { replica: number; primary: number };
}

interface ReplicaOptions {
  primary: Connection;
  replica: Connection;
  /** The greatest allowed lag of the replica, and the longest time that a report waits for the replica. */
  maxLagMs: number;
  /** The time limit of a check of the primary or the replica. */
  timeoutMs: number;
  log: { info(message: string): void; warn(message: string): void };
}

const INTERVAL_MS = 1_000;
const POLL_MS = 10;
/** Limits the length of `awaited` while the replica replays nothing. */
const MAX_POSITIONS = 1_000;
/**
 * After a failover, a standby may have changes that were never acknowledged and that the new primary does not have. The standby
 * needs some seconds to notice this, and to discard the changes.
 */
const PAUSE_AFTER_FAILOVER_MS = 60_000;

const DATABASE = `(select system_identifier from pg_control_system()) || ' '
  || (select oid from pg_database where datname = current_database())`;
const POSITION = `
  select pg_wal_lsn_diff(lsn, '0/0')::text as position, left(pg_walfile_name(lsn), 8) as timeline, ${DATABASE} as database
  from (select pg_current_wal_flush_lsn() as lsn) flushed`;
const PROGRESS = `
  select pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0')::text as position, pg_is_in_recovery() as is_standby,
    ${DATABASE} as database`;

/** A position in the write-ahead log of the primary. */
interface Position {
  askedAtMs: number;
  position: bigint;
  database: string;
}

/** How far a standby of the database has replayed the log, or `not a standby`. */
type Progress = bigint | 'not a standby';

export function openReplica({ primary, replica, maxLagMs, timeoutMs, log }: ReplicaOptions): Replica {
  const primaryPool = openMonitor(primary, timeoutMs);
  const replicaPool = openMonitor(replica, timeoutMs);
  const reports = { replica: 0, primary: 0 };
  let state: ReplicaState | undefined;
  let lagMs: number | undefined;
  let timeline: string | undefined;
  let pausedUntilMs = 0;
  /** Positions of the primary that the replica has not reached yet, oldest first. */
  let awaited: Position[] = [];
  /** A time of `performance.now`. The replica has everything that the primary had at this time. */
  let currentAtMs: number | undefined;
  let failures = 0;
  /** The connections that reports are using. */
  const working = new Set<pg.PoolClient>();
  const watchedPools = new WeakSet<pg.Pool>();

  async function readPosition(): Promise<Position> {
    const askedAtMs = performance.now();
    const { rows } = await primaryPool.query<{ position: string; timeline: string; database: string }>(
      POSITION,
    );
    const [row] = rows;
    if (!row) throw new Error('The primary did not report its position.');
    if (timeline !== undefined && row.timeline !== timeline)
      pausedUntilMs = performance.now() + PAUSE_AFTER_FAILOVER_MS;
    timeline = row.timeline;
    return { askedAtMs, position: BigInt(row.position), database: row.database };
  }

  async function checkState(): Promise<void> {
    let newest: Position;
    try {
      newest = await readPosition();
    } catch {
      return; // Without the primary, the lag of the replica is unknown. /health reports the failure of the primary.
    }
    try {
      const progress = await askReplica(newest.database);
      failures = 0;
      if (progress === 'not a standby') return change('not a standby');
      awaited = [...awaited, newest].slice(0, MAX_POSITIONS);
      const reached = awaited.findLast(({ position }) => position <= progress);
      currentAtMs = reached?.askedAtMs ?? currentAtMs;
      awaited = awaited.filter(({ position }) => position > progress);
      change(!isPaused() && isWithinLag() ? 'up' : 'behind');
    } catch {
      change('down');
      failures += 1;
      // Otherwise reports would wait for a switched-off server until their own time limits.
      if (failures > 1) for (const client of working) client.connection.stream.destroy();
    }
  }

  async function askReplica(database: string): Promise<Progress> {
    const client = await replicaPool.connect();
    try {
      const progress = await readProgress(client, database, timeoutMs);
      client.release(progress === 'not a standby'); // Through a proxy, a new connection may reach another server.
      return progress;
    } catch (error) {
      client.release(true); // The connection may still wait for the answer.
      throw error;
    }
  }

  function isPaused(): boolean {
    return performance.now() < pausedUntilMs;
  }

  function isWithinLag(): boolean {
    return currentAtMs !== undefined && performance.now() - currentAtMs <= maxLagMs;
  }

  function change(to: ReplicaState): void {
    const isReachable = to === 'up' || to === 'behind';
    lagMs = isReachable && currentAtMs !== undefined ? performance.now() - currentAtMs : undefined;
    if (to === state) return;
    const isFirst = state === undefined;
    state = to;
    if (to !== 'up') log.warn(`Reports use the primary: the replica is ${EXPLAINED[to]}.`);
    else if (!isFirst) log.info('Reports use the replica again.');
  }

  /** @returns undefined if the primary must serve the report. */
  async function connect(pool: pg.Pool): Promise<Snapshot<pg.PoolClient> | undefined> {
    let client: pg.PoolClient | undefined;
    try {
      const wanted = await readPosition();
      if (isPaused()) return undefined;
      client = await pool.connect();
      watch(pool);
      working.add(client);
      const isReached = await waitUntilReached(client, wanted);
      if (isReached) return { value: client, takenAtMs: wanted.askedAtMs };
      client.release(isReached === undefined); // Close a connection to a server that is not a standby of this database.
    } catch (error) {
      client?.release(true);
      warn(error);
    }
    return undefined;
  }

  function watch(pool: pg.Pool): void {
    if (watchedPools.has(pool)) return;
    watchedPools.add(pool);
    pool.on('release', (_error, client) => working.delete(client));
  }

  /** @returns whether the standby reached the position in time, or undefined if the server is not a standby of this database. */
  async function waitUntilReached(client: pg.PoolClient, wanted: Position): Promise<boolean | undefined> {
    for (;;) {
      const progress = await readProgress(client, wanted.database, timeoutMs);
      if (progress === 'not a standby') return undefined;
      if (progress >= wanted.position) return true;
      if (performance.now() - wanted.askedAtMs > maxLagMs) return false;
      await sleep(POLL_MS);
    }
  }

  function warn(error: unknown): void {
    log.warn(`A report uses the primary instead of the replica: ${(error as Error).message}`);
  }

  async function read<T>(
    pool: pg.Pool,
    work: (client: pg.PoolClient) => Promise<T>,
  ): Promise<Snapshot<T> | undefined> {
    await firstCheck;
    const found = state === 'up' ? await connect(pool) : undefined;
    reports[found ? 'replica' : 'primary'] += 1;
    if (!found) return undefined;
    try {
      return { value: await work(found.value), takenAtMs: found.takenAtMs };
    } catch (error) {
      if (!isFailureOfServer(error)) throw error;
      warn(error);
      return undefined;
    }
  }

  const firstCheck = checkState();
  let isClosed = false;
  void keepChecking();

  async function keepChecking(): Promise<void> {
    await firstCheck;
    while (!isClosed) {
      await sleep(INTERVAL_MS, undefined, { ref: false });
      if (!isClosed) await checkState();
    }
  }

  return {
    connection: replica,
    read,
    status: () => ({
      state: state ?? 'down',
      lagSeconds: lagMs === undefined ? undefined : lagMs / 1000,
      reports: { ...reports },
    }),
    async close() {
      isClosed = true;
      await Promise.all([primaryPool.end(), replicaPool.end()]);
    },
  };
}

const EXPLAINED: Record<Exclude<ReplicaState, 'up'>, string> = {
  behind: 'too far behind, or the primary has just changed',
  'not a standby': 'not a standby of this database',
  down: 'not reachable',
};

async function readProgress(client: pg.PoolClient, database: string, timeoutMs: number): Promise<Progress> {
  const { rows } = await client.query<{ position: string | null; is_standby: boolean; database: string }>({
    text: PROGRESS,
    query_timeout: timeoutMs,
  } as pg.QueryConfig);
  const [row] = rows;
  return row?.is_standby && row.position !== null && row.database === database
    ? BigInt(row.position)
    : 'not a standby';
}

/**
 * Whether the read may run again on the primary: the connection was lost, or the replica had to remove a row that the read needed
 * ("conflict with recovery"). A read that timed out on the replica would also time out on the primary.
 */
function isFailureOfServer(error: unknown): boolean {
  return !(error instanceof AppError) && !isTimeout(error) && asUnavailable(error) !== undefined;
}

/** A pool of one connection for reading positions in the log, so that these reads never wait for the work of a report. */
function openMonitor(connection: Connection, timeoutMs: number): pg.Pool {
  return openPool({
    connection,
    onConnectionLost: () => {}, // The next query reports the failure.
    application_name: 'account-management-service replica',
    max: 1,
    connectionTimeoutMillis: timeoutMs,
    idleTimeoutMillis: 30_000,
    query_timeout: timeoutMs,
    keepAlive: true,
  });
}
