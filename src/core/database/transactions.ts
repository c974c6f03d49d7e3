import { setTimeout as delay } from 'node:timers/promises';
import {
  CompiledQuery,
  type DatabaseConnection,
  DummyDriver,
  Kysely,
  PostgresDialect,
  type QueryExecutor,
  sql,
  Transaction,
} from 'kysely';
import pg from 'pg';
import { AppError } from '../http/errors.ts';
import { Database, type Db, type Tx } from './db.ts';
import { CommitUnknown, isRetryable, isStale, sqlState } from './postgres-errors.ts';
import { namingClient } from './prepared-statements.ts';
import type { DB } from './tables.ts';

const MAX_RETRIES = 3;
/**
 * The maximum number of retries after stale statements. Each connection of a pool may have stale statements, and a pool has at most
 * 100 connections.
 */
const MAX_STALE_CONNECTIONS = 100;

/**
 * A transaction that pipelines its statements: each statement is sent immediately, without waiting for earlier answers.
 * PostgreSQL runs the statements in the order in which they were sent. `Promise.all` of several statements takes one round trip.
 */
class PipelinedTransaction extends Transaction<DB> {
  readonly database: Database;
  readonly #connection: DatabaseConnection;

  constructor(database: Database, executor: QueryExecutor, connection: DatabaseConnection) {
    const { dialect } = database;
    super({
      config: { dialect },
      dialect,
      driver: new DummyDriver(), // A transaction never uses its driver.
      executor: executor.withConnectionProvider({ provideConnection: (use) => use(connection) }),
    });
    this.database = database;
    this.#connection = connection;
  }

  /** Sends the statement before it returns, so that the commit cannot overtake it. */
  send(text: string, values: readonly unknown[]): Promise<unknown> {
    return this.#connection.executeQuery(CompiledQuery.raw(text, [...values]));
  }
}

/**
 * Sends the last statements of a transaction without waiting for their answers, which come together with the answer to the commit.
 * If one of the statements fails, the transaction fails and changes nothing. If the connection is lost after they were sent, it is
 * unknown whether the transaction was committed. The values are texts and numbers: a statement must not fail before it is sent.
 */
export async function sendWithCommit(
  tx: Tx,
  statements: readonly { text: string; values: readonly (string | number | readonly number[])[] }[],
): Promise<void> {
  if (tx instanceof PipelinedTransaction) {
    for (const { text, values } of statements) tx.send(text, values).catch(() => {}); // The commit throws the error.
  } else {
    for (const { text, values } of statements) await tx.executeQuery(CompiledQuery.raw(text, [...values]));
  }
}

/** @param db - a database, or one of its transactions. @returns the database. */
export function databaseOf(db: Db | Tx): Database {
  if (db instanceof Database) return db;
  if (db instanceof PipelinedTransaction) return db.database;
  throw new Error('Pass a database that openDatabase returned, or one of its transactions.');
}

/**
 * Runs the work in one transaction. Retries up to three times after a lost race, a deadlock or a serialization failure, and once
 * for each connection with stale named statements. If `db` is already a transaction, the work becomes a part of it.
 * @param startsWithReads whether the work reads or locks before it writes. If so, its first statements are sent together with
 * BEGIN. These statements must not write, because they would run outside a transaction if BEGIN were cancelled.
 * @throws CommitUnknown if it is unknown whether the transaction was committed.
 */
export async function inTransaction<T>(
  db: Db | Tx,
  work: (tx: Tx) => Promise<T>,
  { startsWithReads = false }: { startsWithReads?: boolean } = {},
): Promise<T> {
  if (isTx(db)) return work(db); // The outer transaction retries.
  for (let attempt = 1; ; attempt++) {
    try {
      return await runOnce(databaseOf(db), BEGIN, work, startsWithReads);
    } catch (error) {
      if (attempt > (isStale(error) ? MAX_STALE_CONNECTIONS : MAX_RETRIES) || !isRetryable(error)) {
        throw await withExistingId(db, error);
      }
      await delay(10 * attempt * (1 + Math.random()));
    }
  }
}

/**
 * Adds the id of the existing row to a DUPLICATE_ENTRY error. The failed work must already be rolled back. If the query for the
 * id fails or is slow, the id is omitted.
 */
async function withExistingId(db: Db | Tx, error: unknown): Promise<unknown> {
  if (!(error instanceof AppError) || !error.existing) return error;
  const lookup = error.existing.execute(db).then(
    ({ rows }) => rows[0]?.id,
    () => undefined,
  );
  const id = await Promise.race([
    lookup,
    delay(databaseOf(db).limits.existingIdMs, undefined, { ref: false }),
  ]);
  if (id !== undefined) error.details.id = id;
  return error;
}

/** Runs the work in a savepoint of the transaction, so that the transaction survives a failure of the work. */
export async function inSavepoint<T>(tx: Tx, work: () => Promise<T>): Promise<T> {
  await tx.executeQuery(SAVEPOINT);
  try {
    const result = await work();
    await tx.executeQuery(RELEASE);
    return result;
  } catch (error) {
    await tx.executeQuery(ROLLBACK_TO_SAVEPOINT);
    throw await withExistingId(tx, error);
  }
}

const SAVEPOINT = CompiledQuery.raw('savepoint work');
const RELEASE = CompiledQuery.raw('release savepoint work');
const ROLLBACK_TO_SAVEPOINT = CompiledQuery.raw('rollback to savepoint work');
const BEGIN = CompiledQuery.raw('begin');
const BEGIN_SNAPSHOT = CompiledQuery.raw('begin isolation level repeatable read read only');
const COMMIT = CompiledQuery.raw('commit');
const ROLLBACK = CompiledQuery.raw('rollback');
const IN_FAILED_TRANSACTION = '25P02';

function runOnce<T>(
  database: Database,
  begin: CompiledQuery,
  work: (tx: Tx) => Promise<T>,
  startsWithReads = false,
): Promise<T> {
  return database.connection().execute(async (reserved) => {
    const executor = reserved.getExecutor();
    const connection = await executor.provideConnection(async (held) => held);
    const begun = connection.executeQuery(begin);
    begun.catch(() => {}); // `await begun` and each statement throw the error.
    const pipeline = openPipeline(begun, connection);
    let result: T;
    try {
      if (!startsWithReads) await begun;
      result = await work(new PipelinedTransaction(database, executor, pipeline.connection));
      await begun;
    } catch (error) {
      pipeline.end();
      // A rollback fails only if the connection fails, and PostgreSQL then ends the transaction.
      await connection.executeQuery(ROLLBACK).catch(() => {});
      throw error;
    }
    pipeline.end();
    try {
      await connection.executeQuery(COMMIT);
    } catch (error) {
      if (isRolledBack(error)) throw error;
      throw new CommitUnknown('the answer to a commit was lost', { cause: error });
    }
    const failure = await pipeline.failure();
    if (failure instanceof pg.DatabaseError) throw failure; // The commit of a failed transaction is a rollback.
    if (failure) throw new CommitUnknown('a statement before a commit was not sent', { cause: failure });
    return result;
  });
}

/**
 * Whether PostgreSQL refused the commit, because of a constraint or a serialization failure. After any other failure, such as a
 * pooler that lost its server, the transaction may have been committed.
 */
function isRolledBack(error: unknown): boolean {
  return ['23', '40'].includes(sqlState(error)?.slice(0, 2) ?? '');
}

/**
 * A connection for the statements of one transaction. A statement resolves only after BEGIN, and fails if BEGIN fails. After a
 * failed statement, PostgreSQL refuses all later statements with "transaction is aborted", until a rollback to a savepoint. Here,
 * these statements fail with the error of the failed statement instead. After the end of the transaction, the pipeline sends no
 * statement.
 */
function openPipeline(begun: Promise<unknown>, connection: DatabaseConnection) {
  let failure: unknown;
  let hasEnded = false;
  let lastAnswer: Promise<unknown> = begun;
  async function send<R>(query: CompiledQuery) {
    if (hasEnded) throw new Error('The transaction has ended.');
    try {
      const answer = await connection.executeQuery<R>(query);
      if (query.sql === ROLLBACK_TO_SAVEPOINT.sql) failure = undefined;
      return answer;
    } catch (error) {
      failure ??= error;
      throw sqlState(error) === IN_FAILED_TRANSACTION ? failure : error;
    }
  }
  const pipelined: DatabaseConnection = {
    executeQuery: async <R>(query: CompiledQuery) => {
      const sent = send<R>(query);
      lastAnswer = sent;
      const [answer] = await Promise.all([sent, begun]);
      return answer;
    },
    streamQuery: (query, chunkSize) => connection.streamQuery(query, chunkSize),
  };
  return {
    connection: pipelined,
    end: () => {
      hasEnded = true;
    },
    /** The error of the first failed statement, if any, after all statements are answered. */
    failure: async () => {
      await lastAnswer.catch(() => {});
      return failure;
    },
  };
}

/** Runs the work in one transaction on a connection from another pool than `Database.pool`, then releases the connection. */
export async function onConnection<T>(client: pg.PoolClient, work: (tx: Tx) => Promise<T>): Promise<T> {
  const { query, release } = namingClient(client, false);
  const pool = { connect: async () => ({ query, release: () => {} }), end: async () => {} };
  try {
    return await new Kysely<DB>({ dialect: new PostgresDialect({ pool }) }).transaction().execute(work);
  } finally {
    release();
  }
}

/** Runs the work in a transaction in which each statement has a shorter time-out than usual. `isTimeout` recognizes the error. */
export function withTimeout<T>(db: Db, timeoutMs: number, work: (tx: Tx) => Promise<T>): Promise<T> {
  return runOnce(databaseOf(db), BEGIN, async (tx) => {
    await sql`select set_config('statement_timeout', ${String(timeoutMs)}, true)`.execute(tx);
    return work(tx);
  });
}

/**
 * Runs reads that all see the database as it was at the first read. If `db` is a transaction, the reads run in this transaction,
 * at its isolation level, and also see its changes.
 */
export async function inSnapshot<T>(db: Db | Tx, work: (tx: Tx) => Promise<T>): Promise<T> {
  if (isTx(db)) return work(db);
  return runOnce(databaseOf(db), BEGIN_SNAPSHOT, work, true);
}

function isTx(db: Db | Tx): db is Tx {
  return db.isTransaction;
}
