import { readdirSync, readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { eventually, untilPasses } from '../support/waiting.ts';
import { cleanUpAfterwards, launch, newFolder, processesIn, ROOT, runToEnd } from './process.ts';

/** Runs of tests that are stopped, interrupted or killed. Their files are in the folder killed-run. */
cleanUpAfterwards();

const FOLDER = join('test', 'acceptance', 'killed-run');
const RUN_TESTS = [
  ...[process.execPath, join(ROOT, 'node_modules', 'vitest', 'vitest.mjs')],
  ...['run', '--config', join(FOLDER, 'vitest.config.ts')],
];

/** Parts of the commands of processes that a run starts. */
const SHELLS = ['sleep 1001', 'sleep 1002', 'guardian of tests'];
const PROGRAMS = [...SHELLS, 'dist/server.js', '/postgres -D'];

let dataDir: string;

beforeAll(async () => {
  dataDir = await newFolder();
});

describe.runIf(process.platform !== 'win32')('a run of tests', () => {
  test('keeps everything while its runner is stopped, and leaves nothing when its runner is killed', async () => {
    const run = await startRun();
    process.kill(run.runner, 'SIGSTOP');
    const folders = await run.foldersAfterNextRun();
    expect(folders.filter((name) => name.startsWith('ams-run-'))).toHaveLength(1);
    const running = await run.running();
    for (const program of PROGRAMS) expect(running).toContainEqual(expect.stringContaining(program));
    process.kill(run.runner, 'SIGKILL');
    await run.untilNothingRuns();
    expect(await run.foldersAfterNextRun()).toEqual([]);
  });

  test.each([
    ['its runner is terminated', 'SIGTERM', 1],
    ['Ctrl+C interrupts it', 'SIGINT', -1],
    ['its terminal is closed', 'SIGHUP', -1],
  ] as const)(
    'leaves no process when %s (%s), and the next run removes its folders',
    async (_how, signal, sign) => {
      const run = await startRun({ withService: false });
      process.kill(sign * run.runner, signal); // A terminal signals the process group.
      await run.untilNothingRuns();
      expect(await run.foldersAfterNextRun()).toEqual([]);
    },
  );

  test('fails and leaves no process when a worker is killed', async () => {
    const run = await startRun({ withBlockedWorker: false });
    process.kill(run.worker, 'SIGKILL');
    expect(await run.ended).toMatchObject({ status: 1, stderr: expect.stringContaining('Worker exited') });
    await run.untilNothingRuns();
    expect(await run.foldersAfterNextRun()).toEqual([]);
  });
});

/** Starts a run. Waits until a worker has started programs and, by default, another worker is blocked in a test. */
async function startRun({ withBlockedWorker = true, withService = true } = {}) {
  const temporary = await newFolder();
  const files = withBlockedWorker ? ['programs', 'blocked'] : ['programs'];
  const programs = withService ? PROGRAMS : SHELLS;
  const environment = { TMPDIR: temporary, ...(withService && { DATA_DIR: dataDir }) };
  const { child, ended, output } = launch([...RUN_TESTS, ...files], ROOT, environment);
  const runner = child.pid ?? 0;
  const started = await untilPasses(async () => {
    if (withBlockedWorker) expect(output()).toContain('The worker is blocked.');
    const family = await familyOf(runner);
    const commands = family.map(({ command }) => command);
    for (const program of programs) expect(commands).toContainEqual(expect.stringContaining(program));
    return family;
  });

  async function running(): Promise<string[]> {
    const now = new Set((await listProcesses()).map(({ id }) => id));
    const left = started.filter(({ id }) => now.has(id)).map(({ pid, command }) => `${pid} ${command}`);
    return [...left, ...(await processesIn(temporary))];
  }

  return {
    runner,
    worker: started.find(({ command }) => command.includes('dist/server.js'))?.parent ?? 0,
    ended,
    /** The processes of the run that still run. */
    running,
    untilNothingRuns: () => eventually(running).toEqual([]),
    /** Runs a short test. @returns what the temporary folder of both runs then contains. */
    async foldersAfterNextRun(): Promise<string[]> {
      const next = await runToEnd([...RUN_TESTS, 'short'], { TMPDIR: temporary });
      expect(next, next.stdout).toMatchObject({ status: 0, stderr: '' });
      return readdir(temporary);
    },
  };
}

interface Process {
  pid: number;
  parent: number;
  /** The process id and the time of the start, because the system uses process ids again. */
  id: string;
  command: string;
}

/** A process and its descendants. */
async function familyOf(pid: number): Promise<Process[]> {
  const all = await listProcesses();
  const family = all.filter((one) => one.pid === pid);
  for (const { pid: parent } of family) family.push(...all.filter((one) => one.parent === parent));
  return family;
}

/** All processes, without those that have ended but whose parent has not asked for their status. */
async function listProcesses(): Promise<Process[]> {
  if (process.platform === 'linux') return readdirSync('/proc').flatMap((name) => readProcess(name));
  const { stdout } = await runToEnd(['ps', '-axww', '-o', 'pid=,ppid=,state=,lstart=,command=']);
  const line = /^ *(\d+) +(\d+) +([^Z\s]\S*) +(\S+ +\S+ +\S+ +\S+ +\S+) +(.*)$/gm;
  return [...stdout.matchAll(line)].map(([, pid, parent, , started, command = '']) => ({
    pid: Number(pid),
    parent: Number(parent),
    id: `${pid} ${started}`,
    command,
  }));
}

function readProcess(name: string): Process[] {
  try {
    const [state, parent, ...others] = readFileSync(`/proc/${name}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ');
    if (state === 'Z') return [];
    return [{ pid: Number(name), parent: Number(parent), id: `${name} ${others[17]}`, command }];
  } catch {
    return []; // It is no process, or it has ended meanwhile.
  }
}
