/**
 * What becomes slower as the company grows: the same calls on its books, on those of the same customers and accounts
 * with a hundredth of the payments, and on those of a company a hundred times smaller; in turns, with few enough
 * callers that a latency is what a request takes and not how long it queues.
 *
 *   npm run build && node bench/growth.mjs [--payments=10000000 | --database=URL] [--rounds=5] [--seconds=3]
 *     [--connections=2] [--write]
 *
 * --database is one that bench/load.mjs has filled; --write keeps the table in bench/GROWTH.md. Needs what
 * bench/run.mjs needs, but for pgbench and psql.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { openAccounts, openBooks } from './load.mjs';
import { openPrograms, SECRET, signIn } from './programs.mjs';
import { conditions, describeSize, loadBefore, log, medianOf, table } from './report.mjs';
import { workloads } from './workloads.mjs';
import { wrk } from './wrk.mjs';

const text = { type: 'string' };
const { values: options } = parseArgs({
  options: {
    ...{ payments: text, database: text, rounds: text, seconds: text, connections: text },
    write: { type: 'boolean' },
  },
});
const number = (name, otherwise) => Number(options[name] ?? otherwise);
const [rounds, seconds, connections] = [number('rounds', 5), number('seconds', 3), number('connections', 2)];
const TIMES = 100;

const load = loadBefore();
const scratch = mkdtempSync(join(tmpdir(), 'ams-bench-'));
const programs = openPrograms(scratch);
const books = [
  await openBooks('growth', { database: options.database, payments: number('payments', 10_000_000) }),
];
const [{ size: whole }] = books;

try {
  const fewer = Math.round(whole.payments / TIMES);
  books.unshift(await openBooks('growth_payments', { ...whole, payments: fewer }));
  log(`the same company with fewer payments: ${describeSize(books[0].size)}`);
  books.unshift(await openBooks('growth_company', { payments: fewer }));
  log(`a smaller company: ${describeSize(books[0].size)}`);
  const report = await reportOf(await measure());
  console.log(`\n${report}`);
  if (options.write) writeFileSync(join(import.meta.dirname, 'GROWTH.md'), `${report}\n`);
} finally {
  await programs.stopAll();
  for (const { drop } of books) await drop();
  rmSync(scratch, { recursive: true });
}

/** For each workload what the median request took on each of the books, in the rounds' medians. */
async function measure() {
  const services = [];
  for (const [i, { url, size }] of books.entries()) {
    const { base } = await programs.startService(url);
    const headers = { authorization: `Bearer ${await signIn(base)}`, 'x-webhook-secret': SECRET };
    const numbers = join(scratch, `numbers-${i}`);
    writeFileSync(numbers, openAccounts(size));
    services.push({ base, headers, numbers, workloads: workloads(size) });
  }
  await delay(2_000); // the first run of the minute job
  const names = services[0].workloads.map(({ name }) => name).filter((name) => !name.includes('70 %'));
  const lines = [];
  for (const name of names) {
    const takes = [];
    for (let round = 0; round <= rounds; round += 1) {
      const take = [];
      for (const { workloads: own, ...service } of services) {
        const workload = own.find((workload) => workload.name === name);
        const { p50, failures } = await wrk({ ...service, workload, connections, scratch, seconds });
        if (failures > 0) throw new Error(`${name}: ${failures} failures`);
        take.push(p50);
      }
      if (round > 0) takes.push(take); // the first warms up
    }
    lines.push({ name, p50s: services.map((_, i) => medianOf(takes, (take) => take[i])), takes });
    log(
      `${name}: ${lines
        .at(-1)
        .p50s.map((ms) => ms.toFixed(2))
        .join(', ')} ms`,
    );
  }
  return lines;
}

async function reportOf(lines) {
  const database = new pg.Client({ connectionString: books.at(-1).url });
  await database.connect();
  const grown = (takes, from) => medianOf(takes, (take) => take.at(-1) / take[from]).toFixed(2);
  const report = [
    '# What growth costs',
    `${await conditions(database)}; all on this one machine, whose load was ${load} before; ${connections} connections, ` +
      `${rounds} rounds of ${seconds} s, medians of the rounds' median latencies. By \`node bench/growth.mjs\`.`,
    [
      `- small: ${describeSize(books[0].size)}`,
      `- young: ${describeSize(books[1].size)}`,
      `- grown: ${describeSize(books[2].size)}`,
    ].join('\n'),
    table(
      ['workload', 'small, ms', 'young, ms', 'grown, ms', 'grown / small', 'grown / young'],
      lines.map(({ name, p50s, takes }) => [
        name,
        ...p50s.map((ms) => ms.toFixed(2)),
        grown(takes, 0),
        grown(takes, 1),
      ]),
    ),
    'The list of 70 % of the accounts is left out: its total counts what matches. So does that of the customers who are searched ' +
      'for, 1 %, of whom the small company has as many fewer.',
  ].join('\n\n');
  await database.end();
  return report;
}
