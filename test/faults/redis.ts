import { type ChildProcess, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { freePort, newFolder } from '../acceptance/process.ts';
import { spawn } from '../support/processes.ts';

/** A Redis that a test may kill, freeze and empty. */
export interface FragileRedis {
  readonly url: string;
  start(): Promise<void>;
  kill(): Promise<void>;
  freeze(): void;
  thaw(): void;
  flush(): Promise<void>;
}

/** Whether `redis-server` is installed. It is not part of our packages. */
export function hasRedis(): boolean {
  try {
    execFileSync('redis-server', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** @param options - of `redis-server`. */
export async function createRedis(options: readonly string[] = []): Promise<FragileRedis> {
  const folder = await newFolder();
  const port = await freePort();
  const url = `redis://127.0.0.1:${port}`;
  let server: ChildProcess;

  return {
    url,
    async start() {
      const listen = ['--port', String(port), '--bind', '127.0.0.1', '--save', ''];
      server = spawn('redis-server', [...listen, ...options], { cwd: folder, stdio: 'ignore' });
      while (!(await answers(url))) await sleep(25);
    },
    async kill() {
      const ended = once(server, 'exit');
      server.kill('SIGKILL');
      await ended;
    },
    freeze: () => void server.kill('SIGSTOP'),
    thaw: () => void server.kill('SIGCONT'),
    flush: () => ask(url, (client) => client.flushall()).then(() => {}),
  };
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await ask(url, (client) => client.ping())) === 'PONG';
  } catch {
    return false; // Redis is still starting.
  }
}

async function ask<T>(url: string, question: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis(url, { lazyConnect: true, retryStrategy: () => null });
  client.on('error', () => {}); // The command reports the error.
  try {
    await client.connect();
    return await question(client);
  } finally {
    client.disconnect();
  }
}
