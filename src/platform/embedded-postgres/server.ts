import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { type FileHandle, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { constants } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type pg from 'pg';
import { databaseUser, readPassword } from './cluster.ts';
import { EmbeddedPostgresError, lastFatalMessage } from './error.ts';
import { endGuarded, spawnGuarded } from './guardian.ts';
import { type ServerSettings, takeLock } from './owner.ts';
import type { Program } from './program.ts';
import { giveTo, type SystemAccount } from './run-as.ts';
import { openOwnFile } from './safe-files.ts';

export interface Server {
  /** Resolves with the reason when the server has ended, by `stop` or by itself. */
  readonly ended: Promise<string>;
  stop(): Promise<void>;
}

interface LaunchOptions {
  readonly folder: string;
  readonly cluster: string;
  readonly program: Program;
  readonly account: SystemAccount;
  readonly connection: ServerSettings;
  readonly signal: AbortSignal;
}

/**
 * The server ended before it was ready. `isTemporary`: its lock or port was in use, or another process of this service stopped it,
 * because it had no owner for too long. Another try then finds the owner, or succeeds.
 */
export class ServerFailed extends EmbeddedPostgresError {
  readonly isTemporary: boolean;

  constructor(cluster: string, detail: string) {
    super(`PostgreSQL could not start in ${cluster}: ${detail}`);
    this.isTemporary =
      detail === stoppedFromOutside ||
      /lock file .* (already exists|is empty)|still in use|any TCP\/IP sockets/.test(detail);
  }
}

const databaseName = 'ams';
const socketPort = 5432; // only a part of the socket's name
const longestSocketPath = process.platform === 'darwin' ? 103 : 107;
const longestLogBytes = 4 * 1024 * 1024;
const logCheckIntervalMs = 60_000;
const stoppedFromOutside = 'shut down from outside';
const failedStatus = 'failed'; // The reason is in PostgreSQL's log.

/** Starts the server. Resolves when the server accepts connections, this process holds its lock, and the database `ams` exists. */
export async function launch({
  folder,
  cluster,
  program,
  account,
  connection,
  signal,
}: LaunchOptions): Promise<Server> {
  const mark = `${process.pid}.${randomBytes(8).toString('hex')}`;
  await giveTo(account, cluster);
  const log = await openLog(join(folder, 'postgres.log'), account);

  const child = spawnGuarded(
    account,
    program.postgres,
    ['-D', cluster, ...settings(connection, mark)],
    folder,
    log.fd,
  );
  const serverEnd = new AbortController();
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (status, signal) => resolve(howItEnded(status, signal)));
  }).then(async (how) => {
    serverEnd.abort();
    // If only the guardian's main shell was killed, PostgreSQL still runs. When stdin closes, the watcher in the guardian's
    // script (guardian.ts) stops PostgreSQL.
    child.stdin?.destroy();
    const reason = await log.close();
    return how === failedStatus ? (reason ?? how) : how;
  });
  const failed = ended.then((detail) => {
    throw new ServerFailed(cluster, detail);
  });

  try {
    const either = AbortSignal.any([signal, serverEnd.signal]);
    const owner = await Promise.race([takeLock(connection, mark, either), failed]);
    await Promise.race([createDatabase(owner), failed]);
    return {
      ended,
      stop: holdLock(
        owner,
        () => takeLock(connection, mark, serverEnd.signal),
        () => endGuarded(child),
      ),
    };
  } catch (error) {
    await endGuarded(child);
    throw serverEnd.signal.aborted && !signal.aborted ? new ServerFailed(cluster, await ended) : error;
  }
}

/**
 * Uses a socket in the cluster's folder, because only the folder's owner can enter it. Uses TCP on Windows, or if the path is too
 * long for a socket.
 */
export async function chooseEndpoint(cluster: string): Promise<ServerSettings> {
  const common = { user: databaseUser, database: databaseName, ssl: false } as const;
  const socketPath = join(cluster, `.s.PGSQL.${socketPort}`);
  if (process.platform !== 'win32' && Buffer.byteLength(socketPath) <= longestSocketPath) {
    return { ...common, host: cluster, port: socketPort };
  }
  return { ...common, host: '127.0.0.1', port: await freePort(), password: await readPassword(cluster) };
}

function settings(connection: ServerSettings, mark: string): string[] {
  const isSocket = connection.password === undefined;
  return Object.entries({
    listen_addresses: isSocket ? '' : connection.host,
    port: connection.port,
    unix_socket_directories: isSocket ? `"${connection.host.replaceAll('"', '""')}"` : '',
    unix_socket_permissions: '0700',
    max_connections: 100,
    shared_buffers: '128MB',
    fsync: 'on',
    synchronous_commit: 'on',
    full_page_writes: 'on',
    timezone: 'UTC',
    log_timezone: 'UTC',
    // The service receives the errors of failed statements. The log would only repeat these errors, and they can contain personal
    // data.
    log_min_messages: 'log',
    log_min_error_statement: 'panic',
    log_checkpoints: 'off',
    'ams.owner': mark,
  }).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

async function createDatabase(owner: pg.Client): Promise<void> {
  const { rowCount } = await owner.query('select from pg_database where datname = $1', [databaseName]);
  if (rowCount === 0) await owner.query(`create database ${databaseName}`);
}

/**
 * Takes the lock again whenever the connection with the lock is lost, until the server ends. Returns the function that stops the
 * server.
 */
function holdLock(
  first: pg.Client,
  takeAgain: () => Promise<pg.Client>,
  endServer: () => Promise<void>,
): () => Promise<void> {
  let owner = first;
  let stopping = false;
  hold();
  return async () => {
    stopping = true;
    await Promise.race([owner.end(), new Promise((resolve) => setTimeout(resolve, 1_000).unref())]);
    await endServer();
  };

  function hold(): void {
    owner.once('end', async () => {
      if (stopping) return;
      try {
        owner = await takeAgain();
        hold();
      } catch {
        // The server has ended, so there is no lock to hold. `ended` reports the end.
      }
    });
  }
}

/** The server itself writes the file, so the log also contains messages from after the death of this process. */
async function openLog(path: string, { uid = 0, gid = 0 }: SystemAccount) {
  const handle = await openOwnFile(path, { uid, gid });
  await shorten(path, handle);
  const { size: start } = await handle.stat();
  let shortening: Promise<void> | undefined;
  const timer = setInterval(() => {
    shortening = shorten(path, handle).catch(() => undefined); // The disk may be full. The timer tries again in the next minute.
  }, logCheckIntervalMs).unref();

  /** Resolves to the last FATAL or PANIC message of the server. */
  async function close(): Promise<string | undefined> {
    clearInterval(timer);
    await shortening;
    try {
      return lastFatalMessage(await readTail(handle, start));
    } catch {
      return undefined; // The end of the server is reported even if its log cannot be read.
    } finally {
      await handle.close();
    }
  }
  return { fd: handle.fd, close };
}

/**
 * Rotates a log that is too long: copies it to `postgres.log.1` and empties it. The file is open for appending, so the next
 * message of the server begins the empty file.
 */
async function shorten(path: string, handle: FileHandle): Promise<void> {
  if ((await handle.stat()).size < longestLogBytes) return;
  const older = `${path}.1`;
  await rm(older, { force: true });
  await pipeline(
    handle.createReadStream({ start: 0, autoClose: false }),
    createWriteStream(older, { flags: 'wx', mode: 0o600 }),
  );
  await handle.truncate();
}

async function readTail(handle: FileHandle, start: number): Promise<string> {
  const { size } = await handle.stat();
  const from = Math.max(start > size ? 0 : start, size - 65_536);
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(size - from), 0, size - from, from);
  return buffer.toString('utf8', 0, bytesRead);
}

/** The reason why the server ended. The guardian's shell reports a program killed by signal n as status 128 + n. */
function howItEnded(status: number | null, guardianSignal: NodeJS.Signals | null): string {
  if (guardianSignal) return `its guardian was killed by ${guardianSignal}`;
  if (status === 0) return stoppedFromOutside;
  const signal = Object.entries(constants.signals).find(([, number]) => number === (status ?? 0) - 128)?.[0];
  return signal ? `killed by ${signal}` : failedStatus;
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve, reject) => {
    probe.once('error', reject).listen(0, '127.0.0.1', resolve);
  });
  const address = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  if (address === null || typeof address === 'string')
    throw new Error('No free TCP port was found for PostgreSQL.');
  return address.port;
}
