/**
 * Measures the cost of a pooler in transaction mode. Each round measures three instances of the service: `direct` uses PostgreSQL
 * with named statements and pipelined reads, `direct, unnamed` uses neither of these, and `pooler` uses PgBouncer.
 *
 *   npm run build && node bench/studies/pooler.mjs [--payments=100000 | --database=URL] [--rounds=5] [--seconds=5]
 *     [--connections=32]
 *
 * --database: the URL of a database that bench/lib/load.mjs has filled. The new payments remain in it. Needs wrk, pgbouncer and a
 * PostgreSQL server. If root starts this study, pgbouncer runs as the user `postgres`. BENCH_DATABASE_URL is the URL of this
 * server for a superuser (default postgres://postgres@localhost:55432/postgres). Logins from the loopback address need `trust`.
 *
 * Result (before payments were posted in batches; 10,600,000 payments, two cores), relative to the rate of `direct`: for GET
 * /accounts/:id 0.54 with `direct, unnamed` and 0.45 with `pooler`; for a payment 0.70 and 0.66. So most of the loss comes from
 * the absence of named statements and pipelined reads.
 */
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { openBench, readOptions } from '../lib/open-bench.mjs';
import { cpuMsOf, freePort, signIn } from '../lib/programs.mjs';
import { conditions, describeSize, loadBefore, medianOf } from '../lib/report.mjs';
import { workloads } from '../lib/workloads.mjs';
import { wrk } from '../lib/wrk.mjs';

const options = readOptions([], { payments: 100_000, rounds: 5 });
const { rounds, seconds, connections } = options;
const POOL_SIZE = 8; // As many connections as the service has without a pooler.
const NAMES = ['GET /accounts/:id', 'POST /payments with an Idempotency-Key'];
const ROLE = `ams_bench_pooler_${process.pid}`;

const { scratch, programs, url, size, database, close } = await openBench('pooler', options);
chmodSync(scratch, 0o755);

try {
  await database.connect();
  console.log(`${await conditions(database)}; load ${loadBefore()} before; ${describeSize(size)}`);
  await query(`create role ${ROLE} login superuser`);
  for (const [name, value] of Object.entries({
    statement_timeout: '5s',
    lock_timeout: '3s',
    idle_in_transaction_session_timeout: '10s',
  }))
    await query(`alter role ${ROLE} set ${name} = '${value}'`);
  const direct = new URL(url);
  direct.username = ROLE;
  const pooler = await startPooler(direct);
  const ways = {
    direct: await programs.startService(direct.href),
    'direct, unnamed': await programs.startService(direct.href, { DATABASE_PREPARE: 'off' }),
    pooler: await programs.startService(pooler.url, { DATABASE_DIRECT_URL: direct.href }),
  };
  const headers = { authorization: `Bearer ${await signIn(ways.direct.base)}` };
  for (const workload of workloads(size).filter(({ name }) => NAMES.includes(name))) {
    const takes = Object.fromEntries(Object.keys(ways).map((way) => [way, []]));
    for (let round = 0; round <= rounds; round += 1) {
      const inTurn = Object.entries(ways);
      for (const [way, { base, program }] of round % 2 ? inTurn : inTurn.reverse()) {
        const before = [cpuMsOf(program.pid), cpuMsOf(pooler.program.pid)];
        const duration = round === 0 ? 10 : seconds; // The first round warms up.
        const take = await wrk({ base, workload, headers, seconds: duration, connections, scratch });
        const used = [cpuMsOf(program.pid) - before[0], cpuMsOf(pooler.program.pid) - before[1]];
        const [serviceMs, poolerMs] = used.map((ms) => ms / take.requests);
        if (round > 0) takes[way].push({ ...take, serviceMs, poolerMs });
      }
    }
    console.log(`\n${workload.name}`);
    for (const [way, measured] of Object.entries(takes)) {
      const middle = (key) => medianOf(measured, (take) => take[key]);
      const ratio = medianOf(measured, (take, i) => take.perSecond / takes.direct[i].perSecond);
      console.log(
        `  ${way.padEnd(16)} ${middle('perSecond').toFixed(0)}/s (${ratio.toFixed(2)} of direct), p50 ${middle('p50').toFixed(1)} ms,` +
          ` p99 ${middle('p99').toFixed(0)} ms, CPU of the service ${middle('serviceMs').toFixed(2)} ms and of PgBouncer ${middle('poolerMs').toFixed(2)} ms a request`,
      );
    }
  }
} finally {
  await programs.stopAll();
  await query(`drop role if exists ${ROLE}`);
  await close();
}

async function startPooler(direct) {
  const port = await freePort();
  writeFileSync(join(scratch, 'users.txt'), `"${ROLE}" ""\n`);
  const lines = [
    '[databases]',
    `* = host=${direct.hostname} port=${direct.port}`,
    '[pgbouncer]',
    ...['pool_mode = transaction', `default_pool_size = ${POOL_SIZE}`, 'unix_socket_dir ='],
    ...['listen_addr = 127.0.0.1', `listen_port = ${port}`],
    ...['auth_type = trust', `auth_file = ${join(scratch, 'users.txt')}`],
  ];
  writeFileSync(join(scratch, 'pgbouncer.ini'), lines.join('\n'));
  const user = process.getuid?.() === 0 ? ['-u', 'postgres'] : [];
  const program = programs.start('pgbouncer', ['-q', ...user, join(scratch, 'pgbouncer.ini')], {
    PATH: `${process.env.PATH}:/usr/sbin`, // where Debian installs it
  });
  const pooled = new URL(direct);
  pooled.hostname = '127.0.0.1';
  pooled.port = String(port);
  await until(() => query('select 1', pooled.href));
  return { program, url: pooled.href };
}

async function query(statement, connectionString = url) {
  const client = new pg.Client({ connectionString });
  await client.connect();
  await client.query(statement).finally(() => client.end());
}

async function until(works) {
  for (const start = performance.now(); ; await delay(50)) {
    try {
      return await works();
    } catch (error) {
      if (performance.now() - start > 30_000) throw error;
    }
  }
}
