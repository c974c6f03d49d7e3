/**
 * Measures the service, and compares it with simpler programs on the same database. Each round of a read runs (a) the service
 * over HTTP as in production, (b) pgbench with the statements that the service sends, and (c) a handler of Fastify and pg that
 * only runs these statements. The figures are medians of all rounds. The ratios a/b and a/c are computed in each round. For
 * payments, see writes.mjs.
 *
 *   npm run bench -- [--payments=1000000 | --database=URL] [--rounds=3] [--seconds=5] [--connections=32] [--only=TEXT]
 *     [--write]
 *
 * --payments: at least 500,000, because a run with 3 rounds reconciles 320,000.
 * --database: the URL of a database that bench/lib/load.mjs has filled. The run then does not verify the books first.
 * --only: runs only the workloads whose name contains TEXT. --write: writes the report to bench/RESULTS.md.
 * Needs wrk, pgbench, psql and a PostgreSQL server that no other program uses. BENCH_DATABASE_URL is the URL of this server for a
 * superuser (default postgres://postgres@localhost:55432/postgres). If BENCH_REDIS_URL is set, the service uses this Redis.
 */
import { execFile } from 'node:child_process';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { readConfig } from '../dist/config/config.js';
import { today } from '../dist/core/context.js';
import { addDays, systemClock } from '../dist/core/values/dates.js';
import { paymentsCsv } from '../dist/reports/payments-store.js';
import { FIRST_OPEN_ACCOUNT } from './lib/load.mjs';
import { openBench, readOptions } from './lib/open-bench.mjs';
import { pgbench } from './lib/pgbench.mjs';
import { freePort, memoryMbOf, SECRET, signIn, stop, waitUntilAnswering } from './lib/programs.mjs';
import { reconcile, unreconciledOf } from './lib/reconcile.mjs';
import { conditions, describeSize, log, medianOf, round, table } from './lib/report.mjs';
import { measureRounds, wrkAndUsage } from './lib/rounds.mjs';
import { pgbenchScript, templateOf, typesOf } from './lib/statements.mjs';
import { workloads } from './lib/workloads.mjs';
import { describeWrites, measureWrites } from './lib/writes.mjs';

const run = promisify(execFile);
const options = readOptions(['accounts', 'customers', 'only']);
const { rounds, seconds, connections } = options;
const start = performance.now();
const { scratch, programs, redis, url, size, database, close } = await openBench('run', options);
log(`${JSON.stringify(size)} after ${Math.round((performance.now() - start) / 1000)} s`);

/** Short calls get five times as many rounds, because their times vary more. */
const short = { times: rounds * 5 };

try {
  await database.connect();
  if (!options.database) await verify();
  const result = await measure();
  const report = await reportOf(result);
  console.log(`\n${report}`);
  if (options.write) writeFileSync(join(import.meta.dirname, 'RESULTS.md'), `${report}\n`);
} finally {
  await close();
}

async function measure() {
  const reading = workloads(size).filter(({ method }) => method === 'GET');
  const chosen = [...reading, byUsers(reading[0])].filter(({ name }) => name.includes(options.only ?? ''));
  // Starts the service from its sources. The built service contains its own copy of pg, which record.mjs cannot change.
  const recorder = await programs.startService(
    url,
    { BENCH_RECORD: scratchFile('seen') },
    {
      script: '../../src/server.ts',
      nodeOptions: [import.meta.resolve('tsx'), file('lib/record.mjs')].map((module) => `--import=${module}`),
    },
  );
  await delay(2_000); // Wait for the first run of the minute jobs.
  const headers = { authorization: `Bearer ${await signIn(recorder.base)}`, 'x-webhook-secret': SECRET };
  const templates = [];
  for (const workload of chosen) templates.push(await record(recorder, workload, headers));
  await stop(recorder.program);

  const service = await programs.startService(url);
  await delay(2_000); // Wait for the first run of the minute jobs.
  const bare = await startBare(chosen, templates);
  const tokens = [];
  for (let user = 0; user < connections; user += 1) tokens.push(await signIn(service.base, `bench-${user}`));
  const results = [];
  for (const [i, workload] of chosen.entries()) {
    results.push(
      await measureOne(workload, templates[i], {
        service,
        bare: { ...bare, prefix: `/${i}` },
        headers,
        tokens,
      }),
    );
  }
  const single = await measureSingle(service, headers);
  const writes = await measureWrites({
    ...{ options, scratch, programs, redis, url, size, database, service, headers },
  });
  const memoryMb = memoryMbOf(service.program.pid).most;
  const { rows } = await database.query(
    `select count(*)::int as n from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
      and application_name = 'account-management-service'`,
  );
  return { results, single, writes, memoryMb, readyMs: service.readyMs, connectionsOfService: rows[0].n };
}

async function measureOne(workload, statements, { service, bare, headers, tokens }) {
  const { script, defines } = pgbenchScript(statements, await typesOf(database, statements), workload.ranges);
  const shared = { workload, connections, scratch, tokens };
  const signed = workload.isByUsers ? { ...headers, authorization: 'Bearer {token}' } : headers;
  await database.query('checkpoint');
  const takes = await measureRounds(options, {
    a: (seconds) =>
      wrkAndUsage(
        { database, redis, services: [service] },
        { ...shared, base: service.base, headers: signed, seconds },
      ),
    b: (seconds) => pgbench({ script, defines, url, connections, seconds, scratch }),
    c: (seconds) =>
      wrkAndUsage(
        { database, redis, services: [bare] },
        { ...shared, base: bare.base, prefix: bare.prefix, headers: {}, seconds },
      ),
  });
  const line = {
    name: workload.name,
    statements: statements.length,
    ...{ a: medianOf(takes, ({ a }) => a.perSecond), b: medianOf(takes, ({ b }) => b) },
    ...{ c: medianOf(takes, ({ c }) => c.perSecond), p50: medianOf(takes, ({ a }) => a.p50) },
    ...{ p99: medianOf(takes, ({ a }) => a.p99), bareP99: medianOf(takes, ({ c }) => c.p99) },
    ab: medianOf(takes, ({ a, b }) => a.perSecond / b),
    ac: medianOf(takes, ({ a, c }) => a.perSecond / c.perSecond),
    cpuMs: medianOf(takes, ({ a }) => a.used.service),
    bareCpuMs: medianOf(takes, ({ c }) => c.used.service),
    redisCalls: medianOf(takes, ({ a }) => a.used.redisScripts),
  };
  log(
    `${line.name}: a ${round(line.a)} b ${round(line.b)} c ${round(line.c)} /s, a/b ${line.ab.toFixed(2)} a/c ${line.ac.toFixed(2)}`,
  );
  return line;
}

/**
 * The same workload, but a random user makes each call. There are as many users as connections. For a single user, the service
 * always finds the session in its cache, and counts concurrent calls for the rate limit together.
 */
function byUsers(workload) {
  return { ...workload, name: `${workload.name}, by ${connections} users`, isByUsers: true };
}

/** Sends requests one at a time, and measures their times. For some, also measures the same work without the service. */
async function measureSingle({ base }, headers) {
  const day = today({ config: readConfig({ NODE_ENV: 'test' }), clock: systemClock });
  const get = async (path) => {
    const response = await fetch(`${base}/api${path}`, { headers });
    for await (const _chunk of response.body);
    if (!response.ok) throw new Error(`${path}: ${response.status}`);
  };
  const lines = [];
  const one = async (name, ours, theirs, { prepare = async () => {}, times = rounds } = {}) => {
    if (!name.includes(options.only ?? '')) return;
    const takes = [];
    for (let roundIndex = 0; roundIndex <= times; roundIndex += 1) {
      await prepare();
      const a = await timed(ours);
      if (theirs) await prepare();
      const b = theirs && (await timed(theirs));
      if (roundIndex > 0) takes.push({ a, b });
    }
    const b = theirs && medianOf(takes, (take) => take.b);
    const line = {
      name,
      a: medianOf(takes, ({ a }) => a),
      b,
      ba: b && medianOf(takes, (take) => take.b / take.a),
    };
    log(
      `${name}: ${round(line.a)} ms${b ? `, without the service ${round(b)} ms, ratio ${line.ba.toFixed(2)}` : ''}`,
    );
    lines.push(line);
  };

  const unreconciled = unreconciledOf(database);
  let batch = [];
  const nextBatch = async () => {
    batch = await unreconciled();
  };
  await one(
    'POST /payments/reconcile, 10,000 ids',
    () => reconcile({ base, headers }, batch),
    // Without the service, this one statement does the work.
    async () => {
      await database.query('begin');
      await database.query('set local enable_seqscan = off'); // as the service does
      await database.query(
        `with batch as (insert into reconciliations (reconciliation_date, total_minor, payment_ids)
          select current_date, sum(amount_minor), array_agg(id order by id) from payments
          where id = any($1::bigint[]) returning id)
        update payments p set reconciliation_id = batch.id, reconciliation_date = current_date, updated_at = now()
        from batch where p.id = any($1::bigint[])`,
        [batch],
      );
      await database.query('commit');
    },
    { prepare: nextBatch, ...short },
  );
  // The loader spreads the payments over a year. This number of days has about one million payments.
  const days = Math.min(364, Math.round((365 * 1_000_000) / size.payments));
  const period = {
    startDate: addDays(day, -days),
    endDate: day,
  };
  const { rows } = await database.query(
    'select count(*)::int as count from payments where payment_date between $1 and $2',
    [period.startDate, period.endDate],
  );
  const csv = paymentsCsv(period, { code: 'KES', decimals: 2 }).replace(/\s+/g, ' ');
  await one(
    `GET /reports/payments?format=csv, ${rows[0].count.toLocaleString('en')} payments; against psql \\copy`,
    () => get(`/reports/payments?format=csv&startDate=${period.startDate}&endDate=${day}`),
    () => run('psql', ['-q', url, '-c', `\\copy (${csv}) to '/dev/null' (format csv, header true)`]),
  );
  const month = day.slice(0, 8);
  const summary = () => get(`/reports/accounts/summary?startDate=${month}01&endDate=${day}`);
  await one('GET /reports/accounts/summary, this month, as of today', summary, undefined, short);
  const past = new Date(Date.now() - 200 * 86_400_000).toISOString().slice(0, 8);
  await one('GET /reports/accounts/summary, a past month', () =>
    get(`/reports/accounts/summary?startDate=${past}01&endDate=${past}28`),
  );
  const ofMost = workloads(size).find(({ name }) => name.includes('70 %'));
  await one(ofMost.name, () => get(ofMost.path), undefined, short);
  const middle = Math.floor(size.accounts / 40);
  const middlePage = () => get(`/accounts?page=${middle}`);
  await one('GET /accounts, the middle page of all', middlePage, undefined, short);
  return lines;
}

/** Sends the call twice. @returns the statements of the second call, which finds warm caches. */
async function record({ base }, workload, headers) {
  const marks = {
    account: Math.floor(size.accounts * 0.7317) + FIRST_OPEN_ACCOUNT,
    customer: Math.floor(size.customers * 0.7317) + 1,
  };
  const path = workload.path.replace(/\{(\w+)\}/g, (all, name) => marks[name] ?? all);
  let seen = 0;
  for (let time = 0; time < 2; time += 1) {
    await delay(100);
    seen = statSync(scratchFile('seen')).size;
    const response = await fetch(`${base}/api${path}`, { headers });
    if (!response.ok) throw new Error(`${workload.name}: ${await response.text()}`);
    await response.arrayBuffer();
  }
  const lines = readFileSync(scratchFile('seen'), 'utf8').slice(seen).trim().split('\n');
  const used = Object.entries(marks).filter(([name]) => name in workload.ranges);
  return templateOf(
    lines.map((line) => JSON.parse(line)),
    Object.fromEntries(used),
  );
}

async function startBare(chosen, templates) {
  const port = await freePort();
  // Each route has a prefix of its own, because several workloads can have the same path.
  const routes = chosen.map(({ bare }, i) => ({
    ...bare,
    path: `/${i}${bare.path}`,
    statements: templates[i],
  }));
  writeFileSync(scratchFile('bare.json'), JSON.stringify({ routes, url, port }));
  const program = programs.startScript('bare.mjs', {
    NODE_ENV: 'production',
    BENCH_BARE: scratchFile('bare.json'),
  });
  const base = `http://127.0.0.1:${port}`;
  await waitUntilAnswering(base, program);
  return { program, base };
}

async function verify() {
  const environment = { PATH: process.env.PATH, NODE_ENV: 'test', DATABASE_URL: url };
  const taken = await timed(() =>
    run(process.execPath, [file('../dist/cli/verify.js')], { env: environment, cwd: scratch }),
  );
  log(`npm run verify found no violations (${Math.round(taken / 1000)} s)`);
}

async function reportOf({ results, single, writes, memoryMb, readyMs, connectionsOfService }) {
  return [
    '# Results of `npm run bench`',
    `${await conditions(database)}; ${redis ? 'Redis' : 'no Redis'}; all on one machine with wrk. ` +
      `${describeSize(size)}; ${connections} connections, ${rounds} rounds of ${seconds} s, medians.`,
    '## Reads',
    'a: the service; b: `pgbench -M prepared` with the statements that the service sends; c: a plain handler of Fastify and ' +
      'pg with the same statements. Rates depend on the machine. Ratios differ less, by up to 30% between two machines.',
    table(
      ['workload', 'a /s', 'b /s', 'c /s', 'a/b', 'a/c', 'p50 of a, ms', 'p99 of a, ms', 'p99 of c, ms'],
      results.map((r) => [
        r.name,
        round(r.a),
        round(r.b),
        round(r.c),
        r.ab.toFixed(2),
        r.ac.toFixed(2),
        r.p50.toFixed(1),
        r.p99.toFixed(1),
        r.bareP99.toFixed(1),
      ]),
    ),
    'The cost of one request:',
    table(
      ['workload', 'statements', 'CPU of a, ms', 'CPU of c, ms', 'scripts run by Redis'],
      results.map((r) => [
        r.name,
        r.statements,
        r.cpuMs.toFixed(2),
        r.bareCpuMs.toFixed(2),
        r.redisCalls.toFixed(1),
      ]),
    ),
    ...describeWrites(writes),
    '## Single calls',
    'One caller sends one request at a time. b: the same work without the service. Short calls get five times the rounds.',
    table(
      ['workload', 'a, ms', 'b, ms', 'b/a'],
      single.map((r) => [r.name, round(r.a), r.b ? round(r.b) : '–', r.ba?.toFixed(2) ?? '–']),
    ),
    `The instance was ready ${round(readyMs)} ms after its start on the migrated database, used ${memoryMb} MB at most, and held ` +
      `${connectionsOfService} connections of its pool.`,
  ].join('\n\n');
}

async function timed(work) {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

function file(name) {
  return join(import.meta.dirname, name);
}

function scratchFile(name) {
  return join(scratch, name);
}
