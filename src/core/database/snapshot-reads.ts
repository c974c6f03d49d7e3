import { sql } from 'kysely';
import type pg from 'pg';
import { createConcurrencyLimit } from '../concurrency-limit.ts';
import { type DatabaseOptions, type Db, openDatabase, type Tx } from './db.ts';
import { orReadPrimary, type Replica, type Snapshot } from './replica.ts';
import { inSnapshot, onConnection } from './transactions.ts';

/** A snapshot pool: a few separate connections for long consistent reads. Reads use the replica if it can serve them. */
export interface SnapshotReads {
  /**
   * Runs the work on a snapshot of the database. Waits a few seconds for a free connection. If the replica fails, the work runs
   * again on the primary.
   * @param caller see `callerOf` in access.ts.
   * @throws AppError 429 or 503 like `ConcurrencyLimit.enter`. After `timeoutMs`, an error for which the server answers 503.
   */
  read<T>(caller: string, work: (tx: Tx) => Promise<T>): Promise<Snapshot<T>>;
  /** Cancels running reads. */
  close(): Promise<void>;
}

interface SnapshotReadOptions
  extends Pick<DatabaseOptions, 'connection' | 'onConnectionLost' | 'testClock' | 'limits'> {
  replica?: Replica | undefined;
  /** A plural noun for the reads, used in error messages. */
  what: string;
  /** The maximum number of reads at the same time. */
  connections: number;
  /** The longest time for the whole work. */
  timeoutMs: number;
}

const MAX_PER_CALLER = 4;
const MAX_WAITING = 50;

export function openSnapshotReads({
  what,
  connections,
  timeoutMs,
  replica,
  ...options
}: SnapshotReadOptions): SnapshotReads {
  const primary = openSnapshotPool({ ...options, connections, timeoutMs });
  const standby = replica && openStandbyPool(replica, { ...options, connections, timeoutMs });
  const slots = createConcurrencyLimit({
    what,
    slots: connections,
    maxPerCaller: MAX_PER_CALLER,
    maxWaiting: MAX_WAITING,
    waitMs: options.limits.slotMs,
  });

  async function read<T>(caller: string, work: (tx: Tx) => Promise<T>): Promise<Snapshot<T>> {
    const leave = await slots.enter(caller);
    try {
      const untilMs = performance.now() + timeoutMs;
      return await orReadPrimary(standby?.read(work, untilMs), async () =>
        primary.read(await primary.pool.connect(), work, untilMs),
      );
    } finally {
      leave();
    }
  }

  async function close(): Promise<void> {
    slots.close();
    await Promise.all([primary.close(), standby?.close()]);
  }

  return { read, close };
}

/** Short reads for reports. They use the replica if it can serve them, and otherwise the connections of requests. */
export interface ReportReads {
  read<T>(work: (tx: Tx) => Promise<T>): Promise<Snapshot<T>>;
  close(): Promise<void>;
}

const REPORT_CONNECTIONS = 4;

export function openReportReads(
  db: Db,
  { replica, ...options }: Omit<SnapshotReadOptions, 'what' | 'connections' | 'timeoutMs'>,
): ReportReads {
  const timeoutMs = options.limits.statementMs;
  const standby =
    replica && openStandbyPool(replica, { ...options, connections: REPORT_CONNECTIONS, timeoutMs });
  return {
    read: (work) =>
      orReadPrimary(standby?.read(work, performance.now() + timeoutMs), () => inSnapshot(db, work)),
    close: async () => standby?.close(),
  };
}

type PoolOptions = Omit<SnapshotReadOptions, 'what' | 'replica'>;

function openStandbyPool(replica: Replica, options: PoolOptions) {
  const { pool, read, close } = openSnapshotPool({ ...options, connection: replica.connection });
  return {
    /** @returns undefined if the primary must serve the read. */
    read: <T>(work: (tx: Tx) => Promise<T>, untilMs: number) =>
      replica.read(pool, (client) => read(client, work, untilMs)),
    close,
  };
}

function openSnapshotPool({ connections, timeoutMs, ...options }: PoolOptions) {
  const { pool, close: closePool } = openDatabase({
    ...options,
    poolSize: connections,
    prepare: false,
    statementTimeoutMs: timeoutMs,
  });
  const working = new Set<pg.PoolClient>();
  let isClosing = false;

  /** @param untilMs the time of `performance.now` at which the read is cancelled. */
  async function read<T>(client: pg.PoolClient, work: (tx: Tx) => Promise<T>, untilMs: number): Promise<T> {
    working.add(client);
    if (isClosing) cancel(client); // `close` did not see this connection, because it was still being opened.
    const timer = setTimeout(() => cancel(client), untilMs - performance.now());
    try {
      return await onConnection(client, async (tx) => {
        await sql`set transaction isolation level repeatable read, read only`.execute(tx);
        // With this work_mem, sums over all rows sort and hash in memory.
        await sql`set local work_mem = '64MB'`.execute(tx);
        return work(tx);
      });
    } finally {
      clearTimeout(timer);
      working.delete(client);
    }
  }

  async function close(): Promise<void> {
    isClosing = true;
    for (const client of working) cancel(client);
    await closePool();
  }

  return { pool, read, close };
}

/** Closes the connection. The server ends the statement after its statement_timeout at the latest. */
function cancel(client: pg.PoolClient): void {
  client.connection.stream.destroy(); // `end` would wait for the answer.
}
