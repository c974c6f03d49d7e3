/**
 * What calls wait for while instances share one database: payments on many accounts, payments on one, notifications,
 * invoices, lists, and payments that repeat one key go through nginx at once, and every few milliseconds PostgreSQL
 * is asked which connection waits for what. Fails if one waits for a lock that is no account's row, no year's counter
 * of invoices, and no key that it repeats.
 *
 *   npm run build && BENCH_REDIS_URL=redis://localhost:6379 node bench/studies/locks.mjs [--instances=2] [--seconds=30]
 *     [--every=50] [--payments=200000] [--database=URL]
 *
 * Result (two instances): the only locks waited for were an account's row, the yearly counter of invoices, and the
 * idempotency key of a repeated call.
 *
 * --every is in ms; --database and what is needed as in bench/studies/instances.mjs.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { FIRST_OPEN_ACCOUNT, openAccounts, openBooks } from '../lib/load.mjs';
import { startNginx } from '../lib/nginx.mjs';
import { openPrograms, SECRET, signIn } from '../lib/programs.mjs';
import { conditions, describeSize, loadBefore, round, table } from '../lib/report.mjs';
import { workloads } from '../lib/workloads.mjs';
import { wrk } from '../lib/wrk.mjs';

const text = { type: 'string' };
const { values: options } = parseArgs({
  options: {
    ...{ instances: text, seconds: text, every: text, payments: text, database: text },
  },
});
const [instances, seconds, everyMs] = [
  Number(options.instances ?? 2),
  Number(options.seconds ?? 30),
  Number(options.every ?? 50),
];
const CONNECTIONS = 6; // of each workload

/**
 * A look at all waits at once. Of one who waits for a row PostgreSQL says which transaction has it; the row's table
 * is that of the place in the queue, if the waiter holds one.
 */
const LOCK_WAITS = `
  select l.locktype, coalesce(l.relation, held.relation)::regclass::text as relation,
    held.relation is not null or l.locktype = 'tuple' as on_row, a.query,
    1000 * extract(epoch from clock_timestamp() - l.waitstart)::float8 as ms
  from pg_locks l join pg_stat_activity a on a.pid = l.pid
  left join lateral (
    select h.relation from pg_locks h where h.pid = l.pid and h.locktype = 'tuple' and h.granted limit 1
  ) held on l.locktype = 'transactionid'
  where not l.granted and a.wait_event_type = 'Lock' -- else it went on between the two looks, to another statement
    and a.application_name = 'account-management-service' and a.datname = current_database()`;
const OTHER_WAITS = `
  select wait_event_type as type, wait_event as event, count(*)::int as n from pg_stat_activity
  where application_name = 'account-management-service' and datname = current_database() and state = 'active'
    and wait_event_type is distinct from 'Lock'
  group by 1, 2`;

const load = loadBefore();
const scratch = mkdtempSync(join(tmpdir(), 'ams-bench-'));
const programs = openPrograms(scratch);
const { url, size, drop } = await openBooks('locks', {
  database: options.database,
  payments: Number(options.payments ?? 200_000),
});
const database = new pg.Client({ connectionString: url });

try {
  await database.connect();
  const services = await Promise.all(
    Array.from({ length: instances }, () => programs.startService(url, { TRUST_PROXY: '127.0.0.1' })),
  );
  const nginx = await startNginx({ programs, scratch, groups: [services.map(({ port }) => port)] });
  writeFileSync(join(scratch, 'numbers'), openAccounts(size));
  const headers = { authorization: `Bearer ${await signIn(services[0].base)}`, 'x-webhook-secret': SECRET };
  const call = {
    base: nginx.bases[0],
    headers,
    connections: CONNECTIONS,
    scratch,
    numbers: join(scratch, 'numbers'),
  };
  await runAll({ ...call, seconds: 5 }); // warms up
  const over = new AbortController();
  const [lines, seen] = await Promise.all([
    runAll({ ...call, seconds }).finally(() => over.abort()),
    sampleUntil(over.signal),
  ]);
  const report = await reportOf(lines, seen);
  console.log(`\n${report.text}`);
  if (report.others > 0)
    throw new Error('Calls waited for a lock that they should not share: see the table.');
} finally {
  await programs.stopAll();
  await database.end();
  await drop();
  rmSync(scratch, { recursive: true });
}

/** All at once. */
async function runAll(call) {
  return Promise.all(
    mix().map(async (workload) => {
      const { perSecond, p50, p99, failures } = await wrk({ ...call, workload });
      if (failures > 0) throw new Error(`${workload.name}: ${failures} failures`);
      return { name: workload.name, perSecond, p50, p99 };
    }),
  );
}

function mix() {
  const account = [FIRST_OPEN_ACCOUNT, size.accounts];
  const post = { method: 'POST', ranges: { account } };
  const chosen =
    /^(GET .*customerId=.*|GET .*300 accounts|POST .*Idempotency-Key|POST webhook.*|POST .*one account)$/;
  return [
    ...workloads(size).filter(({ name }) => chosen.test(name)),
    {
      ...{ name: 'POST /invoices', ...post, path: '/invoices' },
      body: '{"accountId":{account},"items":[{"description":"Cable","quantity":2.5,"unitPrice":80}]}',
    },
    {
      ...{ name: 'POST /payments, all of a second with one key', method: 'POST', path: '/payments' },
      headers: { 'idempotency-key': 'S{second}' },
      body: `{"accountId":${FIRST_OPEN_ACCOUNT},"amount":12.34,"paymentMethodId":2,"transactionRef":"S{second}"}`,
      ranges: {},
    },
  ];
}

async function sampleUntil(signal) {
  const waits = new Map();
  const others = new Map();
  const counted = { samples: 0, withWaits: 0 };
  async function sample() {
    const { rows } = await database.query(LOCK_WAITS);
    counted.samples += 1;
    if (rows.length > 0) counted.withWaits += 1;
    for (const row of rows) {
      const wait = { ...row, ...reasonOf(row), statement: shorten(row.query) };
      const key = [wait.what, wait.statement].join('|');
      const before = waits.get(key) ?? { ...wait, seen: 0, longestMs: 0 };
      before.seen += 1;
      before.longestMs = Math.max(before.longestMs, row.ms ?? 0); // not known in the first moments
      waits.set(key, before);
    }
    for (const { type, event, n } of (await database.query(OTHER_WAITS)).rows) {
      const name = type === null ? 'none: it works' : `${type}: ${event}`;
      others.set(name, (others.get(name) ?? 0) + n);
    }
  }
  while (!signal.aborted) {
    const next = performance.now() + everyMs;
    await sample();
    await delay(Math.max(0, next - performance.now()));
  }
  const bySeen = (a, b) => b[1].seen - a[1].seen;
  return {
    ...counted,
    waits: [...waits].sort(bySeen).map(([, wait]) => wait),
    others: [...others].sort((a, b) => b[1] - a[1]),
  };
}

/** @returns what is waited for, and whether that is meant to be. */
function reasonOf({ locktype, relation, on_row: onRow, query }) {
  const row = onRow ? relation : locktype === 'transactionid' ? lockedBy(query) : undefined;
  if (row === 'accounts') return { what: "the account's own row", meant: true };
  if (row === 'invoice_numbers') return { what: "the year's counter of invoices", meant: true };
  if (row === 'idempotency_keys') return { what: 'the idempotency key that it repeats', meant: true };
  // A file that grows is PostgreSQL's own matter, of any table that many write to.
  if (locktype === 'extend') return { what: `PostgreSQL's own: the file of ${relation} grows`, meant: true };
  const where = relation ? ` of ${relation}` : '';
  return { what: `${onRow ? 'a row' : locktype}${where}`, meant: false };
}

/** Who comes to a row behind nobody else has no place in a queue; but these statements wait for one table alone. */
function lockedBy(query) {
  if (/^\s*select \* from "?accounts"? where "?id"? = \$1 for no key update\s*$/.test(query))
    return 'accounts';
  if (/^\s*with taken as \(\s*insert into invoice_numbers\b/.test(query)) return 'invoice_numbers';
  if (/^\s*insert into "idempotency_keys"/.test(query)) return 'idempotency_keys';
  return undefined;
}

function shorten(query) {
  const line = query.replace(/\s+/g, ' ').trim().replaceAll('|', '\\|');
  return line.length > 90 ? `${line.slice(0, 90)}…` : line;
}

async function reportOf(lines, { samples, withWaits, waits, others }) {
  const unmeant = waits.filter(({ meant }) => !meant);
  const result = [
    `# Locks that ${instances} instances wait for`,
    `${await conditions(database)}; ${process.env.BENCH_REDIS_URL ? 'Redis' : 'no Redis'}; nginx; all on this one ` +
      `machine, wrk too, whose load was ${load} before. ${describeSize(size)}; ${seconds} s of all of these at once, ` +
      `${CONNECTIONS} connections each. By \`node bench/studies/locks.mjs\`.`,
    table(
      ['workload', '/s', 'p50, ms', 'p99, ms'],
      lines.map((line) => [line.name, round(line.perSecond), line.p50.toFixed(1), line.p99.toFixed(1)]),
    ),
    `PostgreSQL was asked ${round(samples)} times, every ${everyMs} ms; ${round(withWaits)} times at least one ` +
      'connection waited for a lock:',
    table(
      ['what for', 'lock', 'statement', 'times seen', 'longest, ms', 'as meant'],
      waits.map((wait) => [
        ...[
          wait.what,
          `Lock: ${wait.locktype}`,
          `\`${wait.statement}\``,
          round(wait.seen),
          round(wait.longestMs),
        ],
        wait.meant ? 'yes' : '**no**',
      ]),
    ),
    unmeant.length === 0
      ? 'Nothing else was waited for: the instances share no lock of ours but these.'
      : `**${unmeant.length} of these should not be.**`,
    "What the active connections did otherwise. LWLock, IO and BufferPin are PostgreSQL's own; Client and ClientRead " +
      'wait for the service:',
    table(
      ['wait', 'times seen'],
      others.map(([name, seen]) => [name, round(seen)]),
    ),
  ];
  return { text: result.join('\n\n'), others: unmeant.length };
}
