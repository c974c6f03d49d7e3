/**
 * Measures which tables each migration locks on large books, and how long it takes. Applies the migrations up to `--from`, loads
 * the books, and then measures each later migration.
 *
 *   npm run build && node bench/studies/migrations.mjs [--payments=1000000] [--from=0008]
 *
 * --from must be later than 0001, because after 0001 the tables lack columns that the loader fills.
 *
 * The measured time is the processor time of the database session until the commit. Other programs on the machine do not change
 * it. A lock is held for at most this time, plus the time that the disk needs. Needs Linux, and PostgreSQL on the same machine
 * (BENCH_DATABASE_URL, see bench/lib/load.mjs).
 */
import { parseArgs } from 'node:util';
import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { readMigrationFiles } from '../../dist/platform/migrations/files.js';
import { migrate } from '../../dist/platform/migrations/runner.js';
import { createEmptyDatabase, fill, sizes } from '../lib/load.mjs';
import { cpuMsOf } from '../lib/programs.mjs';

const text = { type: 'string' };
const { values: options } = parseArgs({ options: { payments: text, from: text } });
const size = sizes({ payments: Number(options.payments ?? 1_000_000) });
const from = options.from ?? '0008';
/** For each lock mode, strongest first: which requests wait during such a lock. For weaker modes, no request waits. */
const MODES = {
  AccessExclusiveLock: 'all',
  ExclusiveLock: 'changes',
  ShareRowExclusiveLock: 'changes',
  ShareLock: 'changes',
};

const { url, drop } = await createEmptyDatabase('migrations');
const client = new pg.Client({ connectionString: url });
try {
  await client.connect();
  const files = await readMigrationFiles();
  const base = files.findLast(({ name }) => name < `${from}~`);
  const pool = new pg.Pool({ connectionString: url });
  await migrate(new Kysely({ dialect: new PostgresDialect({ pool }) }), { last: base.name });
  await pool.end();
  await client.query(`
    insert into products (sku, name, category, price_minor)
      select 'P' || n, 'Product ' || n, 'solar', 100000 from generate_series(1, 5) n;
    insert into pay_plans (name, deposit_minor, instalment_minor, instalment_count, frequency, grace_days)
      select 'Plan ' || n, 0, 40000, 1000, 'weekly', 7 from generate_series(1, 3) n`);
  await fill(url, size);
  await client.query('set max_parallel_maintenance_workers = 0; set max_parallel_workers_per_gather = 0');
  const { rows } = await client.query('select pg_backend_pid() as pid');
  console.log(`# ${JSON.stringify(size)}, loaded at ${base.name}\n`);
  console.log(
    '| migration | seconds | all requests for these tables wait | changes of these tables wait |\n| --- | ---: | --- | --- |',
  );
  for (const file of files.filter(({ name }) => name > base.name)) {
    const { seconds, locks } = await measure(file, rows[0].pid);
    const tables = (what) =>
      locks.flatMap(({ name, mode }) => (MODES[mode] === what ? [name] : [])).join(', ');
    console.log(`| ${file.name} | ${seconds.toFixed(2)} | ${tables('all')} | ${tables('changes')} |`);
  }
} finally {
  await client.end();
  await drop();
}

/** Runs a migration and reads its locks before the commit. */
async function measure({ statements, isTransaction }, pid) {
  await client.query('checkpoint');
  const { rows: before } = await client.query(
    `select oid from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace`,
  );
  const start = cpuMsOf(pid);
  let locks = [];
  if (isTransaction) {
    await client.query('begin');
    for (const statement of statements) await client.query(statement);
    locks = await readLocks(before.map(({ oid }) => oid));
    await client.query('commit');
  } else {
    for (const statement of statements) await client.query(statement);
  }
  return { seconds: (cpuMsOf(pid) - start) / 1000, locks };
}

/** The strongest lock of the session on each of the tables. */
async function readLocks(tables) {
  const { rows } = await client.query(
    `select distinct on (c.relname) c.relname as name, l.mode
     from pg_locks l join pg_class c on c.oid = l.relation
     where l.pid = pg_backend_pid() and c.oid = any ($2) and l.mode = any ($1)
     order by c.relname, array_position($1, l.mode)`,
    [Object.keys(MODES), tables],
  );
  return rows;
}
