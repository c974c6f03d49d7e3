import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openCluster } from './cluster.ts';
import { codeOf, EmbeddedPostgresError } from './error.ts';
import { askOwner, makeWay, readServerFile, type ServerSettings } from './owner.ts';
import { findProgram } from './program.ts';
import { chooseAccount } from './run-as.ts';
import { findSafeFolder, makeSafeFolder } from './safe-files.ts';
import { chooseEndpoint, launch, ServerFailed } from './server.ts';

export interface EmbeddedPostgres {
  /** Settings for a node-postgres client or pool; they stay the same when the server is restarted. */
  readonly connection: ServerSettings;
  /** Ends the server by a fast shutdown; afterwards no process of it is left. */
  stop(): Promise<void>;
}

export interface Log {
  info(message: string): void;
  warn(message: string): void;
}

const takeFolderTimeoutMs = 60_000;
const firstRestartDelayMs = 100;
const longestRestartDelayMs = 10_000;

/**
 * Runs the real PostgreSQL inside `dataDir` (`postgres/` holds the data, `postgres.log` its log) for as long
 * as this process lives. It finds the program, an account that may run it, creates or opens the data, waits
 * for or ends what a killed process left behind, starts the server under a guardian that stops it when this
 * process dies, and starts it again should it end by itself.
 *
 * @throws EmbeddedPostgresError with one line for the reader, among others when another process owns the folder, and
 *   when another user could write to it.
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
    throw readable(error, folder);
  }
}

/** The connection of the server that a living process, this one or another, runs on the folder. */
export async function findRunningEmbeddedPostgres(dataDir: string): Promise<ServerSettings | undefined> {
  const folder = resolve(dataDir);
  try {
    const server = await readServerFile(join(await findSafeFolder(folder), 'postgres'));
    if (!server) return undefined;
    const { state } = await askOwner(server.connection);
    return state === 'owned' ? server.connection : undefined;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw readable(error, folder);
  }
}

async function start(folder: string, log: Log): Promise<EmbeddedPostgres> {
  const program = await findProgram();
  const account = await chooseAccount(program, folder);
  const cluster = await openCluster(folder, program, account);

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

  /** Two processes may start at the same time: PostgreSQL's own lock lets one through, the other looks again. */
  async function takeFolder(fixedPort = false) {
    const deadline = Date.now() + takeFolderTimeoutMs;
    for (;;) {
      await makeWay(cluster, halt.signal);
      try {
        return await launch({ folder, cluster, program, account, connection, signal: halt.signal });
      } catch (error) {
        if (!(error instanceof ServerFailed && error.mayPass) || Date.now() > deadline) throw error;
      }
      await sleep(100, undefined, { signal: halt.signal });
      if (!fixedPort) connection = await chooseEndpoint(cluster);
    }
  }

  function watch(): void {
    void server.ended.then((detail) => {
      if (halt.signal.aborted) return;
      log.warn(
        `PostgreSQL ended unexpectedly (${detail}) and is started again; its log is ${folder}/postgres.log`,
      );
      recovery = recover();
    });
  }

  /** Never gives up, only slows down: a full disk or a taken port may be put right while the service runs. */
  async function recover(): Promise<void> {
    for (let delayMs = firstRestartDelayMs; ; delayMs = Math.min(2 * delayMs, longestRestartDelayMs)) {
      try {
        await sleep(delayMs, undefined, { signal: halt.signal });
        server = await takeFolder(true);
        watch();
        log.info('PostgreSQL runs again');
        return;
      } catch (error) {
        if (halt.signal.aborted) return;
        log.warn(`PostgreSQL did not start again: ${readable(error, folder).message}`);
      }
    }
  }
}

function readable(error: unknown, folder: string): Error {
  if (!(error instanceof Error)) return new Error(String(error));
  const isSystemError = 'syscall' in error;
  if (!isSystemError) return error;
  return new EmbeddedPostgresError(
    `The data folder ${folder} cannot be used: ${error.message}. Make it writable or set DATA_DIR to another folder.`,
    { cause: error },
  );
}
