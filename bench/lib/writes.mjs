/**
 * Measures how fast payments are recorded, compared with programs that do not use the statements of this service: (d) a bare
 * Fastify and pg handler with one plain insert, and (e) pgbench with the smallest transaction that keeps a balance (plain.mjs). All
 * checks of the service are on: token, rights, limits, ledger, audit, access log. Each round runs all three, and they take turns in
 * running first. Part of run.mjs.
 */
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { FIRST_OPEN_ACCOUNT, openAccounts } from './load.mjs';
import { createPlainTables, dropPlainTables, minimalTransaction } from './plain.mjs';
import { answering, freePort } from './programs.mjs';
import { log, medianOf, round, table } from './report.mjs';
import { usage, usedPerRequest } from './usage.mjs';
import { workloads } from './workloads.mjs';
import { wrk } from './wrk.mjs';

const run = promisify(execFile);

/** @returns a line for each workload that writes. Each ratio is the median of the ratios of all rounds. */
export async function measureWrites({
  options,
  scratch,
  programs,
  redis,
  url,
  size,
  database,
  service,
  headers,
}) {
  const { rounds, seconds, connections } = options;
  const scratchFile = (name) => join(scratch, name);
  await createPlainTables(database, size);
  const handler = await startHandler(programs, url);
  writeFileSync(scratchFile('numbers'), openAccounts(size));
  const script = scratchFile('minimal.sql');
  writeFileSync(script, minimalTransaction([FIRST_OPEN_ACCOUNT, size.accounts]));
  const plain = workloads(size).find(({ name }) => name.startsWith('POST /payments'));
  const results = [];
  for (const workload of writing(size, connections).filter(({ name }) => name.includes(options.only ?? ''))) {
    const takes = [];
    await database.query('checkpoint');
    for (let roundIndex = 0; roundIndex <= rounds; roundIndex += 1) {
      const duration = roundIndex === 0 ? 8 : seconds; // the first run only warms up
      const take = {};
      const shared = { scratch, numbers: scratchFile('numbers'), seconds: duration };
      const runs = [
        async () => {
          const before = await usage({ database, redis, services: [service] });
          take.a = await wrk({
            ...shared,
            workload,
            connections: workload.connections,
            base: service.base,
            headers,
          });
          const after = await usage({ database, redis, services: [service] });
          take.used = usedPerRequest(before, after, take.a.requests);
        },
        async () => {
          take.d = await wrk({ ...shared, workload: plain, connections, base: handler, headers: {} });
        },
        async () => {
          take.e = await pgbench(script, { url, connections, duration });
        },
      ];
      const first = roundIndex % runs.length;
      for (const runNext of [...runs.slice(first), ...runs.slice(0, first)]) await runNext();
      if (take.a.failures + take.d.failures > 0) {
        throw new Error(`${workload.name}: ${take.a.failures} and ${take.d.failures} failures`);
      }
      if (roundIndex > 0) takes.push(take);
    }
    const line = {
      name: workload.name,
      a: medianOf(takes, ({ a }) => a.perSecond),
      d: medianOf(takes, ({ d }) => d.perSecond),
      e: medianOf(takes, ({ e }) => e),
      ad: medianOf(takes, ({ a, d }) => a.perSecond / d.perSecond),
      ae: medianOf(takes, ({ a, e }) => a.perSecond / e),
      p50: medianOf(takes, ({ a }) => a.p50),
      p99: medianOf(takes, ({ a }) => a.p99),
      service: medianOf(takes, ({ used }) => used.service),
      postgres: medianOf(takes, ({ used }) => used.postgres),
      wal: medianOf(takes, ({ used }) => used.walBytes),
    };
    log(
      `${line.name}: a ${round(line.a)} d ${round(line.d)} e ${round(line.e)} /s, a/d ${line.ad.toFixed(2)} ` +
        `a/e ${line.ae.toFixed(2)}, p50 ${line.p50.toFixed(2)} ms, CPU ${line.service.toFixed(2)} + ${line.postgres.toFixed(2)} ms`,
    );
    results.push(line);
  }
  await dropPlainTables(database);
  return results;
}

/** The write workloads with all connections, and one workload with a single connection that records one payment at a time. */
function writing(size, connections) {
  const all = workloads(size)
    .filter(({ method }) => method === 'POST')
    .map((workload) => ({ ...workload, connections }));
  const [keyed] = all;
  const { headers: _key, ...unkeyed } = keyed;
  return [
    { ...unkeyed, name: 'POST /payments' },
    ...all,
    { ...unkeyed, name: 'POST /payments, one caller', connections: 1 },
  ];
}

async function startHandler(programs, url) {
  const port = await freePort();
  const program = programs.startScript('plain-handler.mjs', {
    NODE_ENV: 'production',
    BENCH_PLAIN_URL: url,
    BENCH_PLAIN_PORT: port,
  });
  const base = `http://127.0.0.1:${port}`;
  await answering(base, program);
  return base;
}

async function pgbench(script, { url, connections, duration }) {
  const args = ['-n', '-M', 'prepared', '-c', connections, '-j', 2, '-T', duration, '-f', script, url];
  const { stdout } = await run('pgbench', args.map(String));
  const failed = /number of failed transactions: (\d+)/.exec(stdout)?.[1];
  if (failed !== '0') throw new Error(stdout);
  return Number(/tps = ([\d.]+)/.exec(stdout)[1]);
}

export function describeWrites(results) {
  return [
    '## Payments',
    'a: the service; d: a plain handler of Fastify and pg with one insert; e: `pgbench -M prepared` with the smallest ' +
      'transaction that keeps a balance. d and e use plain tables of the same size, with foreign keys and three indexes ' +
      '(`lib/plain.mjs`).',
    table(
      ['workload', 'a /s', 'd /s', 'e /s', 'a/d', 'a/e', 'p50 of a, ms', 'p99 of a, ms'],
      results.map((r) => [
        r.name,
        ...[r.a, r.d, r.e].map(round),
        ...[r.ad, r.ae, r.p50].map((figure) => figure.toFixed(2)),
        r.p99.toFixed(1),
      ]),
    ),
    'The cost of one payment:',
    table(
      ['workload', 'CPU of the service, ms', 'CPU of PostgreSQL, ms', 'write-ahead log, bytes'],
      results.map((r) => [r.name, r.service.toFixed(2), r.postgres.toFixed(2), round(r.wal)]),
    ),
  ];
}
