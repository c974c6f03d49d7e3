/**
 * Measures the seconds of upload, matching, importing and reconciling a provider's statement over HTTP with the built service, and
 * the memory of the process. Nine lines in ten have a payment in the books.
 *
 *   npm run build && node bench/studies/provider-statement.mjs [lines=100000] [maximum of imported lines=1000]
 *
 * Result (2 shared cores): 100,000 lines were matched 21 s after the upload began, 90,000 payments reconciled in 9 s. The
 * process grew to 359 MB with 100,000 lines, and to 355 MB with 280,000, the most lines of a file of 64 MiB.
 *
 * Needs a server on which it may create a database: BENCH_DATABASE_URL, by default
 * postgres://postgres@localhost:55432/postgres. The database is dropped afterwards.
 */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';

const [lines, missing] = [100_000, 1_000].map((value, i) => Number(process.argv[2 + i] ?? value));
const accounts = 2_000;
const server = process.env.BENCH_DATABASE_URL ?? 'postgres://postgres@localhost:55432/postgres';
const database = `ams_bench_statement_${process.pid}`;
const url = new URL(server);
url.pathname = `/${database}`;

const admin = new pg.Client({ connectionString: server });
await admin.connect();
await admin.query(`create database ${database}`);
const port = await freePort();
const api = `http://127.0.0.1:${port}/api`;
const program = spawn(process.execPath, [join(import.meta.dirname, '..', '..', 'dist', 'server.js')], {
  env: {
    ...{ PATH: process.env.PATH, NODE_ENV: 'test', LOG_LEVEL: 'warn', PORT: String(port) },
    ...{ DATABASE_URL: url.href, RATE_LIMIT_GENERAL: '0', RATE_LIMIT_BULK: '0', DEMO_DATA: 'on' },
  },
  cwd: import.meta.dirname, // a folder without a .env file
  stdio: ['ignore', 'inherit', 'inherit'],
});
try {
  await measure();
} finally {
  program.kill('SIGTERM');
  await new Promise((resolve) => (program.exitCode === null ? program.once('exit', resolve) : resolve()));
  await admin.query(`drop database ${database} with (force)`);
  await admin.end();
}

async function measure() {
  const token = await signIn();
  await fill();
  const headers = { authorization: `Bearer ${token}` };
  await upload(headers, 1_000, 'W'); // warms up
  const before = memoryMb();
  const memory = watchMemory();

  let start = performance.now();
  const { id } = await upload(headers, lines, 'Q');
  const uploadSeconds = since(start);
  const matched = await ended(headers, id);
  console.log(`upload: ${uploadSeconds.toFixed(1)} s, until matched: ${since(start).toFixed(1)} s`);
  console.log(JSON.stringify(matched.results));
  console.log(`memory: ${before} MB before, at most ${memory.peak()} MB, ${memoryMb()} MB now`);

  start = performance.now();
  await post(headers, `/reconciliations/statements/${id}/reconcile`);
  const { progress } = await ended(headers, id);
  console.log(`reconcile: ${progress.reconciled} payments in ${since(start).toFixed(1)} s`);

  const small = await upload(headers, missing, 'N');
  await ended(headers, small.id);
  start = performance.now();
  await post(headers, `/reconciliations/statements/${small.id}/import`);
  const taken = await ended(headers, small.id);
  console.log(`import: ${taken.progress.imported} lines in ${since(start).toFixed(1)} s`);
  console.log(`memory: at most ${memory.stop()} MB in all`);
}

/** Creates the file while sending it. */
async function upload(headers, count, prefix) {
  const response = await fetch(`${api}/reconciliations/statements`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'text/csv' },
    body: Readable.toWeb(Readable.from(fileOf(count, prefix))),
    duplex: 'half',
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(JSON.stringify(answer));
  return answer.data;
}

function* fileOf(count, prefix) {
  yield Buffer.from(
    'Organization:,Bench\r\nShort Code:,600638\r\n\r\nReceipt No.,Completion Time,Initiation Time,Details,Transaction Status,Paid In,Withdrawn,Balance,Balance Confirmed,Reason Type,Other Party Info,Linked Transaction ID,A/C No.\r\n',
  );
  let rows = '';
  for (let n = 1; n <= count; n += 1) {
    const payer = `2547${String(n % accounts).padStart(8, '0')}`;
    rows += `${prefix}K${n},05-01-2026 10:${String(Math.floor(n / 60) % 60).padStart(2, '0')}:${String(n % 60).padStart(2, '0')},05-01-2026 10:15:28,"Pay Bill from ${payer}, CUSTOMER NUMBER ${n}",Completed,"1,${String(n % 1000).padStart(3, '0')}.00",,"${n},345.00",true,Pay Utility,${payer} - CUSTOMER NUMBER ${n},,${1 + (n % accounts)}\r\n`;
    if (rows.length > 60_000 || n === count) {
      yield Buffer.from(rows);
      rows = '';
    }
  }
}

async function ended(headers, id) {
  for (;;) {
    const response = await fetch(`${api}/reconciliations/statements/${id}`, { headers });
    const { data } = await response.json();
    if (data.status === 'failed') throw new Error(data.failure);
    if (data.status === 'done') return data;
    await delay(50);
  }
}

async function post(headers, path) {
  const response = await fetch(api + path, { method: 'POST', headers });
  if (!response.ok) throw new Error(await response.text());
}

/** Accounts, and reported payments for nine in ten lines of the file. */
async function fill() {
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  await client.query(
    `insert into customers (first_name, last_name, phone, phone_sha256, search_text)
    select 'Customer', 'Number ' || n, '+2547' || lpad(n::text, 8, '0'),
      sha256(('2547' || lpad(n::text, 8, '0'))::bytea), 'customer ' || n
    from generate_series(1, $1::int) n`,
    [accounts],
  );
  await client.query(
    `insert into accounts (customer_id, product_id, payplan_id, activation_date, status, deposit_minor,
      instalment_minor, instalment_count, frequency, grace_days, receivable_minor)
    select n, 1, p.id, '2026-01-01', 'active', p.deposit_minor, p.instalment_minor, p.instalment_count,
      p.frequency, p.grace_days, p.deposit_minor + p.instalment_minor * p.instalment_count
    from generate_series(1, $1::int) n join pay_plans p on p.id = 2`,
    [accounts],
  );
  await client.query(
    `insert into payments (account_id, amount_minor, payment_method_id, transaction_ref, reference_key,
      payment_date, status, source, match_method, provider, provider_trans_id)
    select 1 + n % $2::int, 100000 + n % 1000 * 100, 1, 'QK' || n, 'QK' || n, '2026-01-05', 'matched', 'webhook',
      'account_number', 'mobilemoney', 'QK' || n
    from generate_series(1, $1::int) n where n % 10 <> 0`,
    [lines, accounts],
  );
  await client.query('vacuum analyze');
  await client.end();
}

async function signIn() {
  for (let waited = 0; ; waited += 100) {
    const alive = await fetch(`http://127.0.0.1:${port}/livez`).catch(() => undefined);
    if (alive?.ok) break;
    if (waited > 30_000) throw new Error('The service did not start.');
    await delay(100);
  }
  const answer = await fetch(`${api}/auth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      email: 'bench@example.com',
      password: 'a long enough password',
      firstName: 'B',
      lastName: 'M',
    }),
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
    peak: () => most,
    stop() {
      clearInterval(timer);
      return most;
    },
  };
}

function since(start) {
  return (performance.now() - start) / 1000;
}

function freePort() {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port: free } = probe.address();
      probe.close(() => resolve(free));
    });
  });
}
