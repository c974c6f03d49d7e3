import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openCluster } from './cluster.ts';
import { EmbeddedPostgresError, orIfMissing } from './error.ts';
import { askOwner, readServerFile, type ServerSettings, waitUntilNoServer } from './owner.ts';
import { findProgram } from './program.ts';
import { chooseAccount } from './run-as.ts';
import { findSafeFolder, makeSafeFolder } from './safe-files.ts';
import { chooseEndpoint, launch, ServerFailed } from './server.ts';

export interface EmbeddedPostgres {
  /** Settings for a node-postgres client or pool. They stay the same when the server is restarted. */
  readonly connection: ServerSettings;
  /** Ends the server and all its processes by a fast shutdown. */
  stop(): Promise<void>;
}

interface Log {
  info(message: string): void;
  warn(message: string): void;
}

const takeFolderTimeoutMs = 60_000;
const firstRestartDelayMs = 100;
const longestRestartDelayMs = 10_000;

/**
 * Runs PostgreSQL in `dataDir` (`postgres/` contains the data, `postgres.log` the log) until `stop` or the end of this process.
 * Finds the program and a user that can run it. Opens or creates the data. If a killed process left a server behind, waits
 * until that server ends, or ends it. Starts the server under a guardian, which stops the server when this process dies. If the
 * server ends by itself, starts it again.
 *
 * @throws EmbeddedPostgresError with one line for the operator, for example when another process owns the folder, or another user
 * could write to it.
 */
export async function startEmbeddedPostgres(options: {
  dataDir: string;
  log: Log;
}): Promise<EmbeddedPostgres> {
  const { log } = options;
  const folder = resolve(options.dataDir);
  try {
    return await start(await makeSafeFolder(folder), log);
  } catch (error) {
    throw toReadableError(error, folder);
  }
}

/** Settings to connect to the server that a process of the service runs on the folder. Undefined if there is no such server. */
export async function findRunningEmbeddedPostgres(dataDir: string): Promise<ServerSettings | undefined> {
  const folder = resolve(dataDir);
  try {
    const real = await orIfMissing(findSafeFolder(folder), undefined);
    const server = real === undefined ? undefined : await readServerFile(join(real, 'postgres'));
    if (!server) return undefined;
    const { state } = await askOwner(server.connection);
    return state === 'owned' ? server.connection : undefined;
  } catch (error) {
    throw toReadableError(error, folder);
  }
}

async function start(folder: string, log: Log): Promise<EmbeddedPostgres> {
  const program = await findProgram();
  const account = await chooseAccount(program, folder);
  const cluster = await openCluster(folder, program, account, (path) =>
    log.info(`Creating a PostgreSQL database in ${path}`),
  );

  const halt = new AbortController();
  let connection = await chooseEndpoint(cluster);
  let server = await takeFolder();
  let recovery: Promise<void> | undefined;
  watch();
  log.info(
    `PostgreSQL ${program.major} runs in ${cluster} (${account.description}); its log is ${folder}/postgres.log`,
  );

  return {
    connection,
    stop: async () => {
      halt.abort();
      await recovery;
      await server.stop();
    },
  };

  /** If two processes start at the same time, PostgreSQL's own lock lets one start its server, and the other tries again. */
  async function takeFolder({ keepsPort = false } = {}) {
    const deadline = Date.now() + takeFolderTimeoutMs;
    for (;;) {
      await waitUntilNoServer(cluster, halt.signal);
      try {
        return await launch({ folder, cluster, program, account, connection, signal: halt.signal });
      } catch (error) {
        if (!(error instanceof ServerFailed && error.isTemporary) || Date.now() > deadline) throw error;
      }
      await sleep(100, undefined, { signal: halt.signal });
      if (!keepsPort) connection = await chooseEndpoint(cluster);
    }
  }

  function watch(): void {
    void server.ended.then((detail) => {
      if (halt.signal.aborted) return;
      log.warn(
        `PostgreSQL ended unexpectedly (${detail}) and is being restarted; its log is ${folder}/postgres.log`,
      );
      recovery = recover();
    });
  }

  /** Retries without limit, with increasing pauses: an operator can free the disk or the port while the service runs. */
  async function recover(): Promise<void> {
    for (let delayMs = firstRestartDelayMs; ; delayMs = Math.min(2 * delayMs, longestRestartDelayMs)) {
      try {
        await sleep(delayMs, undefined, { signal: halt.signal });
        server = await takeFolder({ keepsPort: true });
        watch();
        log.info('PostgreSQL runs again');
        return;
      } catch (error) {
        if (halt.signal.aborted) return;
        log.warn(
          `PostgreSQL could not be restarted and will be retried: ${toReadableError(error, folder).message}`,
        );
      }
    }
  }
}

function toReadableError(error: unknown, folder: string): Error {
  if (!(error instanceof Error)) return new Error(String(error));
  const isSystemError = 'syscall' in error;
  if (!isSystemError) return error;
  return new EmbeddedPostgresError(
    `The data folder ${folder} cannot be used: ${error.message}. Make it writable or set DATA_DIR to another folder.`,
    { cause: error },
  );
}
