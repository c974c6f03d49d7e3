import { readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Environment, newFolder, type RunningService, startService } from '../acceptance/process.ts';
import { send } from '../faults/clients.ts';
import { runStatement } from '../support/statements.ts';

/** An instance whose /metrics, /proc files and event loop are measured. */
export interface GaugedService {
  service: RunningService;
  /** The delays of the event loop since the last call. */
  loopDelay(): Promise<LoopDelay>;
}

/** In ms. Includes the 10 ms of the measuring timer. */
interface LoopDelay {
  p50: number;
  p99: number;
  max: number;
}

/** The measurements of one instance at one moment. */
export interface InstanceSample {
  /** The memory of the service and of its print process, in MB. */
  memoryMb: number;
  printerMb: number;
  heapMb: number;
  openFiles: number;
  /** Seconds of CPU since the start of the service's own process. */
  cpuSeconds: number;
  /** The delay of the event loop since the previous sample, in ms. */
  loopP99: number;
  /** Requests that wait for a connection of the pool. */
  waiting: number;
}

export interface Sample {
  /** By `performance.now()`. */
  at: number;
  instances: InstanceSample[];
  /** All connections that PostgreSQL has with the instances. */
  connections: number;
  /** The share of the time since the previous sample in which the machine was busy, from 0 to 1. */
  busy: number;
}

const MB = 1_000_000;
const PAGE_BYTES = 4_096;
const PRELOAD = join(import.meta.dirname, 'loop-delay.mjs');
const ERROR_LEVELS = ['error', 'fatal'];
const TROUBLE_LEVELS = ['warn', ...ERROR_LEVELS];
/** In characters. An instance logs less than this between two samples. */
const LATEST_OUTPUT = 2_000_000;

export async function startGauged(environment: Environment): Promise<GaugedService> {
  const file = join(await newFolder(), 'loop-delay');
  const service = await startService({
    ...environment,
    NODE_OPTIONS: `--import=${PRELOAD}`,
    LOOP_DELAY_FILE: file,
  });
  let asked = 0;
  return {
    service,
    async loopDelay() {
      asked += 1;
      process.kill(service.pid, 'SIGWINCH');
      for (;;) {
        const line = linesOf(file)[asked - 1];
        if (line !== undefined) return JSON.parse(line) as LoopDelay;
        await sleep(20);
      }
    },
  };
}

/** A line of the log, reduced to a cause that can be counted. */
interface Trouble {
  level: string;
  cause: string;
}

/** Measures all instances repeatedly, and collects their warnings and errors. */
export function createGauges(services: readonly RunningService[], url: string, metricsToken: string) {
  /** By the text of the line, because a line can be read more than once. */
  const troubles = new Map<string, Trouble>();
  let before = cpuTimes();

  return {
    /** The errors and the warnings of all instances: each cause with its number. */
    troubles(): { errors: string[]; warnings: string[] } {
      const all = [...troubles.values()];
      return {
        errors: countsOf(all.filter(({ level }) => ERROR_LEVELS.includes(level))),
        warnings: countsOf(all.filter(({ level }) => !ERROR_LEVELS.includes(level))),
      };
    },
    async read(): Promise<Sample> {
      const instances = await Promise.all(services.map((service) => readInstance(service, metricsToken)));
      for (const { output } of services) {
        for (const line of output().slice(-LATEST_OUTPUT).split('\n')) {
          const trouble = readTrouble(line);
          if (trouble) troubles.set(line, trouble);
        }
      }
      const { rows } = await runStatement(
        url,
        `select count(*)::int as connections from pg_stat_activity
          where application_name like 'account-management-service%'`,
      );
      const now = cpuTimes();
      const busy = 1 - (now.idle - before.idle) / (now.all - before.all);
      before = now;
      return { at: performance.now(), instances, connections: rows[0].connections, busy };
    },
  };
}

async function readInstance({ origin, pid }: RunningService, token: string): Promise<InstanceSample> {
  const { status, body } = await send(origin, 'GET', '/metrics', { token });
  if (status !== 200) throw new Error(`/metrics answered ${status}: ${body}`);
  const figure = (name: string) => {
    const line = body.split('\n').find((text) => text.startsWith(`${name} `));
    if (line === undefined) throw new Error(`/metrics has no ${name}.`);
    return Number(line.slice(name.length + 1));
  };
  const printerMb = (await memoryOfChildren(pid)) / MB;
  return {
    memoryMb: figure('process_resident_memory_bytes') / MB + printerMb,
    printerMb,
    heapMb: figure('nodejs_heap_size_used_bytes') / MB,
    openFiles: figure('process_open_fds'),
    cpuSeconds: figure('process_cpu_seconds_total'),
    loopP99: figure('nodejs_eventloop_lag_p99_seconds') * 1_000,
    waiting: figure('database_connections{state="waiting"}'),
  };
}

/** Resident bytes of the processes that a process has started. */
async function memoryOfChildren(parent: number): Promise<number> {
  let bytes = 0;
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ''); // The process may just have ended.
    // The name is in brackets and may contain anything. After it come: the state, the parent, …, the resident pages.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (Number(fields[1]) === parent) bytes += Number(fields[21]) * PAGE_BYTES;
  }
  return bytes;
}

function readTrouble(line: string): Trouble | undefined {
  const level = /^{"level":"(\w+)"/.exec(line)?.[1] ?? '';
  if (!TROUBLE_LEVELS.includes(level) || !line.endsWith('}')) return undefined;
  const { msg, err } = JSON.parse(line) as { msg: string; err?: { message: string } };
  return { level, cause: err ? `${msg}: ${err.message}` : msg };
}

function countsOf(troubles: readonly Trouble[]): string[] {
  const counts = new Map<string, number>();
  for (const { cause } of troubles) counts.set(cause, (counts.get(cause) ?? 0) + 1);
  return [...counts].map(([cause, count]) => `${count} × ${cause}`);
}

function cpuTimes() {
  const times = { idle: 0, all: 0 };
  for (const { times: cpu } of cpus()) {
    times.idle += cpu.idle;
    times.all += cpu.user + cpu.nice + cpu.sys + cpu.irq + cpu.idle;
  }
  return times;
}

function linesOf(file: string): string[] {
  try {
    return readFileSync(file, 'utf8').split('\n').slice(0, -1);
  } catch {
    return []; // The file exists after the first signal.
  }
}
