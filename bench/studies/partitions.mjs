/**
 * Measures what partitions of ledger and audit cost. Runs the same calls in turns on two databases with equal rows. One has the
 * rows in 24 partitions, as after two years of a monthly `npm run partition`. The other has no partitions. At the end, the study
 * partitions the database without partitions, adds ledger entries to it, and removes the partitions again.
 *
 *   npm run build && node bench/studies/partitions.mjs [--payments=500000] [--rounds=5] [--seconds=5] [--connections=16]
 *
 * Needs wrk and a PostgreSQL server, as bench/run.mjs does.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { addPartition, readPartitions, removePartitions } from '../../dist/core/database/partitions.js';
import { createDatabase, fill, linesOfOpenAccounts, sizes } from '../lib/load.mjs';
import { openBench, readOptions } from '../lib/open-bench.mjs';
import { SECRET, signIn } from '../lib/programs.mjs';
import { conditions, describeSize, log, medianOf, table } from '../lib/report.mjs';
import { wrkAndUsage } from '../lib/rounds.mjs';
import { workloads } from '../lib/workloads.mjs';

const options = readOptions([], { payments: 500_000, rounds: 5, seconds: 5, connections: 16 });
const { rounds, seconds, connections } = options;
const TABLES = ['ledger_entries', 'audit_entries'];
const MONTHS = 24;

const bench = await openBench('plain', options);
const { scratch, programs, url, size, database } = bench;
const divided = await createDatabase('divided');
const partitioned = new pg.Client({ connectionString: divided.url });

try {
  await database.connect();
  await partitioned.connect();
  await divide(partitioned);
  await fill(divided.url, sizes(size));
  const numbers = join(scratch, 'numbers');
  writeFileSync(numbers, linesOfOpenAccounts(size));
  const books = [];
  for (const [client, address] of [
    [database, url],
    [partitioned, divided.url],
  ]) {
    const service = await programs.startService(address);
    books.push({ client, service, token: await signIn(service.base) });
  }
  const results = [];
  for (const workload of calls()) results.push(await compare(workload, books, numbers));
  const report = table(['call', 'rate', 'CPU of PostgreSQL', 'WAL', 'CPU of the service'], results);
  console.log(`${await conditions(database)}\n${describeSize(size)}\n\n${report}`);
  await convert();
} finally {
  await partitioned.end();
  await divided.drop();
  await bench.close();
}

/**
 * Partitions the empty tables. The ledger entries of the loader then fill all partitions of the ledger. The loader writes no audit
 * entries. As in operation, the calls write only to the last partition of each table.
 */
async function divide(client) {
  for (const [name, rows] of [
    ['ledger_entries', size.payments * 2.1],
    ['audit_entries', size.payments],
  ]) {
    const month = BigInt(Math.ceil(rows / MONTHS));
    const sequence = `${name}_id_seq`;
    for (let i = 1n; i < BigInt(MONTHS); i += 1n) {
      await addPartition(client, name, { idsAhead: month });
      await client.query('select setval($1, $2)', [sequence, String(i * (month + 1n))]);
    }
    if (name === 'ledger_entries') await client.query('select setval($1, 1, false)', [sequence]);
    log(`${name}: ${(await readPartitions(client, name)).length} partitions`);
  }
}

function calls() {
  const all = workloads(size).filter(({ method }) => method === 'POST');
  const statement = {
    name: 'GET /accounts/:id/statement, two callers',
    connections: 2,
    method: 'GET',
    path: '/accounts/{account}/statement',
    ranges: all[0].ranges,
  };
  return [...all, statement];
}

/** @returns a row of the table: the figures of the database with partitions, relative to the other database. */
async function compare(workload, books, numbers) {
  const takes = [];
  for (let turn = 0; turn <= rounds; turn += 1) {
    const take = [];
    for (const i of turn % 2 === 0 ? [0, 1] : [1, 0]) {
      const { client, service, token } = books[i];
      const headers = { authorization: `Bearer ${token}`, 'x-webhook-secret': SECRET };
      const { used, perSecond } = await wrkAndUsage(
        { database: client, services: [service] },
        {
          ...{ scratch, numbers, seconds, connections: workload.connections ?? connections },
          ...{ workload, headers, base: service.base },
        },
      );
      take[i] = { ...used, perSecond };
    }
    if (turn > 0) takes.push(take);
  }
  const ratio = (of) => medianOf(takes, ([plain, parts]) => of(parts) / of(plain)).toFixed(2);
  const row = [
    workload.name,
    ratio(({ perSecond }) => perSecond),
    ratio(({ postgres }) => postgres),
    workload.method === 'POST' ? ratio(({ walBytes }) => walBytes) : '',
    ratio(({ service }) => service),
  ];
  log(row.join(' | '));
  return row;
}

/** Measures how long `npm run partition`, and then its option `--revert`, would take on the database without partitions. */
async function convert() {
  for (const name of TABLES) {
    const { rows } = await database.query(`select count(*) from ${name}`);
    const start = performance.now();
    await addPartition(database, name);
    log(`${name}: ${rows[0].count} rows divided in ${Math.round(performance.now() - start)} ms`);
  }
  const [first] = await readPartitions(database, 'ledger_entries');
  const columns = `event, ledger_account, payment_method_id, account_id, payment_id, amount_minor, value_date, created_at,
    credit_move_id`;
  await database.query(`select setval('ledger_entries_id_seq', ${first.until})`);
  await database.query(
    `insert into ledger_entries (event_id, ${columns})
     select event_id + 1000000000, ${columns} from ledger_entries where event_id <= 250000 order by id`,
  );
  for (const name of TABLES) {
    const start = performance.now();
    const moved = await removePartitions(database, name);
    log(`${name}: ${moved} rows moved back in ${Math.round(performance.now() - start)} ms`);
  }
}
