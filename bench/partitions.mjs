/**
 * What partitions by month of the ledger, the audit and the raw notifications cost and gain: the three tables as they
 * are and copies of them by month in a schema beside, under the service's own statements, in turns.
 *
 *   npm run build && node bench/partitions.mjs [--payments=200000 | --database=URL] [--rounds=3] [--seconds=3]
 *     [--connections=8] [--proofs=2]
 *
 * --database names one that bench/load.mjs filled and that nobody uses: it gets what it lacks, an audit and the copies,
 * in schemas of their own, and all is undone at the end. Otherwise a database is filled, and dropped. The user is a
 * superuser. Needs pgbench, and disk for the copies: at 10,000,000 payments about 15 GB and as much write-ahead log as
 * the server keeps.
 */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { prepareValue } from 'pg/lib/utils.js';
import { auditList } from '../dist/audit/schema.js';
import { listAuditEntries } from '../dist/audit/store.js';
import { readConfig } from '../dist/config.js';
import { insertAudit } from '../dist/core/audit.js';
import { systemClock } from '../dist/core/dates.js';
import { columnTypes } from '../dist/core/db.js';
import { insertEntries } from '../dist/core/ledger.js';
import { currencyOf } from '../dist/database.js';
import {
  findConflictsAbout,
  findNotificationOf,
  insertNotification,
  otherNotification,
  settleNotification,
} from '../dist/payments/inbox-store.js';
import { LAWS } from '../dist/proof/laws.js';
import { readProof } from '../dist/proof/store.js';
import { makeStatement } from '../dist/statements/store.js';
import { AUDIT_OF_PAYMENTS, createDatabase, FIRST_OPEN_ACCOUNT, fill, sizes } from './load.mjs';
import { pgbenchScript, templateOf, typesOf } from './statements.mjs';

const run = promisify(execFile);
const text = { type: 'string' };
const { values: options } = parseArgs({
  options: { payments: text, database: text, rounds: text, seconds: text, connections: text, proofs: text },
});
const [rounds, seconds, connections, proofs] = [
  ['rounds', 3],
  ['seconds', 3],
  ['connections', 8],
  ['proofs', 2],
].map(([name, otherwise]) => Number(options[name] ?? otherwise));

/** The tables with the moment that says to which month a row belongs. */
const TABLES = { ledger_entries: 'created_at', audit_entries: 'created_at', notifications: 'received_at' };
/** The first holds an audit alone, since the loader writes none; what else is whole is the database's own. */
const SCHEMAS = ['whole', 'by_month'];
/** Holds for all months together that a notification is stored once. */
const KEYS = 'notification_keys';
/** Two of the tables refuse to have rows deleted. */
const WITHOUT_TRIGGERS = 'set local session_replication_role = replica';

const config = readConfig({ NODE_ENV: 'test' });
const currency = currencyOf(config);

const BEGIN = { text: 'begin', values: [] };
const COMMIT = { text: 'commit', values: [] };
const STAFF = { userId: null, name: 'mobilemoney', requestId: 'd1b1b2f6-6d8e-4a10-9d0f-6a3f5f3f8c11' };

/** What the service does with the tables, by its own functions. `unnamed`: it is planned anew each time. */
const WORK = [
  {
    name: "a statement of an account: its entries and its payments'",
    async run(db, { account }) {
      await makeStatement({ db, clock: systemClock, config, currency }, account, {});
    },
  },
  {
    name: 'notifications of a transaction',
    async run(db, { payment }) {
      const { rows } = await database.query('select * from public.notifications where id = $1', [payment]);
      await otherNotification({ ...rows[0], trans_id: `QK${payment}` }).execute(db);
    },
  },
  {
    name: 'conflicts about a transaction',
    run: (db, { payment }) => findConflictsAbout(db, `QK${payment}`),
  },
  { name: 'the notification of a payment', run: (db, { payment }) => findNotificationOf(db, payment) },
  {
    name: 'the audit of a payment, first page and total',
    unnamed: true,
    run: (db, { payment }) => listAudit(db, { resource: 'payment', resourceId: String(payment) }),
  },
  {
    name: 'the audit of a day, first page and total',
    unnamed: true,
    run: (db) =>
      listAudit(db, { createdAt: new Date(Date.now() - 40 * 86_400_000).toISOString().slice(0, 10) }),
  },
  {
    name: "a payment's entries and its audit",
    writes: true,
    async run(tx, { account, payment }) {
      const lines = [
        { ledgerAccount: 'clearing', amountMinor: 1234n, paymentMethodId: 1 },
        { ledgerAccount: 'receivable', amountMinor: -1234n },
      ];
      const valueDate = new Date().toISOString().slice(0, 10);
      const event = { event: 'payment_received', accountId: account, paymentId: payment, valueDate, lines };
      await insertEntries(event).execute(tx);
      await insertAudit(STAFF, {
        action: 'payment.record',
        resource: 'payment',
        resourceId: payment,
        after: {
          accountId: account,
          amountMinor: 1234n,
          paymentMethodId: 1,
          transactionRef: null,
          valueDate,
        },
      }).execute(tx);
    },
  },
  {
    name: 'a notification stored and settled',
    writes: true,
    async run(tx, { payment, reference }, said) {
      const row = await insertNotification(tx, {
        ...{
          provider: 'mobilemoney',
          source: 'webhook',
          rawBody: `{"TransID":"${reference}"}`,
          transId: reference,
        },
        ...{
          contentHash: randomBytes(32),
          amountMinor: 1234n,
          transTime: new Date(),
          businessShortCode: '600638',
        },
        ...{ billRef: 'ACC10000012', payer: '254799999999', payerName: 'JANE', flags: [] },
      });
      said.at(-1).insertedId = row.id;
      await settleNotification(row.id, { outcome: 'matched', paymentId: payment, flags: [] }).execute(tx);
    },
  },
];

const scratch = mkdtempSync(join(tmpdir(), 'ams-partitions-'));
const { url, drop } = await databaseToUse();
const database = await connect(url);
const { rows: lastIds } = await database.query(`
  select (select max(id) from ledger_entries) as ledger_entries, (select max(id) from notifications) as notifications`);

try {
  const { rows } = await database.query(`
    select (select count(*) from payments)::int as payments, (select max(id) from accounts)::int as accounts`);
  const [size] = rows;
  for (const schema of SCHEMAS) await database.query(`create schema ${schema}`);
  const start = performance.now();
  await Promise.all([
    build([['by_month', 'ledger_entries']]),
    build([
      ['by_month', 'notifications'],
      ['whole', 'audit_entries'],
      ['by_month', 'audit_entries'],
    ]),
  ]);
  log(`copied in ${Math.round((performance.now() - start) / 1000)} s`);
  const lines = [
    ...(await measureSizes()),
    ...(await measureProof()),
    ...(await measureStatements(size)),
    ...(await measureMonth()),
  ];
  const { rows: months } = await database.query(
    `select count(*)::int as n from pg_inherits where inhparent = 'by_month.ledger_entries'::regclass`,
  );
  console.log(
    `\n${size.payments.toLocaleString('en')} payments, ${size.accounts.toLocaleString('en')} accounts; ` +
      `${months[0].n} months of the ledger; ${connections} connections, medians of ${rounds} rounds of ${seconds} s\n`,
  );
  console.log(table(['', 'whole', 'by month', 'by month / whole'], lines));
} finally {
  await undo();
  await database.end();
  await drop();
  rmSync(scratch, { recursive: true });
}

async function undo() {
  for (const schema of SCHEMAS) await database.query(`drop schema if exists ${schema} cascade`);
  await database.query('begin');
  await database.query(WITHOUT_TRIGGERS);
  for (const [name, id] of Object.entries(lastIds[0])) {
    await database.query(`delete from ${name} where id > $1`, [id]);
  }
  await database.query('commit');
}

async function databaseToUse() {
  if (options.database) return { url: options.database, drop: async () => {} };
  const made = await createDatabase('partitions');
  await fill(made.url, sizes({ payments: Number(options.payments ?? 200_000) }));
  return made;
}

/** Fills copies, one after another; their indexes come last, which is faster. */
async function build(copies) {
  const client = await connect(url);
  await client.query(`set session_replication_role = replica; set synchronous_commit = off;
    set maintenance_work_mem = '512MB'; set timezone = 'UTC'`);
  for (const [schema, name] of copies) {
    const moment = TABLES[name];
    const isByMonth = schema === 'by_month';
    const copy = `${schema}.${name}`;
    await client.query(`create table ${copy} (like public.${name} including defaults including identity including constraints)
      ${isByMonth ? `partition by range (${moment})` : ''}`);
    if (isByMonth) await makePartitions(client, name, moment);
    const keys = await definitions(client, name, 'f');
    for (const { name: key, definition } of keys) {
      await client.query(`alter table ${copy} add constraint ${key} ${definition}`);
    }
    await client.query(`insert into ${copy} overriding system value ${rowsOf(name)}`);
    await client.query(
      `select setval(pg_get_serial_sequence('${copy}', 'id'), (select max(id) from ${copy}))`,
    );
    for (const { name: key, definition } of await definitions(client, name, 'pu')) {
      if (!isByMonth) await client.query(`alter table ${copy} add constraint ${key} ${definition}`);
      else if (definition.startsWith('PRIMARY KEY')) {
        await client.query(`alter table ${copy} add constraint ${key} primary key (id, ${moment})`);
      } else await replaceUnique(client, name, definition);
    }
    for (const { definition } of await indexes(client, name)) {
      await client.query(definition.replace(` ON public.${name} `, ` ON ${copy} `));
    }
    await addTriggers(client, schema, name);
    await client.query(`vacuum analyze ${copy}`);
  }
  await client.end();
}

function schemaOf(schema, name) {
  return schema === 'whole' && name !== 'audit_entries' ? 'public' : schema;
}

function rowsOf(name) {
  return name === 'audit_entries' ? AUDIT_OF_PAYMENTS : `select * from public.${name}`;
}

async function makePartitions(client, name, moment) {
  const source = name === 'audit_entries' ? 'payments' : name;
  const { rows } = await client.query(`
    select to_char(month, 'YYYY_MM') as name, month::date::text as start, (month + interval '1 month')::date::text as until
    from generate_series((select date_trunc('month', min(${moment})) from public.${source}),
      now() + interval '1 month', '1 month') month`);
  for (const month of rows) {
    await client.query(`create table by_month.${name}_${month.name} partition of by_month.${name}
      for values from ('${month.start}') to ('${month.until}')`);
  }
}

async function definitions(client, name, types) {
  const { rows } = await client.query(
    `select conname as name, pg_get_constraintdef(oid) as definition from pg_constraint
    where conrelid = $1::regclass and contype = any(string_to_array($2, null)) order by contype, conname`,
    [`public.${name}`, types],
  );
  return rows;
}

async function indexes(client, name) {
  const { rows } = await client.query(
    `select pg_get_indexdef(i.indexrelid) as definition from pg_index i where i.indrelid = $1::regclass
      and not exists (select from pg_constraint k where k.conindid = i.indexrelid)`,
    [`public.${name}`],
  );
  return rows;
}

/** A unique key over all months needs a table that is whole; the months keep an index to look rows up by. */
async function replaceUnique(client, name, definition) {
  const columns = /\((.*)\)/.exec(definition)[1];
  await client.query(`create index on by_month.${name} (${columns})`);
  await client.query(`create table by_month.${KEYS} as select ${columns} from by_month.${name}`);
  await client.query(`alter table by_month.${KEYS} add primary key (${columns})`);
  await client.query(`analyze by_month.${KEYS}`);
}

/** Statement triggers do not fire for a month that is named itself, so each month has those that refuse. */
async function addTriggers(client, schema, name) {
  const { rows } = await client.query(
    `select pg_get_triggerdef(oid) as definition, tgtype & 2 > 0 as refuses from pg_trigger
    where tgrelid = $1::regclass and not tgisinternal`,
    [`public.${name}`],
  );
  const { rows: months } = await client.query(
    `select inhrelid::regclass::text as name from pg_inherits where inhparent = $1::regclass`,
    [`${schema}.${name}`],
  );
  for (const { definition, refuses } of rows) {
    const targets = [`${schema}.${name}`, ...(refuses ? months.map((month) => month.name) : [])];
    for (const target of targets) {
      await client.query(definition.replace(` ON public.${name} `, ` ON ${target} `));
    }
  }
}

async function measureSizes() {
  const lines = [];
  for (const name of Object.keys(TABLES)) {
    const of = async (schema) => {
      const names = name === 'notifications' ? [name, KEYS] : [name];
      const { rows } = await database.query(
        `select sum(pg_table_size(c.oid))::float8 as tables, sum(pg_indexes_size(c.oid))::float8 as indexes
        from pg_class c where c.relnamespace = $1::regnamespace and c.relkind = 'r'
          and (relname = any($2) or starts_with(relname, $3))`,
        [schemaOf(schema, name), names, `${name}_2`],
      );
      return rows[0];
    };
    const [whole, byMonth] = [await of('whole'), await of('by_month')];
    lines.push(line(`${name}: rows on disk, MB`, whole.tables / 2 ** 20, byMonth.tables / 2 ** 20));
    lines.push(line(`${name}: indexes, MB`, whole.indexes / 2 ** 20, byMonth.indexes / 2 ** 20));
  }
  return lines;
}

/** A proof of each copy, the fastest of a few; the laws must hold, or the copy is none. */
async function measureProof() {
  const day = new Date(Date.now() - 100 * 86_400_000).toISOString().slice(0, 10);
  const takes = { whole: [], by_month: [] };
  for (let i = 0; i < proofs; i += 1) {
    for (const schema of SCHEMAS) {
      const { db, said, close } = recorder(schema);
      const { holds } = await db.transaction().execute((tx) => readProof(tx, currency, day));
      if (!holds) throw new Error(`The laws do not hold in ${schema}.`);
      await close();
      const sums = said.find(({ text }) => text.includes('grouping sets'));
      takes[schema].push([sums, ...said.filter(({ text }) => text.trimStart().startsWith('with checked'))]);
      log(`proved ${schema} in ${Math.round(said.reduce((sum, { ms }) => sum + ms, 0) / 1000)} s`);
    }
  }
  const fastest = (schema, i) => Math.min(...takes[schema].map((statements) => statements[i].ms));
  return ['the sums of a day', ...LAWS.map(({ name }) => name)].flatMap((name, i) =>
    Object.keys(TABLES).some((of) => takes.whole[0][i].text.includes(of))
      ? [line(`proof: ${name}, ms`, fastest('whole', i), fastest('by_month', i))]
      : [],
  );
}

async function measureStatements(size) {
  const marks = {
    account: Math.floor(size.accounts * 0.7317) + FIRST_OPEN_ACCOUNT,
    payment: Math.floor(size.payments * 0.617) * 10 + 3, // any but those that the loader left unmatched
    reference: 'QB7MARKED',
  };
  marks.payment = (marks.payment % size.payments) + 1;
  const ranges = {
    account: [FIRST_OPEN_ACCOUNT, size.accounts],
    payment: [1, size.payments],
    reference: [1_000_000_000, 999_999_999_999_999],
  };
  const lines = [];
  for (const { name, ...work } of WORK) {
    const recorded = await record(work, marks);
    const scripts = [];
    for (const schema of SCHEMAS) {
      const statements = schema === 'whole' ? recorded : recorded.map(withKeys);
      const templates = templateOf(statements, marks);
      const all = work.writes ? [BEGIN, ...templates, COMMIT] : templates;
      const client = await connect(url, schema);
      const used = Object.fromEntries(
        Object.entries(ranges).filter(([variable]) => JSON.stringify(all).includes(`"${variable}"`)),
      );
      scripts.push(pgbenchScript(all, await typesOf(client, all), used));
      if (!work.writes) scripts.at(-1).planningMs = await planningMs(client, statements);
      await client.end();
    }
    const takes = [];
    for (let round = 0; round <= rounds; round += 1) {
      const take = [];
      for (const [i, schema] of SCHEMAS.entries()) {
        take.push(await pgbench(schema, scripts[i], round === 0 ? 1 : seconds, work.unnamed));
      }
      if (round > 0) takes.push(take); // the first warms up
    }
    const perSecond = SCHEMAS.map((_schema, i) => medianOf(takes.map((take) => take[i])));
    log(`${name}: ${perSecond.map(Math.round).join(' and ')} /s`);
    lines.push(line(`${name}, /s`, ...perSecond));
    if (!work.writes) {
      lines.push(line(`${name}: planned in, ms`, ...scripts.map((script) => script.planningMs)));
    }
  }
  return lines;
}

function listAudit(db, filters) {
  const query = Object.fromEntries(
    Object.entries(filters).map(([name, value]) => [`filter[${name}]`, { eq: value }]),
  );
  return listAuditEntries(db, auditList.read(query, { clock: systemClock, config, currency }));
}

/** The statements about the three tables that some work sends; what it writes is undone. */
async function record({ run: work, writes }, marks) {
  const { db, said, close } = recorder('whole');
  const undone = new Error('undone');
  if (writes) {
    const writing = db.transaction().execute(async (tx) => {
      await work(tx, marks, said);
      throw undone;
    });
    await writing.catch((error) => {
      if (error !== undone) throw error;
    });
  } else await work(db, marks, said);
  await close();
  return said.filter(({ text }) => Object.keys(TABLES).some((of) => text.includes(of)));
}

/** By month, what makes a notification the only one of its content stands in the table of the keys. */
function withKeys(statement) {
  const match =
    /^insert into "notifications" \((.*?)\) values \((.*?)\) on conflict .*? (returning .*)$/s.exec(
      statement.text,
    );
  if (!match) return statement;
  const [, names, values, returning] = match;
  const valueFor = Object.fromEntries(names.split(', ').map((name, i) => [name, values.split(', ')[i]]));
  return {
    ...statement,
    text: `with key as (
        insert into ${KEYS} (provider, trans_id, content_hash)
        values (${valueFor['"provider"']}, ${valueFor['"trans_id"']}, ${valueFor['"content_hash"']})
        on conflict do nothing returning trans_id
      )
      insert into notifications (${names}) select ${values} from key ${returning}`,
  };
}

/** The service's own way to a database, in one of the schemas, that keeps what it says and how long it took. */
function recorder(schema) {
  const said = [];
  const pool = new pg.Pool({ connectionString: inSchema(schema), types: columnTypes, max: 1 });
  const db = new Kysely({
    dialect: new PostgresDialect({ pool }),
    log: ({ level, error, query, queryDurationMillis: ms }) => {
      if (level === 'error') throw error;
      const values = query.parameters.map((value) => {
        const prepared = prepareValue(value);
        return Buffer.isBuffer(prepared) ? `\\x${prepared.toString('hex')}` : prepared;
      });
      said.push({ text: query.sql, values, ms });
    },
  });
  return { db, said, close: () => db.destroy() };
}

/** What PostgreSQL takes to plan the statements, the median of nine. */
async function planningMs(client, statements) {
  let sum = 0;
  for (const { text, values } of statements) {
    const takes = [];
    for (let i = 0; i < 9; i += 1) {
      const { rows } = await client.query(`explain (summary, format json) ${text}`, values);
      takes.push(rows[0]['QUERY PLAN'][0]['Planning Time']);
    }
    sum += medianOf(takes);
  }
  return sum;
}

/** Half a year ago, a month of each table goes: by its rows, not yet vacuumed, or as a table. */
async function measureMonth() {
  const { rows: months } = await database.query(`
    select to_char(month, 'YYYY_MM') as name, month::text as start, (month + interval '1 month')::text as until
    from date_trunc('month', now() at time zone 'UTC' - interval '6 months') month`);
  const [{ name: month, start, until }] = months;
  const lines = [];
  for (const [name, moment] of Object.entries(TABLES)) {
    await database.query('begin');
    await database.query(WITHOUT_TRIGGERS);
    const whole = await costOf(
      `delete from ${schemaOf('whole', name)}.${name} where ${moment} >= '${start}Z' and ${moment} < '${until}Z'`,
    );
    await database.query('rollback');
    const byMonth = await costOf(`drop table by_month.${name}_${month}`);
    lines.push(line(`${name}: a month goes, ms`, whole.ms, byMonth.ms));
    lines.push(line(`${name}: write-ahead log of that, MB`, whole.walMb, byMonth.walMb));
  }
  return lines;
}

async function costOf(statement) {
  const lsn = async () =>
    Number((await database.query(`select pg_current_wal_insert_lsn() - '0/0' as n`)).rows[0].n);
  const [before, start] = [await lsn(), performance.now()];
  await database.query(statement);
  return { ms: performance.now() - start, walMb: ((await lsn()) - before) / 2 ** 20 };
}

async function pgbench(schema, { script, defines }, duration, unnamed = false) {
  writeFileSync(join(scratch, 'script.sql'), script);
  const mode = unnamed ? 'extended' : 'prepared';
  const args = [
    '-n',
    '-M',
    mode,
    '-c',
    connections,
    '-j',
    2,
    '-T',
    duration,
    '-f',
    join(scratch, 'script.sql'),
  ];
  const texts = defines.flatMap((define) => ['-D', define]);
  const { stdout } = await run('pgbench', [...args, ...texts, inSchema(schema)].map(String)).catch(
    ({ stderr }) => {
      throw new Error(`pgbench: ${stderr.slice(0, 500)}\n${script}`);
    },
  );
  if (/number of failed transactions: (\d+)/.exec(stdout)?.[1] !== '0') throw new Error(stdout);
  return Number(/tps = ([\d.]+)/.exec(stdout)[1]);
}

/** The schema's tables come before those that it has no copies of. Memory and compiling are set as for the proof. */
function inSchema(schema) {
  const address = new URL(url);
  address.searchParams.set('options', `-c search_path=${schema},public -c work_mem=64MB -c jit=off`);
  return address.href.replaceAll('+', '%20');
}

async function connect(address, schema) {
  const client = new pg.Client({ connectionString: schema ? inSchema(schema) : address });
  await client.connect();
  return client;
}

function line(name, whole, byMonth) {
  const figure = (value) => (value < 10 ? value.toFixed(2) : Math.round(value).toLocaleString('en'));
  return [name, figure(whole), figure(byMonth), (byMonth / whole).toFixed(2)];
}

function table(head, lines) {
  return [head, head.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function medianOf(figures) {
  return figures.toSorted((x, y) => x - y)[figures.length >> 1];
}

function log(what) {
  console.log(`${new Date().toISOString().slice(11, 19)} ${what}`);
}
