import { execFile } from 'node:child_process';
import { readFile, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { databaseUser, readPassword } from './cluster.ts';
import { codeOf, EmbeddedPostgresError, orIfMissing } from './error.ts';
import { sendSignal } from './guardian.ts';
import { readPlainFile } from './safe-files.ts';

/** Settings for a node-postgres client. `host` is the socket's folder, or 127.0.0.1 with a password. */
export interface ServerSettings {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
  readonly password?: string;
  /** Set so that PGSSLMODE in the environment has no effect: the embedded server has no TLS. */
  readonly ssl: false;
}

/*
 * The owner of the folder is the process that holds an advisory lock on the folder's server. PostgreSQL releases the lock when the
 * process ends. A process id would not be enough, because it can be reused. The process that starts a server writes a mark
 * (`<pid>.<random>`) to the setting `ams.owner` of the server. Only the process that knows this mark takes the lock.
 */
const lockKeys = '6385011, 1'; // 'ams' in ASCII

const emptyFileGraceMs = 1_000;
const ownedGraceMs = 500;
const unownedGraceMs = 2_000;
const fastShutdownTimeoutMs = 10_000;
const noServerTimeoutMs = 60_000;
const takeLockTimeoutMs = 600_000;

/**
 * Returns when no server runs on the cluster any more. If the owner of the server is dead, the guardian stops the server. If the
 * guardian is also dead, this function stops the server.
 *
 * @throws EmbeddedPostgresError when another process owns the folder, or when the server does not stop within a minute. A process
 * is the owner only if it has held the lock for half a second: the lock of a killed owner remains for a moment.
 */
export async function waitUntilNoServer(cluster: string, signal: AbortSignal): Promise<void> {
  const began = Date.now();
  let state: Answer['state'] | undefined;
  let since = began;
  let signalled: NodeJS.Signals | undefined;
  for (;;) {
    const server = await readServerFile(cluster);
    if (!server) return removeEmptyFile(cluster);
    const answer = await askOwner(server.connection);
    const holder = await holderOf(server.pid, cluster);
    if (answer.state === 'silent' && holder === 'nobody') return; // PostgreSQL itself replaces the file of a dead server.
    if (answer.state === 'silent' && holder === 'another program') {
      // PostgreSQL refuses to start while a process with the id in this file is alive, even if the process is another program.
      if ((await readServerFile(cluster))?.pid === server.pid) await rm(join(cluster, 'postmaster.pid'));
      return;
    }

    if (answer.state !== state) since = Date.now();
    state = answer.state;
    const lastedMs = Date.now() - since;
    if (answer.state === 'owned' && lastedMs > ownedGraceMs) {
      throw new EmbeddedPostgresError(
        `The data folder ${dirname(cluster)} is in use by another process of this service (pid ${answer.pid}): ` +
          'stop that one first, or set DATA_DIR to another folder.',
      );
    }
    if (holder === 'server' && answer.state === 'unowned' && lastedMs > unownedGraceMs && !signalled) {
      signalled = 'SIGINT'; // fast shutdown
      sendSignal(server.pid, signalled);
    } else if (holder === 'server' && signalled === 'SIGINT' && lastedMs > fastShutdownTimeoutMs) {
      signalled = 'SIGQUIT'; // immediate shutdown
      sendSignal(server.pid, signalled);
    }
    if (Date.now() - began > noServerTimeoutMs) {
      throw new EmbeddedPostgresError(
        `A PostgreSQL server (pid ${server.pid}) holds the data folder ${dirname(cluster)} but does not answer or stop: ` +
          'wait until it has recovered, or end it; then start this service again.',
      );
    }
    await sleep(20, undefined, { signal });
  }
}

/**
 * Removes an empty `postmaster.pid`, which a crash of the machine can leave. PostgreSQL would assume that a server is starting. A
 * file that was written in the last second stays, because a server may really be starting.
 */
async function removeEmptyFile(cluster: string): Promise<void> {
  const path = join(cluster, 'postmaster.pid');
  const file = await orIfMissing(stat(path), undefined);
  if (file?.size === 0 && file.mtimeMs < Date.now() - emptyFileGraceMs) await rm(path, { force: true });
}

/** Waits until the server that has the mark accepts connections. Returns a connection that holds the lock of this server. */
export async function takeLock(
  connection: ServerSettings,
  mark: string,
  signal: AbortSignal,
): Promise<pg.Client> {
  const deadline = Date.now() + takeLockTimeoutMs; // A recovery after a crash can take long.
  for (let delayMs = 5; ; delayMs = Math.min(delayMs + 5, 100)) {
    signal.throwIfAborted();
    try {
      const client = await connect(connection);
      let taken = false;
      try {
        taken = await tryLock(client, mark);
        if (taken) return client;
      } finally {
        if (!taken) await client.end();
      }
    } catch (error) {
      const isRefused = codeOf(error)?.startsWith('28') ?? false; // Waiting does not help: the password or pg_hba.conf is wrong.
      if (isRefused || Date.now() > deadline) throw error;
    }
    await sleep(delayMs, undefined, { signal });
  }
}

async function tryLock(client: pg.Client, mark: string): Promise<boolean> {
  const { rows } = await client.query<{ taken: boolean }>(
    `select case when current_setting('ams.owner', true) = $1
       then pg_try_advisory_lock(${lockKeys}) else false end as taken`,
    [mark],
  );
  return rows[0]?.taken === true;
}

type Answer =
  | { readonly state: 'owned'; readonly pid: string }
  /** The server answers, but nobody holds the lock: the owner will take the lock soon, or is dead. */
  | { readonly state: 'unowned' }
  /** The server starts, recovers or ends. */
  | { readonly state: 'busy' }
  | { readonly state: 'silent' };

export async function askOwner(connection: ServerSettings): Promise<Answer> {
  try {
    const client = await connect(connection);
    try {
      const { rows } = await client.query<{ pid: string }>(
        `select split_part(current_setting('ams.owner', true), '.', 1) as pid
         from pg_locks where locktype = 'advisory' and granted and (classid, objid) = (${lockKeys})`,
      );
      return rows[0] ? { state: 'owned', pid: rows[0].pid } : { state: 'unowned' };
    } finally {
      await client.end();
    }
  } catch (error) {
    return { state: codeOf(error)?.startsWith('57') ? 'busy' : 'silent' };
  }
}

/** The contents of `postmaster.pid`. The server removes the file at an orderly end. */
export async function readServerFile(
  cluster: string,
): Promise<{ pid: number; connection: ServerSettings } | undefined> {
  const text = await orIfMissing(readPlainFile(join(cluster, 'postmaster.pid')), '');
  const [pid, , , port, socketFolder, address] = text.split('\n');
  if (!pid) return undefined; // No server runs, or it has not written the file yet.
  const base = { port: Number(port), user: databaseUser, database: 'ams', ssl: false } as const;
  if (socketFolder) return { pid: Number(pid), connection: { ...base, host: socketFolder } };
  const password = await orIfMissing(readPassword(cluster), undefined);
  if (password === undefined) return undefined;
  return { pid: Number(pid), connection: { ...base, host: address || '127.0.0.1', password } };
}

/** Connects to `postgres`, not to `ams`: `ams` may not exist yet, and a connection to it would prevent copying or dropping it. */
async function connect(connection: ServerSettings): Promise<pg.Client> {
  const client = new pg.Client({
    ...connection,
    database: 'postgres',
    application_name: 'ams owner',
    connectionTimeoutMillis: 5_000,
    query_timeout: 10_000,
  });
  client.on('error', () => {
    // The connection was lost. The caller gets the `end` event of the client, and a running query fails.
  });
  try {
    await client.connect();
  } catch (error) {
    client.end().catch(() => undefined); // This only closes the socket. The important error is thrown.
    throw error;
  }
  return client;
}

/** Which process has the id from `postmaster.pid`: the server, or another program that got the id later. */
async function holderOf(pid: number, cluster: string): Promise<'server' | 'another program' | 'nobody'> {
  try {
    process.kill(pid, 0);
    if (process.platform === 'win32') return 'server';
    return (await commandLine(pid)).includes(`-D ${cluster} -c `) ? 'server' : 'another program';
  } catch {
    return 'nobody'; // The process ended or belongs to another user. PostgreSQL also ignores processes of other users.
  }
}

async function commandLine(pid: number): Promise<string> {
  if (process.platform === 'linux')
    return (await readFile(`/proc/${pid}/cmdline`, 'utf8')).replaceAll('\0', ' ');
  const { stdout } = await promisify(execFile)('ps', ['-ww', '-p', String(pid), '-o', 'command=']);
  return stdout;
}
