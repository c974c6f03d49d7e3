import { execFile } from 'node:child_process';
import { lchown, lstat, readdir, readFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { EmbeddedPostgresError, orIfMissing } from './error.ts';
import type { Program } from './program.ts';

/** The user that PostgreSQL's programs run as. */
export interface SystemAccount {
  readonly description: string;
  /** Words before the command, such as `unshare` and its options. */
  readonly prefix: readonly string[];
  /** The user id for `spawn`. Set only if this process runs as root and the programs run as another user. */
  readonly uid?: number;
  readonly gid?: number;
}

interface User {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/** The variables that the programs need. The service's own variables (secrets, PGDATA, LC_ALL) are not passed on. */
export const programEnvironment = { PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin', LC_ALL: 'C' };

const probeTimeoutMs = 10_000;

/**
 * Chooses the user that PostgreSQL runs as: the first candidate that can enter the data folder and run the program there. An
 * ordinary user has one candidate, itself. PostgreSQL refuses to run as root, so the candidates of root are the users `postgres`
 * and `nobody` (the owner of the data first), and then a user namespace. In the namespace, PostgreSQL sees the id of the first of
 * these users instead of root's, but can still reach folders below `/root`. A user id without a name has only the namespace.
 *
 * @throws EmbeddedPostgresError if no user can run PostgreSQL, or if the data belongs to a user that is not a candidate.
 */
export async function chooseAccount(program: Program, folder: string): Promise<SystemAccount> {
  const asMyself: SystemAccount = { description: 'as this user', prefix: [] };
  if (process.platform === 'win32') return asMyself;

  const candidates = await candidateAccounts(folder, asMyself);
  for (const account of candidates) {
    if ((await probe(account, program, folder)) === undefined) return account;
  }
  const failure = await probe(asMyself, program, folder);
  if (failure !== undefined) {
    throw new EmbeddedPostgresError(
      `The embedded PostgreSQL cannot run on this system (${failure}): set DATABASE_URL to a PostgreSQL server.`,
    );
  }
  if (process.getuid?.() !== 0) {
    throw new EmbeddedPostgresError(
      `PostgreSQL cannot run as user id ${process.getuid?.()}, because /etc/passwd has no entry for this id: ` +
        'start the service as a user with an entry, or set DATABASE_URL to a PostgreSQL server.',
    );
  }
  throw new EmbeddedPostgresError(
    `PostgreSQL refuses to run as root, and ${program.postgres} could not run as another user in ${folder} ` +
      `(tried: ${candidates.map((c) => c.description).join(', ')}): start the service as an ordinary user, or set DATABASE_URL to a PostgreSQL server.`,
  );
}

/**
 * Makes the account the owner of `path` and of everything below it, if this process runs as root. `path` itself is changed last:
 * if the account owns `path`, it owns everything below it.
 */
export async function giveTo(account: SystemAccount, path: string): Promise<void> {
  if (process.getuid?.() !== 0) return;
  const uid = account.uid ?? 0;
  const stats = await lstat(path);
  if (stats.uid === uid) return;
  if (stats.isDirectory()) {
    for (const name of await readdir(path)) await giveTo(account, join(path, name));
  }
  await lchown(path, uid, account.gid ?? 0);
}

async function candidateAccounts(folder: string, asMyself: SystemAccount): Promise<SystemAccount[]> {
  const isRoot = process.getuid?.() === 0;
  if (!isRoot && hasName()) return [asMyself];

  const data = join(folder, 'postgres');
  // Root counts as the owner of data that does not exist yet.
  const owner = isRoot ? ((await orIfMissing(lstat(data), undefined))?.uid ?? 0) : 0;
  const users = (await readUsers()).filter(({ name }) => name === 'postgres' || name === 'nobody');
  if (owner !== 0 && !users.some(({ uid }) => uid === owner)) {
    throw new EmbeddedPostgresError(
      `${data} belongs to another user (uid ${owner}), who can read and change the database: ` +
        `start the service as that user, or run "chown -R root ${data}".`,
    );
  }
  const others = [
    ...users.filter(({ uid }) => uid === owner),
    ...users.filter(({ name }) => name === 'postgres'),
    ...users.filter(({ name }) => name === 'nobody'),
  ];
  return [
    ...(isRoot ? others.map(switchTo) : []),
    ...others.slice(0, 1).map(({ uid, gid }) => ({
      description: 'in a user namespace',
      prefix: ['unshare', '--user', `--map-user=${uid}`, `--map-group=${gid}`],
    })),
  ];
}

function switchTo({ name, uid, gid }: User): SystemAccount {
  return { description: `as user ${name}`, prefix: [], uid, gid };
}

/** Whether this process's user id has a name. In a container started with `--user 1234` it has none, and initdb would fail. */
function hasName(): boolean {
  try {
    return userInfo().username !== '';
  } catch {
    return false; // userInfo throws if the user has no name.
  }
}

/** The users in /etc/passwd. Users of a directory server such as LDAP are missing. */
export async function readUsers(): Promise<User[]> {
  const text = await readFile('/etc/passwd', 'utf8');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.split(':'))
    .map(([name = '', , uid, gid]) => ({ name, uid: Number(uid), gid: Number(gid) }));
}

/** Why the account cannot enter the folder and run the program there, or undefined when it can. */
async function probe(account: SystemAccount, program: Program, folder: string): Promise<string | undefined> {
  const [file = '', ...args] = [
    ...account.prefix,
    ...['/bin/sh', '-c', 'cd "$1" && exec "$2" --version', 'sh', folder, program.postgres],
  ];
  try {
    await promisify(execFile)(file, args, {
      cwd: '/',
      env: programEnvironment,
      timeout: probeTimeoutMs,
      ...(account.uid === undefined ? {} : { uid: account.uid, gid: account.gid }),
    });
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message.split('\n').slice(-2).join(' ').trim() : String(error);
  }
}
