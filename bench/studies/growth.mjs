/**
 * Measures which calls become slower as a company grows. Runs the same calls in turns on three databases: the full books, the same
 * customers and accounts with a hundredth of the payments, and a company a hundred times smaller. There are few callers, so that
 * latencies contain no queueing.
 *
 *   npm run build && node bench/studies/growth.mjs [--payments=10000000 | --database=URL] [--rounds=5] [--seconds=3]
 *     [--connections=2]
 *
 * --database: the URL of a database that bench/lib/load.mjs has filled with about 10,000,000 payments. A hundredth of its
 * payments must be enough for a new batch of 10,000 in every round. The smaller companies are created on the same server. Needs
 * the programs of bench/run.mjs, except pgbench and psql.
 *
 * Result (b38bd31, before payments were posted in batches; 103,440 and 10,343,974 payments): with a hundred times the
 * payments, a read, a list, a payment and a batch of 10,000 reconciled payments took 0.8 to 1.2 times as long. Only calls that
 * count their matches became slower: the search for 1 % of the customers took 2.8 times as long with a hundred times the customers.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { openAccounts, openBooks } from '../lib/load.mjs';
import { openBench, readOptions } from '../lib/open-bench.mjs';
import { SECRET, signIn } from '../lib/programs.mjs';
import { reconcile, unreconciledOf } from '../lib/reconcile.mjs';
import { conditions, describeSize, loadBefore, log, medianOf, table } from '../lib/report.mjs';
import { workloads } from '../lib/workloads.mjs';
import { wrk } from '../lib/wrk.mjs';

const options = readOptions([], { payments: 10_000_000, rounds: 5, seconds: 3, connections: 2 });
const { rounds, seconds, connections } = options;
const TIMES = 100;

const load = loadBefore();
const { scratch, programs, url, size, database, close } = await openBench('growth', options);
const payments = Math.round(size.payments / TIMES);
const books = [];
const clients = [];

try {
  await database.connect();
  books.push({ name: 'small', ...(await openBooks('growth_small', { server: url, payments })) });
  books.push({ name: 'young', ...(await openBooks('growth_young', { server: url, ...size, payments })) });
  books.push({ name: 'grown', url, size, drop: async () => {} });
  const report = await reportOf(await measure());
  console.log(`\n${report}`);
} finally {
  await programs.stopAll();
  for (const client of clients) await client.end();
  for (const { drop } of books) await drop();
  await close();
}

/** @returns for each workload, the latencies on each of the databases, in one row for each round. */
async function measure() {
  const services = await Promise.all(books.map(startOn));
  await delay(2_000); // the first run of the minute job
  const lines = [];
  const one = async (name, latencyOn) => {
    const takes = [];
    for (let round = 0; round <= rounds; round += 1) {
      const take = [];
      for (const service of services) take.push(await latencyOn(service));
      if (round > 0) takes.push(take); // the first warms up
    }
    lines.push({ name, takes });
    log(`${name}: ${latencies(takes).join(', ')} ms`);
  };
  const names = services[0].workloads.map(({ name }) => name).filter((name) => !name.includes('70 %'));
  for (const name of names) {
    await one(name, async ({ workloads: own, ...service }) => {
      const workload = own.find((workload) => workload.name === name);
      const { p50, failures } = await wrk({ ...service, workload, connections, scratch, seconds });
      if (failures > 0) throw new Error(`${name}: ${failures} failures`);
      return p50;
    });
  }
  await one('POST /payments/reconcile, 10,000 ids', async (service) => {
    const batch = await service.unreconciled();
    const start = performance.now();
    await reconcile(service, batch);
    return performance.now() - start;
  });
  return lines;
}

async function startOn({ name, url, size }) {
  const { base } = await programs.startService(url);
  const headers = { authorization: `Bearer ${await signIn(base)}`, 'x-webhook-secret': SECRET };
  const numbers = join(scratch, `numbers-${name}`);
  writeFileSync(numbers, openAccounts(size));
  const client = new pg.Client({ connectionString: url });
  clients.push(client);
  await client.connect();
  return { base, headers, numbers, workloads: workloads(size), unreconciled: unreconciledOf(client) };
}

function latencies(takes) {
  return books.map((_, i) => medianOf(takes, (take) => take[i]).toFixed(2));
}

async function reportOf(lines) {
  const grownFrom = (takes, from) => medianOf(takes, (take) => take[2] / take[from]).toFixed(2);
  return [
    '# What growth costs',
    `${await conditions(database)}; all on this one machine, whose load before the run was ${load}; ${connections} connections, ` +
      `${rounds} rounds of ${seconds} s, medians of the rounds' median latencies. By \`node bench/studies/growth.mjs\`.`,
    books.map(({ name, size }) => `- ${name}: ${describeSize(size)}`).join('\n'),
    table(
      ['workload', ...books.map(({ name }) => `${name}, ms`), 'grown / small', 'grown / young'],
      lines.map(({ name, takes }) => [name, ...latencies(takes), grownFrom(takes, 0), grownFrom(takes, 1)]),
    ),
    'The list of 70 % of the accounts is left out, because its total counts all matching rows. The search for 1 % of the customers ' +
      'also counts all matching rows, and the small company has a hundredth of them.',
  ].join('\n\n');
}
