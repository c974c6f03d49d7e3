import { execFileSync, spawnSync } from 'node:child_process';
import {
  closeSync,
  constants,
  existsSync,
  lstatSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  statfsSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { chmod } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';

const MEMORY = '/dev/shm';
const NEEDED_BYTES = 3 * 1024 ** 3;
/** A named pipe in the folder of a run. The runner holds both ends open until it ends. */
const RUNNER_PIPE = 'runner';
const PREFIX = 'ams-run-';
/** The folder has this prefix until it has its pipe. */
const DRAFT_PREFIX = 'ams-new-run-';
/** A link to the folder that Vitest itself creates before it runs our code. Vitest does not remove it when it is killed. */
const VITEST_FOLDER = 'vitest';
const LONGEST_RUN_MS = 24 * 60 * 60 * 1000;

/** Makes a folder on the disk, for tests that need a realistic disk or much space. */
export async function setup(project: TestProject): Promise<() => void> {
  return useTemporaryFolder(project, { inMemory: false });
}

/**
 * Makes a folder for the temporary files of this run and points TMPDIR to it. `inMemory` puts the folder in memory where that is
 * possible: on a disk, the tests wait for fsync longer than for anything else. @returns a function that removes the folder.
 */
export async function useTemporaryFolder(
  project: TestProject,
  { inMemory }: { inMemory: boolean },
): Promise<() => void> {
  const before = process.env.TMPDIR;
  removeAbandoned(MEMORY); // They may have taken the room that this run needs.
  removeAbandoned(tmpdir());
  if (inMemory && before === undefined && hasRoom(MEMORY)) process.env.TMPDIR = MEMORY;
  let draft = mkdtempSync(join(tmpdir(), DRAFT_PREFIX));
  if (!canRunPrograms(draft)) {
    rmSync(draft, { recursive: true });
    delete process.env.TMPDIR;
    draft = mkdtempSync(join(tmpdir(), DRAFT_PREFIX));
  }
  symlinkSync(project.tmpDir, join(draft, VITEST_FOLDER));
  await chmod(draft, 0o755); // PostgreSQL runs as another user when root runs the tests.
  const folder = process.platform === 'win32' ? draft : finish(draft);
  process.env.TMPDIR = folder;
  return () => {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
}

function hasRoom(folder: string): boolean {
  if (!existsSync(folder)) return false;
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize >= NEEDED_BYTES;
}

/** Containers often mount /dev/shm with `noexec`. */
function canRunPrograms(folder: string): boolean {
  if (process.platform === 'win32') return true;
  const program = join(folder, 'program');
  writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 });
  const { status } = spawnSync(program);
  rmSync(program);
  return status === 0;
}

/** Creates the pipe, which the kernel closes when this process ends for any reason, and renames the folder. @returns its path. */
function finish(draft: string): string {
  const pipe = join(draft, RUNNER_PIPE);
  execFileSync('mkfifo', ['-m', '600', pipe]);
  openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK); // shows later runs that this run still needs the folder
  openSync(pipe, constants.O_WRONLY); // shows the guardians (processes.ts) that the runner has not ended
  const folder = draft.replace(DRAFT_PREFIX, PREFIX);
  renameSync(draft, folder);
  process.env.TEST_RUNNER_PIPE = join(folder, RUNNER_PIPE);
  return folder;
}

/** Removes the folders of runs of this user that were killed. */
function removeAbandoned(parent: string): void {
  if (!existsSync(parent)) return;
  for (const name of readdirSync(parent)) {
    const folder = join(parent, name);
    try {
      if (isAbandoned(folder, name)) remove(folder);
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT') continue; // Another run removes the folder at the same time.
      process.stderr.write(`The folder of an earlier test run remains: ${message}\n`);
    }
  }
}

function isAbandoned(folder: string, name: string): boolean {
  if (!name.startsWith(PREFIX) && !name.startsWith(DRAFT_PREFIX)) return false;
  const { uid, mtimeMs } = lstatSync(folder);
  if (process.getuid && process.getuid() !== uid) return false;
  if (name.startsWith(DRAFT_PREFIX)) return mtimeMs < Date.now() - LONGEST_RUN_MS;
  return !hasReader(join(folder, RUNNER_PIPE));
}

/**
 * Whether the process that made the pipe runs, or is stopped. A process id would not show this reliably: ids are used again, and
 * each container has its own.
 */
function hasReader(pipe: string): boolean {
  try {
    closeSync(openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK));
    return true;
  } catch (error) {
    // ENXIO: nobody reads. ENOENT: the folder was removed, but a program of the run, such as Chromium, made it again as it ended.
    if (['ENXIO', 'ENOENT'].includes((error as NodeJS.ErrnoException).code ?? '')) return false;
    throw error;
  }
}

function remove(folder: string): void {
  const link = join(folder, VITEST_FOLDER);
  const options = { recursive: true, force: true, maxRetries: 10 }; // A program of the killed run may still write a last file.
  if (existsSync(link)) rmSync(readlinkSync(link), options);
  rmSync(folder, options);
}
