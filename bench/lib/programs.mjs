/** Starts and ends the programs of a benchmark. Each program listens on a free port of the loopback address. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/** The secret of the webhook. JWT_SECRET is this text written twice. */
export const SECRET = 'a secret of the bench only';
const TICKS_PER_SECOND = 100;

/** The path of Debian's Chromium. The headless shell comes first, because it needs less CPU for a page. */
export const CHROMIUM = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'].find(existsSync);

/** @param scratch - a folder without a .env file, in which the programs run. */
export function openPrograms(scratch) {
  const programs = [];

  /** Discards the standard output of the program, because a log file would use the disk that the database needs. */
  function start(command, args, environment = {}) {
    const program = spawn(command, args, {
      env: {
        PATH: process.env.PATH,
        ...Object.fromEntries(Object.entries(environment).map(([k, v]) => [k, String(v)])),
      },
      cwd: scratch,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    programs.push(program);
    return program;
  }

  const startScript = (script, environment, nodeOptions = []) =>
    start(process.execPath, [...nodeOptions, join(import.meta.dirname, script)], environment);

  /** Starts an instance with the defaults of production, and waits until it is ready. No call reaches its rate limits. */
  async function startService(url, extra = {}, { script = '../../dist/server.js', nodeOptions = [] } = {}) {
    const port = await freePort();
    const started = performance.now();
    const environment = {
      ...{ NODE_ENV: 'production', PORT: port, HOST: '127.0.0.1', DATABASE_URL: url },
      ...{ JWT_SECRET: SECRET.repeat(2), WEBHOOK_SECRET: SECRET, ACCESS_TOKEN_TTL: 86_400 },
      ...{ REGISTRATION: 'open', REGISTRATION_ROLE: 'manager' },
      ...{ RATE_LIMIT_AUTH: 1e9, RATE_LIMIT_BULK: 1e9, RATE_LIMIT_GENERAL: 1e9, RATE_LIMIT_WEBHOOK: 1e9 },
      ...(process.env.BENCH_REDIS_URL && { REDIS_URL: process.env.BENCH_REDIS_URL }),
      ...extra,
    };
    const program = startScript(script, environment, nodeOptions);
    const base = `http://127.0.0.1:${port}`;
    await waitUntilAnswering(`${base}/readyz`, program);
    return { program, base, port, readyMs: performance.now() - started };
  }

  async function stopAll() {
    for (const program of programs.toReversed()) await stop(program);
  }

  return { start, startScript, startService, stopAll };
}

export async function stop(program) {
  if (program.exitCode !== null || program.signalCode !== null) return;
  const ended = once(program, 'exit');
  program.kill('SIGTERM');
  await ended;
}

/** Waits until the address answers with any status except 503. */
export async function waitUntilAnswering(address, program) {
  const start = performance.now();
  for (;;) {
    const response = await fetch(address).catch(() => undefined); // The program does not listen yet.
    await response?.arrayBuffer();
    if (response && response.status !== 503) return;
    const end = program.exitCode ?? program.signalCode;
    if (end !== null) throw new Error(`The program for ${address} ended with ${end}`);
    if (performance.now() - start > 90_000) throw new Error(`${address} does not answer`);
    await delay(10);
  }
}

/** Returns the token of a benchmark user. Registers the user at the first call. */
export async function signIn(base, name = 'bench') {
  const user = { email: `${name}@example.com`, password: 'a long enough password' };
  const post = async (path, body) => {
    const response = await fetch(`${base}/api/auth/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return response.json();
  };
  let answer = await post('register', { ...user, firstName: 'B', lastName: 'M' });
  if (answer.error?.code === 'DUPLICATE_ENTRY') answer = await post('login', user);
  if (!answer.success) throw new Error(JSON.stringify(answer.error));
  return answer.data.accessToken;
}

/** The CPU time of a process since its start. With `endedChildren`, only the CPU time of its children that have ended. */
export function cpuMsOf(pid, { endedChildren = false } = {}) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ').map(Number);
  const [user, system, childrenUser, childrenSystem] = fields.slice(11, 15);
  const ticks = endedChildren ? childrenUser + childrenSystem : user + system;
  return (ticks * 1000) / TICKS_PER_SECOND;
}

/** The current and the highest resident memory of a process, in MB. */
export function memoryMbOf(pid) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const mb = (name) => Math.round(Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)[1]) / 1024);
  return { now: mb('VmRSS'), most: mb('VmHWM') };
}

export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}
