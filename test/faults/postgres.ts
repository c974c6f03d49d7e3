import { type ChildProcess, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findProgram, type Program } from '../../src/platform/embedded-postgres/program.ts';
import {
  chooseAccount,
  giveTo,
  programEnvironment,
  type SystemAccount,
} from '../../src/platform/embedded-postgres/run-as.ts';
import { freePort, newFolder, untilNoProcessIn } from '../acceptance/process.ts';
import { spawn } from '../support/processes.ts';
import { executes, runStatement } from '../support/statements.ts';

/** A PostgreSQL server that a test may stop, freeze and kill. */
export interface FragilePostgres {
  /** The address of a database. */
  address(name: string): string;
  /** Creates a hot standby that follows this server. Stop this server first, because its files are copied. */
  createStandby(settings?: Record<string, string>): Promise<FragilePostgres>;
  /** A new, empty database. */
  newDatabase(): Promise<string>;
  start(): Promise<void>;
  /** fast: closes connections and writes everything to disk. immediate: like a power failure. */
  stop(mode: 'fast' | 'immediate'): Promise<void>;
  /** Ends every process of the server by SIGKILL. */
  kill(): Promise<void>;
  /** Freezes every process of the server: connections stay open and nothing answers. */
  freeze(): void;
  thaw(): void;
}

const USER = 'ams';
const SIGNALS = { fast: 'SIGINT', immediate: 'SIGQUIT' } as const;

/** Creates a server with the programs of the embedded PostgreSQL, for a free loopback port. `start` starts it. */
export async function createPostgres(): Promise<FragilePostgres> {
  const folder = await newFolder();
  const program = await findProgram();
  const account = await chooseAccount(program, folder);
  await giveTo(account, folder);
  const [initdb = '', ...initdbArgs] = [
    ...account.prefix,
    ...[
      program.initdb,
      '-D',
      join(folder, 'data'),
      `--username=${USER}`,
      '--encoding=UTF8',
      '--auth=trust',
      '--no-sync',
    ],
    ...['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'],
  ];
  execFileSync(initdb, initdbArgs, { ...optionsOf(account, folder), stdio: 'ignore' });
  return manage(program, account, folder, {});
}

function optionsOf(account: SystemAccount, folder: string) {
  return {
    cwd: folder,
    env: programEnvironment,
    ...(account.uid !== undefined && { uid: account.uid }),
    ...(account.gid !== undefined && { gid: account.gid }),
  };
}

async function manage(
  program: Program,
  account: SystemAccount,
  folder: string,
  settings: Record<string, string>,
): Promise<FragilePostgres> {
  const data = join(folder, 'data');
  const port = await freePort();
  const address = (name: string) => `postgres://${USER}@127.0.0.1:${port}/${name}`;
  let server: ChildProcess | undefined;
  let frozen: number[] = [];
  let databases = 0;

  async function start(): Promise<void> {
    const [postgres = '', ...args] = [
      ...account.prefix,
      ...[program.postgres, '-D', data, '-p', String(port), '-k', folder],
      ...['-c', 'listen_addresses=127.0.0.1', '-c', 'max_connections=100'],
      ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    ];
    const log = join(folder, 'postgres.log');
    const logFile = openSync(log, 'a');
    const started = spawn(postgres, args, {
      ...optionsOf(account, folder),
      stdio: ['ignore', 'ignore', logFile],
    });
    server = started;
    closeSync(logFile);
    while (!(await executes(address('postgres'), 'select 1'))) {
      if (!isRunning(started)) throw new Error(`PostgreSQL does not start: ${readFileSync(log, 'utf8')}`);
      await sleep(25);
    }
  }

  return {
    address,
    start,
    async createStandby(given = {}) {
      const copy = await newFolder();
      execFileSync('cp', ['-a', data, join(copy, 'data')]);
      await writeFile(join(copy, 'data', 'standby.signal'), '');
      await giveTo(account, copy);
      return manage(program, account, copy, {
        primary_conninfo: `host=127.0.0.1 port=${port} user=${USER}`,
        wal_retrieve_retry_interval: '200ms',
        ...given,
      });
    },
    async newDatabase() {
      databases += 1;
      const name = `faults_${databases}`;
      await runStatement(address('postgres'), `create database ${name}`);
      return address(name);
    },
    async stop(mode) {
      if (!isRunning(server)) return;
      const ended = once(server, 'exit');
      server.kill(SIGNALS[mode]);
      await ended;
    },
    async kill() {
      if (!isRunning(server)) return;
      const ended = once(server, 'exit');
      server.kill('SIGSTOP'); // First the server itself is frozen, so that it starts no process while its children are listed.
      for (const pid of familyOf(server.pid ?? 0).reverse()) killNow(pid);
      await ended;
      await untilNoProcessIn(folder); // PostgreSQL does not start while a process of the killed server has its shared memory.
    },
    freeze() {
      frozen = familyOf(server?.pid ?? 0);
      for (const pid of frozen) process.kill(pid, 'SIGSTOP');
    },
    thaw() {
      for (const pid of frozen) process.kill(pid, 'SIGCONT');
    },
  };
}

function isRunning(server: ChildProcess | undefined): server is ChildProcess {
  return server !== undefined && server.exitCode === null && server.signalCode === null;
}

function killNow(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // The process has just ended.
  }
}

/** A process and its children. Each process of PostgreSQL has its own session, so a signal to a group does not reach all. */
function familyOf(parent: number): number[] {
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && parentOf(name) === parent)
    .map(Number);
  return [parent, ...children];
}

function parentOf(pid: string): number | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(/^PPid:\s*(\d+)/m.exec(status)?.[1]);
  } catch {
    return undefined; // The process has just ended.
  }
}
