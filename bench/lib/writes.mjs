/**
 * Measures how fast (a) the service records payments, with token, rights, limits, ledger, audit and access log. Compares it with
 * two programs that have simpler statements (plain.mjs): (d) a handler of Fastify and pg with one insert, and (e) pgbench with the
 * smallest transaction that updates a balance. The letters (b) and (c) are programs for reads, see run.mjs.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FIRST_OPEN_ACCOUNT, linesOfOpenAccounts } from './load.mjs';
import { pgbench } from './pgbench.mjs';
import { createPlainTables, dropPlainTables, minimalTransaction } from './plain.mjs';
import { freePort, waitUntilAnswering } from './programs.mjs';
import { log, medianOf, round, table } from './report.mjs';
import { measureRounds, wrkAndUsage } from './rounds.mjs';
import { workloads } from './workloads.mjs';
import { wrk } from './wrk.mjs';

/** @returns the figures of each workload that writes, as medians of all rounds. The ratios are computed in each round. */
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
  const { connections } = options;
  await createPlainTables(database, size);
  const handler = await startHandler(programs, url);
  const numbers = join(scratch, 'numbers');
  writeFileSync(numbers, linesOfOpenAccounts(size));
  const script = minimalTransaction([FIRST_OPEN_ACCOUNT, size.accounts]);
  const plain = workloads(size).find(({ name }) => name.startsWith('POST /payments'));
  const results = [];
  for (const workload of writing(size, connections).filter(({ name }) => name.includes(options.only ?? ''))) {
    await database.query('checkpoint');
    const takes = await measureRounds(options, {
      a: (seconds) =>
        wrkAndUsage(
          { database, redis, services: [service] },
          {
            ...{ scratch, numbers, workload, connections: workload.connections },
            ...{ base: service.base, headers, seconds },
          },
        ),
      d: (seconds) => wrk({ scratch, workload: plain, connections, base: handler, headers: {}, seconds }),
      e: (seconds) => pgbench({ script, url, connections, seconds, scratch }),
    });
    const line = {
      name: workload.name,
      a: medianOf(takes, ({ a }) => a.perSecond),
      d: medianOf(takes, ({ d }) => d.perSecond),
      e: medianOf(takes, ({ e }) => e),
      ad: medianOf(takes, ({ a, d }) => a.perSecond / d.perSecond),
      ae: medianOf(takes, ({ a, e }) => a.perSecond / e),
      p50: medianOf(takes, ({ a }) => a.p50),
      p99: medianOf(takes, ({ a }) => a.p99),
      service: medianOf(takes, ({ a }) => a.used.service),
      postgres: medianOf(takes, ({ a }) => a.used.postgres),
      wal: medianOf(takes, ({ a }) => a.used.walBytes),
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

/** The workloads that write. Only the last one has a single connection, and so records one payment at a time. */
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
  await waitUntilAnswering(base, program);
  return base;
}

export function describeWrites(results) {
  return [
    '## Payments',
    'a: the service; d: a plain handler of Fastify and pg with one insert; e: `pgbench -M prepared` with the smallest ' +
      'transaction that updates a balance. d and e use plain tables of the same size, with foreign keys and three indexes ' +
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
