import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const MEMORY = '/dev/shm';
const NEEDED_BYTES = 3 * 1024 ** 3;
const PREFIX = 'ams-tests-';

/**
 * Makes a folder for the temporary files of this run and points TMPDIR to it. The folder is in memory where that is
 * possible: on a disk, the tests wait for fsync longer than for anything else. @returns a function that removes the folder.
 */
export async function useTemporaryFolder(): Promise<() => void> {
  const before = process.env.TMPDIR;
  if (before === undefined && hasRoom(MEMORY)) process.env.TMPDIR = MEMORY;
  removeAbandoned(tmpdir());
  // The process id in the name shows later runs whether this run still needs the folder.
  let folder = mkdtempSync(join(tmpdir(), `${PREFIX}${process.pid}-`));
  if (!canRunPrograms(folder)) {
    rmSync(folder, { recursive: true });
    delete process.env.TMPDIR;
    folder = mkdtempSync(join(tmpdir(), `${PREFIX}${process.pid}-`));
  }
  await chmod(folder, 0o755); // PostgreSQL runs as another user when root runs the tests.
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

/** Removes the folders of runs that were killed. */
function removeAbandoned(parent: string): void {
  for (const name of readdirSync(parent)) {
    const pid = Number(new RegExp(`^${PREFIX}(\\d+)-`).exec(name)?.[1]);
    if (pid > 0 && !isRunning(pid)) rmSync(join(parent, name), { recursive: true, force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
