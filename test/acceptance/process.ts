import type { ChildProcess } from 'node:child_process';
import { createSocket, type Socket } from 'node:dgram';
import { readFileSync, readlinkSync } from 'node:fs';
import { chmod, mkdtemp, readdir, realpath, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, inject } from 'vitest';
import { dropDatabase } from '../support/drop-database.ts';
import { createCaller } from '../support/http.ts';
import { spawn } from '../support/processes.ts';
import { databaseOn, runStatement } from '../support/statements.ts';
import { PATIENCE, until } from '../support/waiting.ts';

export type Environment = Record<string, string>;

/** A process that has ended, and its output. */
export interface Ended {
  status: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

/** The built service in a separate process. */
export interface RunningService {
  /** http://127.0.0.1:port */
  origin: string;
  port: number;
  pid: number;
  /** The time from the start of the process until it was ready. */
  readyMs: number;
  /** Sends a request below /api. */
  call: ReturnType<typeof createCaller>;
  /** The output so far, without its beginning if the output is very long. */
  output(): string;
  /** Waits until the process has ended, and its children that write to its output. */
  end(): Promise<Ended>;
  /** Sends SIGTERM, as a service manager does. */
  stop(signal?: NodeJS.Signals): Promise<Ended>;
  /** Sends SIGKILL, which acts like a crash. */
  kill(): Promise<Ended>;
}

export const ROOT = join(import.meta.dirname, '..', '..');
export const NO_RATE_LIMITS = {
  RATE_LIMIT_AUTH: '0',
  RATE_LIMIT_BROWSER: '0',
  RATE_LIMIT_BULK: '0',
  RATE_LIMIT_GENERAL: '0',
  RATE_LIMIT_PAGES: '0',
  RATE_LIMIT_API_KEY: '0',
  RATE_LIMIT_WEBHOOK: '0',
};

/** The usual time limits, for tests in which an instance or a server dies, and another one notices it after a time limit. */
export const USUAL_LIMITS = { TIME_LIMIT_FACTOR: '1' };

const SERVER = join(ROOT, 'dist', 'server.js');
const MAX_OUTPUT_KEPT = 4_000_000;

const children = new Map<ChildProcess, Promise<Ended>>();
const folders: string[] = [];
const databases: string[] = [];

/** Call once in each file. After its tests, passed or failed, ends their processes, and removes their databases and folders. */
export function cleanUpAfterwards(): void {
  afterAll(async () => {
    for (const child of children.keys()) killGroup(child);
    await Promise.all(children.values());
    for (const name of databases) await dropDatabase(name);
    for (const folder of folders) {
      await untilNoProcessIn(folder);
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    }
  });
}

/**
 * Starts `node dist/server.js`, or another command that runs the service, and waits until the service is ready. Its
 * environment contains only PATH, HOME and the given variables. By default it runs in a new folder, so that it reads no
 * `.env`.
 */
export async function startService(
  environment: Environment = {},
  { command = [process.execPath, SERVER], folder }: { command?: string[]; folder?: string } = {},
): Promise<RunningService> {
  const port = Number(environment.PORT ?? (await freePort()));
  const origin = `http://127.0.0.1:${port}`;
  const began = Date.now();
  const { child, ended, hasEnded, output } = launch(command, folder ?? (await newFolder()), {
    ...environment,
    PORT: String(port),
  });
  await until(
    () => `the service to be ready or to end:\n${output()}`,
    () => hasEnded() || answers(`${origin}/readyz`),
  );
  if (hasEnded()) throw new Error(`The service ended:\n${output()}`);
  const end = async () => {
    await until(() => `the service to end:\n${output()}`, hasEnded);
    return ended;
  };
  const endBy = (signal: NodeJS.Signals) => {
    child.kill(signal);
    return end();
  };
  return {
    origin,
    port,
    pid: child.pid ?? 0,
    readyMs: Date.now() - began,
    call: createCaller(`${origin}/api`),
    output,
    end,
    stop: (signal = 'SIGTERM') => endBy(signal),
    kill: () => endBy('SIGKILL'),
  };
}

/** Starts a service that is expected to end by itself. */
export async function failToStart(environment: Environment): Promise<Ended> {
  return runToEnd([process.execPath, SERVER], environment, await newFolder());
}

/** Runs a built command, such as `verify`, in a new folder, so that no `.env` is read. */
export async function runCli(command: string, environment: Environment, ...args: string[]): Promise<Ended> {
  const program = join(ROOT, 'dist', 'cli', `${command}.js`);
  return runToEnd([process.execPath, program, ...args], environment, await newFolder());
}

/** Runs a command, by default in the repository, and waits for its end. */
export async function runToEnd(
  command: string[],
  environment: Environment = {},
  folder = ROOT,
): Promise<Ended> {
  const { ended, hasEnded, output } = launch(command, folder, environment);
  await until(() => `the end of ${command.join(' ')}:\n${output()}`, hasEnded);
  return ended;
}

/** A folder that other users may enter, because PostgreSQL runs as another user if root runs the tests. */
export async function newFolder(): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'ams-acceptance-')));
  await chmod(folder, 0o755);
  folders.push(folder);
  return folder;
}

/** Creates a database as after a first start, with the demo catalogue, on the server of the test run. @returns a DATABASE_URL. */
export function newDatabase(): Promise<string> {
  return createDatabase(`template ${inject('template')}`);
}

/** Creates an empty database on the server of the test run. @returns a DATABASE_URL. */
export function emptyDatabase(): Promise<string> {
  return createDatabase();
}

async function createDatabase(options = ''): Promise<string> {
  const name = `ams_acceptance_${crypto.randomUUID().replaceAll('-', '')}`;
  databases.push(name);
  await runStatement(inject('server'), `create database ${name} ${options}`);
  return databaseUrl(name);
}

/** The DATABASE_URL of a database on the server of the test run. */
export function databaseUrl(name: string): string {
  const database = databaseOn(inject('server'), name);
  if (typeof database === 'string') return database;
  const url = new URL('postgres://localhost');
  url.username = database.user;
  url.password = database.password ?? '';
  url.pathname = `/${name}`;
  url.port = String(database.port);
  url.searchParams.set('host', database.host);
  return url.href;
}

/** All ports of the tests are below 32768, so the system never gives one to another program by itself. */
const PORTS = { first: 20_000, last: 32_000 };
let nextPort = PORTS.first;
const claims: Socket[] = [];

/** A port on which nothing listens. No other process of this or another test run gets it as long as this process lives. */
export async function freePort(): Promise<number> {
  while (nextPort <= PORTS.last) {
    const port = nextPort++;
    if ((await claim(port)) && (await canListen(port))) return port;
  }
  throw new Error(`The ports ${PORTS.first} to ${PORTS.last} are all taken.`);
}

/** Claims a TCP port for this process by its UDP twin, which nothing else uses, and which the system frees with the process. */
function claim(port: number): Promise<boolean> {
  const socket = createSocket('udp4').unref();
  return new Promise((resolve) => {
    socket
      .once('error', () => socket.close(() => resolve(false)))
      .bind({ port, address: '127.0.0.1', exclusive: true }, () => {
        claims.push(socket);
        resolve(true);
      });
  });
}

function canListen(port: number): Promise<boolean> {
  const probe = createServer();
  return new Promise((resolve) => {
    probe
      .once('error', () => resolve(false))
      .listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}

/** Describes the processes that run in a folder or whose command contains it, such as a PostgreSQL server and its children. */
export async function processesIn(folder: string): Promise<string[]> {
  if (process.platform !== 'linux') {
    const { stdout } = await runToEnd(['ps', '-axww', '-o', 'pid=,command=']);
    return stdout.split('\n').filter((line) => line.includes(folder));
  }
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  return pids.map((pid) => describeProcess(pid)).filter((text) => text.includes(folder));
}

export async function untilNoProcessIn(folder: string): Promise<void> {
  let left: string[] = [];
  await until(
    () => `the end of these processes:\n${left.join('\n')}`,
    async () => {
      left = await processesIn(folder);
      return left.length === 0;
    },
  );
}

/** The resident memory of a process now (VmRSS), or the most that it has used (VmHWM). Linux only. */
export function memoryMbOf({ pid }: RunningService, kind: 'VmRSS' | 'VmHWM' = 'VmRSS'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`^${kind}:\\s*(\\d+) kB`, 'm').exec(status)?.[1]) / 1024;
}

/** Prints figures of a test. */
export function report(text: string): void {
  process.stdout.write(`  ${text}\n`);
}

/** Starts a program. It is ended after the tests of the file. */
export function launch([file = '', ...args]: string[], cwd: string, environment: Environment) {
  const { PATH = '', HOME = '' } = process.env;
  // The Node.js of the tests comes first in the PATH, so that npm and its scripts use the same one.
  const path = `${dirname(process.execPath)}:${PATH}`;
  const child = spawn(file, args, {
    cwd,
    env: { PATH: path, HOME, TIME_LIMIT_FACTOR: PATIENCE, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true, // a separate group, so that npm's children can be ended with it
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout = latest(stdout + text);
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr = latest(stderr + text);
  });
  const ended = new Promise<Ended>((resolve) => {
    child.once('error', (error) => {
      stderr += error.message;
    });
    child.once('close', (status, signal) => {
      children.delete(child);
      resolve({ status, signal, stdout, stderr });
    });
  });
  children.set(child, ended);
  return { child, ended, hasEnded: () => !children.has(child), output: () => stdout + stderr };
}

/** Limits the kept log of a service that runs for long. */
function latest(text: string): string {
  return text.length > 2 * MAX_OUTPUT_KEPT ? text.slice(-MAX_OUTPUT_KEPT) : text;
}

function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has already ended by itself.
  }
}

async function answers(url: string): Promise<boolean> {
  try {
    const { ok } = await fetch(url, { signal: AbortSignal.timeout(60_000) });
    return ok;
  } catch {
    return false; // Nobody listens yet.
  }
}

function describeProcess(pid: string): string {
  try {
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
    return `${pid} ${command} in ${workingFolder(pid)}`;
  } catch {
    return ''; // It has ended in the meantime.
  }
}

function workingFolder(pid: string): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return '(another user)';
  }
}
