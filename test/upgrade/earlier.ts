import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { newFolder, ROOT } from '../acceptance/process.ts';
import { run } from '../support/processes.ts';

const git = (...args: string[]) => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim();
const LOCK_FILE = 'package-lock.json';

/**
 * The commits from which the tests upgrade: UPGRADE_FROM, or the previous commit and the one before the latest new migration. Both may
 * be the same commit.
 */
export function earlierCommits(): string[] {
  const { UPGRADE_FROM: given } = process.env;
  const names = given
    ? given.split(',')
    : ['HEAD~1', `${git('log', '-1', '--diff-filter=A', '--format=%H', '--', 'migrations')}~1`];
  return [...new Set(names.map((name) => git('rev-parse', '--short', `${name}^{commit}`)))];
}

/** The names of the migrations that were added since a commit. */
export function migrationsSince(commit: string): string[] {
  const files = git('diff', '--name-only', '--diff-filter=A', commit, '--', 'migrations');
  return files.split('\n').flatMap((file) => /([^/]+)\.sql$/.exec(file)?.[1] ?? []);
}

/** Builds a commit in a new folder. @returns the folder. */
export async function buildCommit(commit: string): Promise<string> {
  const folder = await newFolder();
  execFileSync('sh', ['-c', `git archive "$0" | tar -x -C "$1"`, commit, folder], { cwd: ROOT });
  const hasSamePackages = [folder, ROOT]
    .map((root) => readFileSync(join(root, LOCK_FILE), 'utf8'))
    .every((text, _, [first]) => text === first);
  if (hasSamePackages) {
    for (const packages of ['node_modules', 'packages/client/node_modules'])
      symlinkSync(join(ROOT, packages), join(folder, packages));
  } else await run('npm', ['ci', '--prefer-offline', '--no-audit', '--no-fund', '--silent'], { cwd: folder });
  await run('npm', ['run', '--silent', 'build'], { cwd: folder });
  return folder;
}

/** Whether a build starts on a database that a later version has migrated. */
export function startsOnNewerDatabase(folder: string): boolean {
  return existsSync(join(folder, 'src', 'platform', 'migrations'));
}
