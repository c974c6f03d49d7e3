import { type ParseArgsConfig, parseArgs } from 'node:util';
import { readConfig } from '../config/config.ts';
import { ConfigError } from '../core/config-error.ts';
import type { Config, Context } from '../core/context.ts';
import { type Connection, openDatabase } from '../core/database/db.ts';
import { openReplica, type Replica } from '../core/database/replica.ts';
import { systemClock } from '../core/values/dates.ts';
import { EmbeddedPostgresError } from '../platform/embedded-postgres/error.ts';
import {
  findRunningEmbeddedPostgres,
  startEmbeddedPostgres,
} from '../platform/embedded-postgres/supervisor.ts';
import { MigrationError } from '../platform/migrations/runner.ts';
import {
  currencyOf,
  getJwtSecret,
  PreparationError,
  prepareDatabase,
} from '../start/database-preparation.ts';
import { BackupError } from './backup-file.ts';

/** A command was called incorrectly. The message is for the person who typed it. */
export class UsageError extends Error {}

/** Errors with a complete message for the operator, so that no stack is needed. */
const EXPECTED = [
  UsageError,
  BackupError,
  ConfigError,
  PreparationError,
  MigrationError,
  EmbeddedPostgresError,
];

/** Runs a command. After an error, sets exit code 1 and prints the error. Only an unexpected error is printed with its stack. */
export async function runCommand(work: (config: Config) => Promise<void>): Promise<void> {
  try {
    await work(readConfig(process.env, true));
  } catch (error) {
    process.exitCode = 1;
    const isExpected = EXPECTED.some((kind) => error instanceof kind);
    console.error(isExpected ? (error as Error).message : error);
  }
}

/** Reads the arguments of the command. @throws UsageError with the usage if the arguments are not as expected. */
export function readArguments<const T extends ParseArgsConfig>(usage: string, expected: T) {
  try {
    return parseArgs(expected);
  } catch (cause) {
    throw new UsageError(usage, { cause });
  }
}

/** Reads the only argument of a command. @throws UsageError with the usage if the command was called with other arguments. */
export function readSingleArgument(usage: string): string {
  const [argument, ...rest] = readArguments(usage, { allowPositionals: true }).positionals;
  if (!argument || rest.length > 0) throw new UsageError(usage);
  return argument;
}

export function reportLostConnection(error: Error): void {
  console.error(`A database connection was lost: ${error.message}`);
}

/** Migrates the database, then runs `work` with it. The database can be the embedded database of a running service. */
export async function withDatabase<T>(
  config: Config,
  work: (context: Context, connection: Connection) => Promise<T>,
): Promise<T> {
  return withConnection(config, async (connection) => {
    const currency = currencyOf(config);
    await prepareDatabase(connection, config, currency, { warn: console.error });
    const database = openDatabase({
      connection,
      limits: config.limits,
      poolSize: 2,
      prepare: config.namedStatements,
      onConnectionLost: reportLostConnection,
    });
    try {
      const secret = await getJwtSecret(database.db, config);
      const context = { db: database.db, clock: systemClock, config, currency, secret };
      return await work(context, connection);
    } finally {
      await database.close();
    }
  });
}

const WARNINGS = { info: () => {}, warn: (message: string) => console.error(message) };

/**
 * Runs `work` with the address of the database itself, not of a pooler. If the embedded database does not run, starts it before
 * `work` and stops it afterwards.
 */
export async function withConnection<T>(
  config: Config,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  if (config.directUrl !== '') return work(config.directUrl);
  const running = await findRunningEmbeddedPostgres(config.DATA_DIR);
  if (running) return work(running);
  const embedded = await startEmbeddedPostgres({ dataDir: config.DATA_DIR, log: WARNINGS });
  try {
    return await work(embedded.connection);
  } finally {
    await embedded.stop();
  }
}

/** The option of commands that can read the replica, see `withReplica`. */
export const REPLICA_OPTION = { replica: { type: 'boolean', default: false } } as const;

/** Runs `work`, with the replica if the command was called with --replica. */
export async function withReplica<T>(
  { DATABASE_REPLICA_URL: replica, DATABASE_REPLICA_MAX_LAG, limits }: Config,
  { isReplicaWanted, primary }: { isReplicaWanted: boolean; primary: Connection },
  work: (replica: Replica | undefined) => Promise<T>,
): Promise<T> {
  if (!isReplicaWanted) return work(undefined);
  if (replica === '') throw new UsageError('--replica requires the setting DATABASE_REPLICA_URL.');
  const opened = openReplica({
    primary,
    replica,
    maxLagMs: DATABASE_REPLICA_MAX_LAG * 1000,
    timeoutMs: limits.replicaMs,
    log: WARNINGS,
  });
  try {
    return await work(opened);
  } finally {
    await opened.close();
  }
}

/** The time of a snapshot as text, see `Snapshot` in core/database/replica.ts. */
export function timeOf(takenAtMs: number): string {
  return new Date(Date.now() - (performance.now() - takenAtMs)).toISOString();
}
