import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmod, lstat, mkdir, mkdtemp, open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { codeOf, EmbeddedPostgresError, lastFatalMessage, orIfMissing } from './error.ts';
import { spawnGuarded } from './guardian.ts';
import type { Program } from './program.ts';
import { giveTo, type SystemAccount } from './run-as.ts';
import { readPlainFile } from './safe-files.ts';

/** The superuser that initdb creates. The service connects as this user. */
export const databaseUser = 'ams';

const draftPrefix = '.postgres-new-';

/**
 * Opens the folder `postgres` in `folder`, or creates it. Returns its path.
 *
 * A new folder is created under another name, flushed to the disk and then renamed. So it is either complete or does not exist.
 * Incomplete folders of killed processes are removed at the next start.
 *
 * @throws EmbeddedPostgresError when the data belongs to another version of PostgreSQL, or is not a PostgreSQL data folder.
 */
export async function openCluster(
  folder: string,
  program: Program,
  account: SystemAccount,
  onCreate: (cluster: string) => void,
): Promise<string> {
  const cluster = join(folder, 'postgres');
  await removeStaleDrafts(folder);
  let version = await clusterVersion(cluster);
  if (version === undefined) {
    onCreate(cluster);
    version = await createCluster(folder, cluster, program, account);
  }
  if (version !== program.major) {
    throw new EmbeddedPostgresError(
      `The data in ${cluster} belongs to PostgreSQL ${version}, but this service contains PostgreSQL ${program.major}. ` +
        `Start a PostgreSQL ${version} server on this folder and set DATABASE_URL, or move the folder away.`,
    );
  }
  return cluster;
}

/** The password that the server requires on TCP, because other users of the machine can connect there. */
export async function readPassword(cluster: string): Promise<string> {
  return readPlainFile(join(cluster, 'password'));
}

async function createCluster(
  folder: string,
  cluster: string,
  program: Program,
  account: SystemAccount,
): Promise<string> {
  const draft = await mkdtemp(join(folder, `${draftPrefix}${process.pid}-`));
  const data = join(draft, 'data');
  const password = join(draft, 'password');
  try {
    // The account owns the contents of the draft, but not the draft itself, so it cannot replace `data` and `password` by links.
    await mkdir(data, 0o700);
    await writeFile(password, randomBytes(24).toString('base64url'), { mode: 0o600 });
    for (const path of [data, password]) await giveTo(account, path);
    if (account.uid !== undefined) await chmod(draft, 0o711);
    // With the builtin locale, sorting and letter case follow Unicode in the same way on every machine.
    await run(account, program.initdb, folder, [
      ...['-D', data, `--username=${databaseUser}`, '--encoding=UTF8'],
      ...['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'],
      ...['--auth-local=trust', '--auth-host=scram-sha-256', `--pwfile=${password}`],
    ]);
    await rename(password, join(data, 'password'));
    await syncToDisk(join(data, 'password'));
    await syncToDisk(data);
    await rename(data, cluster);
    await syncToDisk(folder);
    return program.major;
  } catch (error) {
    const version = await clusterVersion(cluster);
    if (version === undefined) throw error;
    return version; // Another process created the folder at the same time.
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

async function clusterVersion(cluster: string): Promise<string | undefined> {
  // The parent folders may be symbolic links (`makeSafeFolder` checks each of them). The folder `postgres` must not be one.
  if ((await orIfMissing(lstat(cluster), undefined))?.isSymbolicLink()) throw notData(cluster);
  const version = await orIfMissing(readPlainFile(join(cluster, 'PG_VERSION')), undefined);
  if (version !== undefined) return version.trim();
  if ((await entries(cluster)).length === 0) return undefined;
  throw notData(cluster);
}

function notData(cluster: string): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    `${cluster} is not a PostgreSQL data folder: move it away or set DATA_DIR to another folder.`,
  );
}

async function removeStaleDrafts(folder: string): Promise<void> {
  for (const name of await entries(folder)) {
    if (!name.startsWith(draftPrefix)) continue;
    const draft = join(folder, name);
    try {
      const pid = Number.parseInt(name.slice(draftPrefix.length), 10);
      if (await isStale(draft, pid)) await rm(draft, { recursive: true, force: true, maxRetries: 3 });
    } catch {
      // The process that made the draft is dead. But the initdb that it started may still run, and remove the draft itself. A
      // remaining draft does no harm, and the next start tries again.
    }
  }
}

/**
 * Whether the process that made a draft is dead. In a container, the service has the same process id at each start. So a draft
 * with this process's id is stale if it is older than this process.
 */
async function isStale(draft: string, pid: number): Promise<boolean> {
  if (pid !== process.pid) return !isAlive(pid);
  return (await stat(draft)).mtimeMs < Date.now() - process.uptime() * 1000;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}

async function run(account: SystemAccount, file: string, cwd: string, args: string[]): Promise<void> {
  const child = spawnGuarded(account, file, args, cwd, 'pipe');
  const streams = [child.stdout, child.stderr].map((stream) => (stream ? text(stream) : ''));
  const [[status], output, errors] = await Promise.all([once(child, 'exit'), ...streams]);
  if (status === 0) return;
  const printed = `${output}\n${errors}`;
  const reason =
    lastFatalMessage(printed) ??
    printed.split('\n').find((line) => line.includes('error')) ??
    `status ${status}`;
  throw new EmbeddedPostgresError(`PostgreSQL could not create its data in ${cwd}: ${reason}`);
}

function entries(folder: string): Promise<string[]> {
  return orIfMissing(readdir(folder), []);
}

async function syncToDisk(path: string): Promise<void> {
  if (process.platform === 'win32') return; // Windows cannot open folders, and initdb has flushed its files.
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
