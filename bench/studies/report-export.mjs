/**
 * The reports on many payments: rows a second of the CSV over HTTP from the built service, against
 * `psql \copy` of the same statement in the same run; what the process's memory grows by; and how long the
 * other reports take.
 *
 *   npm run build && node bench/studies/report-export.mjs [payments=1000000] [accounts=20000] [rounds=3]
 *
 * Needs psql and curl, and a server on which it may create a database: BENCH_DATABASE_URL, by default
 * postgres://postgres@localhost:55432/postgres. The database is dropped afterwards.
 */
import { execFileSync, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { paymentsCsv, TEXT_COLUMNS } from '../../dist/reports/payments-store.js';
import { createDatabase, fill, sizes } from '../lib/load.mjs';

const [payments, accounts, rounds] = [1_000_000, 20_000, 3].map((value, i) =>
  Number(process.argv[2 + i] ?? value),
);
const { url, drop } = await createDatabase('export');
const port = await freePort();
const program = spawn(process.execPath, [join(import.meta.dirname, '..', '..', 'dist', 'server.js')], {
  env: {
    ...{ PATH: process.env.PATH, NODE_ENV: 'test', LOG_LEVEL: 'warn', PORT: String(port) },
    ...{ DATABASE_URL: url, RATE_LIMIT_GENERAL: '0', RATE_LIMIT_BULK: '0', DEMO_DATA: 'on' },
  },
  cwd: import.meta.dirname, // where no .env is
  stdio: ['ignore', 'inherit', 'inherit'],
});
try {
  await measure();
} finally {
  program.kill('SIGTERM');
  await new Promise((resolve) => (program.exitCode === null ? program.once('exit', resolve) : resolve()));
  await drop();
}

async function measure() {
  const token = await signIn();
  await fill(url, sizes({ payments, accounts }));
  const api = `http://127.0.0.1:${port}/api`;

  const today = new Date().toISOString().slice(0, 10);
  const period = { startDate: '2000-01-01', endDate: today };
  const statement = paymentsCsv(period, { code: 'KES', decimals: 2 }).replace(/\s+/g, ' ');
  const quoted = TEXT_COLUMNS.map((name) => `"${name}"`).join(', ');
  const copy = `\\copy (${statement}) to '/dev/null' (format csv, header true, force_quote (${quoted}))`;
  const csvUrl = `${api}/reports/payments?format=csv&startDate=${period.startDate}&endDate=${today}`;

  const psql = () =>
    execFileSync('psql', ['-q', url, '-c', copy], {
      env: { ...process.env, PGOPTIONS: '-c work_mem=64MB' },
    });

  psql(); // warm
  const before = memoryMb();
  const memory = watchMemory();
  const ratios = [];
  for (let round = 1; round <= rounds; round += 1) {
    const direct = await seconds(psql);
    let bytes = '';
    const http = await seconds(async () => {
      bytes = await download(csvUrl, token);
    });
    ratios.push(direct / http);
    console.log(
      `CSV round ${round}: psql ${rate(direct)}, HTTP ${rate(http)} (${Math.round(bytes / 2 ** 20)} MB), ratio ${(direct / http).toFixed(2)}`,
    );
  }
  console.log(`CSV ratio to psql, median of ${rounds}: ${median(ratios).toFixed(2)}`);
  console.log(`memory: ${before} MB before, at most ${memory.stop()} MB while exporting`);

  const month = (back) => {
    const now = new Date();
    const first = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back, 1));
    const last = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back + 1, 0));
    return `startDate=${first.toISOString().slice(0, 10)}&endDate=${last.toISOString().slice(0, 10)}`;
  };
  for (const [name, path] of [
    ['summary, this month as of today', `accounts/summary?${month(0)}`],
    ['summary, last month', `accounts/summary?${month(1)}`],
    ['summary, the month eleven back', `accounts/summary?${month(11)}`],
    ['payments json, this month', `payments?${month(0)}`],
    ['payments json, last month, page 500', `payments?${month(1)}&limit=100&page=500`],
    ['payments json, all', `payments?startDate=${period.startDate}&endDate=${today}`],
  ]) {
    const times = [];
    for (let i = 0; i < 5; i += 1) {
      times.push(
        await seconds(async () => {
          const response = await fetch(`${api}/reports/${path}`, {
            headers: { authorization: `Bearer ${token}` },
          });
          if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
          await response.arrayBuffer();
        }),
      );
    }
    console.log(`${name}: ${Math.round(median(times) * 1000)} ms`);
  }
}

/** The bytes that curl read. It is a child, so that this process's timers go on. */
function download(address, token) {
  const args = [
    '-sSf',
    '-o',
    '/dev/null',
    '-w',
    '%{size_download}',
    '-H',
    `Authorization: Bearer ${token}`,
    address,
  ];
  const child = spawn('curl', args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.on('data', (chunk) => {
    text += chunk;
  });
  return new Promise((resolve, reject) => {
    child.on('exit', (code) => (code === 0 ? resolve(text) : reject(new Error(`curl ended with ${code}`))));
  });
}

async function signIn() {
  const api = `http://127.0.0.1:${port}/api`;
  for (let waited = 0; ; waited += 100) {
    const alive = await fetch(`http://127.0.0.1:${port}/livez`).catch(() => undefined);
    if (alive?.ok) break;
    if (waited > 30_000) throw new Error('The service did not start.');
    await delay(100);
  }
  const body = {
    email: 'bench@example.com',
    password: 'a long enough password',
    firstName: 'B',
    lastName: 'M',
  };
  const answer = await fetch(`${api}/auth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return (await answer.json()).data.accessToken;
}

function memoryMb() {
  const kb = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${program.pid}/status`, 'utf8'))?.[1];
  return Math.round(Number(kb) / 1024);
}

function watchMemory() {
  let most = 0;
  const timer = setInterval(() => {
    most = Math.max(most, memoryMb());
  }, 50);
  return {
    stop() {
      clearInterval(timer);
      return most;
    },
  };
}

async function seconds(work) {
  const start = performance.now();
  await work();
  return (performance.now() - start) / 1000;
}

function rate(duration) {
  return `${Math.round(payments / duration / 1000)}k rows/s`;
}

function median(values) {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
}

function freePort() {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port: free } = probe.address();
      probe.close(() => resolve(free));
    });
  });
}
