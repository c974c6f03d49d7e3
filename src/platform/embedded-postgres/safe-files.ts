import { constants, type Stats } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, readFile, readlink, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { codeOf, EmbeddedPostgresError } from './error.ts';
import { readUsers } from './run-as.ts';

/*
 * Another user who can write to the data folder or replace it can read the books and the secret that signs access tokens. With a
 * link, such a user can make root write to any file. So each folder on the path must belong to root or to this process's user,
 * and no other user may write to it. Exception to the second rule: other users may write to a sticky folder above the data
 * folder, such as /tmp. OpenSSH has a similar rule.
 */

const othersMayWrite = 0o002;
const groupMayWrite = 0o020;
const sticky = 0o1000; // users may add entries, but not replace entries of other users
const maxLinks = 40; // the limit of Linux
const longestReadBytes = 64 * 1024;
/** Flags for `open`: do not follow a link, and do not wait for the other end of a pipe. Windows has no such flags. */
const plainFilesOnly = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

type MakeFolder = (path: string) => Promise<unknown>;

/**
 * Creates the folder and its missing parents. If the umask allows it, other users can pass through these folders, because root
 * runs PostgreSQL as another user. Other users can never list or change the folders.
 *
 * @param path - an absolute path. @returns the real path, without links.
 * @throws EmbeddedPostgresError when another user can write to the folder or replace it. On Windows, nothing is checked.
 */
export async function makeSafeFolder(path: string): Promise<string> {
  if (process.platform !== 'win32') return walk(path, (folder) => mkdir(folder, 0o711));
  await mkdir(path, { recursive: true });
  return realpath(path);
}

/** Like `makeSafeFolder`, but creates nothing. @throws ENOENT if the folder does not exist. */
export async function findSafeFolder(path: string): Promise<string> {
  return process.platform === 'win32' ? realpath(path) : walk(path);
}

/** Follows the path, name by name, and checks every folder and link on it. */
async function walk(path: string, make?: MakeFolder): Promise<string> {
  const names = path.split('/');
  let folder = '/';
  for (let links = 0; names.length > 0; ) {
    const name = names.shift() ?? '';
    if (name === '' || name === '.') continue;
    if (name === '..') {
      folder = dirname(folder);
      continue;
    }
    await refuseWriters(folder, sticky);
    const entry = join(folder, name);
    const stats = await statOrMake(entry, make);
    refuseStranger(entry, stats);
    if (!stats.isSymbolicLink()) {
      folder = entry;
      continue;
    }
    if (++links > maxLinks) throw new EmbeddedPostgresError(`The data folder ${path} is a loop of links.`);
    const target = await readlink(entry);
    if (target.startsWith('/')) folder = '/';
    names.unshift(...target.split('/'));
  }
  await refuseWriters(folder);
  return folder;
}

async function statOrMake(path: string, make?: MakeFolder): Promise<Stats> {
  try {
    return await lstat(path);
  } catch (error) {
    if (!make || codeOf(error) !== 'ENOENT') throw error;
  }
  try {
    await make(path);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error; // EEXIST: another process made the folder at the same time.
  }
  return lstat(path);
}

function refuseStranger(path: string, { uid }: Stats): void {
  if (isTrusted(uid)) return;
  throw new EmbeddedPostgresError(
    `${path} belongs to another user (uid ${uid}), who could read or replace the database: ` +
      'start the service as that user, or set DATA_DIR to a folder of your own.',
  );
}

/** @param harmlessWith - a bit of the mode. If the folder has this bit, other users may write to the folder. */
async function refuseWriters(folder: string, harmlessWith = 0): Promise<void> {
  const { mode, gid } = await lstat(folder);
  const canWrite =
    (mode & othersMayWrite) !== 0 || ((mode & groupMayWrite) !== 0 && !(await isPrivateGroup(gid)));
  if (!canWrite || (mode & harmlessWith) !== 0) return;
  const modeText = (mode & 0o7777).toString(8).padStart(4, '0');
  throw new EmbeddedPostgresError(
    `Other users can write to ${folder} (mode ${modeText}), and so replace the database: ` +
      `run "chmod go-w ${folder}", or set DATA_DIR to a folder that only you can write to.`,
  );
}

function isTrusted(uid: number): boolean {
  return uid === 0 || uid === process.getuid?.();
}

/**
 * Whether only root and this process's user are in the group. Many systems give each user a group of its own and make
 * folders that this group can write to.
 */
async function isPrivateGroup(gid: number): Promise<boolean> {
  if (gid === 0) return true;
  if (gid !== process.getgid?.() || process.platform !== 'linux') return false; // On other systems, /etc/group and /etc/passwd do not list all users.
  const groups = (await readFile('/etc/group', 'utf8')).split('\n').map((line) => line.split(':'));
  const members = groups.find(([, , id]) => Number(id) === gid)?.[3]?.split(',') ?? [];
  const strangers = (await readUsers()).filter(({ uid }) => !isTrusted(uid));
  return !strangers.some((user) => user.gid === gid || members.includes(user.name));
}

/**
 * Opens a file for reading and appending, and creates it if it is missing. Only its owner can read it.
 *
 * @param owner the user who becomes the owner if this process runs as root.
 * @throws EmbeddedPostgresError when the path is something else than a plain file, for example a link.
 */
export async function openOwnFile(path: string, owner: { uid: number; gid: number }): Promise<FileHandle> {
  const flags = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | plainFilesOnly;
  const handle = await refuseOtherKinds(path, open(path, flags, 0o600));
  try {
    if (process.platform === 'win32') return handle;
    const stats = await handle.stat();
    // With a hard link, another user could make the service write to a different file and change the owner of that file.
    if (!stats.isFile() || stats.nlink !== 1) throw notOwn(path);
    if (process.getuid?.() === 0) await handle.chown(owner.uid, owner.gid);
    await handle.chmod(0o600);
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/**
 * The text of a file of at most 64 KiB.
 * @throws EmbeddedPostgresError when the file is larger or not a plain file, ENOENT when it is missing.
 */
export async function readPlainFile(path: string): Promise<string> {
  const handle = await refuseOtherKinds(path, open(path, constants.O_RDONLY | plainFilesOnly));
  try {
    const stats = await handle.stat();
    if (!stats.isFile() || stats.size > longestReadBytes) throw notOwn(path);
    return await handle.readFile('utf8');
  } finally {
    await handle.close();
  }
}

async function refuseOtherKinds(path: string, opening: Promise<FileHandle>): Promise<FileHandle> {
  try {
    return await opening;
  } catch (error) {
    // These codes mean a link, a pipe without a reader, or a folder.
    throw ['ELOOP', 'EMLINK', 'ENXIO', 'EISDIR'].includes(codeOf(error) ?? '') ? notOwn(path) : error;
  }
}

function notOwn(path: string): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    `${path} is not a plain file of this service: find out who made it, and remove it.`,
  );
}
