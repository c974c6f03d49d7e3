/**
 * Creates a database, and fills it with books of any size, which pass the checks of `npm run verify`.
 *
 *   npm run build && node bench/lib/load.mjs [--payments=1000000] [--accounts=payments/10] [--customers=accounts/10]
 *
 * The last line of the output is the URL of the database. Drop the database when you no longer need it. Other scripts of bench/
 * import the functions below. They drop the databases that they create.
 *
 * BENCH_DATABASE_URL is the URL of a PostgreSQL server (default postgres://postgres@localhost:55432/postgres). Its user must be a
 * superuser, because the script turns off the checks of foreign keys.
 */
import { parseArgs } from 'node:util';
import pg from 'pg';
import { formatAccountNumber } from '../../dist/accounts/account-number-rules.js';
import { readConfig } from '../../dist/config/config.js';
import { currencyOf, prepareDatabase } from '../../dist/start/database-preparation.js';

const SERVER = process.env.BENCH_DATABASE_URL ?? 'postgres://postgres@localhost:55432/postgres';

/** Creates a migrated database with the demo catalogue. */
export async function createDatabase(name) {
  const created = await createEmptyDatabase(name);
  const config = readConfig({ NODE_ENV: 'test' });
  await prepareDatabase(created.url, config, currencyOf(config));
  return created;
}

/** @param options - the options of the SQL command `create database`. @param server - the URL of an existing database. */
export async function createEmptyDatabase(name, options = '', server = SERVER) {
  const database = `ams_bench_${name}_${process.pid}`;
  const url = new URL(server);
  url.pathname = `/${database}`;
  await onServer(server, `create database ${database} ${options}`);
  return { url: url.href, drop: () => onServer(server, `drop database ${database} with (force)`) };
}

export function sizes({ payments = 1_000_000, accounts = Math.ceil(payments / 10), customers } = {}) {
  return { payments, accounts, customers: customers ?? Math.ceil(accounts / 10) };
}

/**
 * Opens the books for a benchmark. Without `database`, loads new books into a new database. With `database`, uses the books in
 * this database. `drop` then does nothing, and the rows that the benchmark adds remain.
 */
export async function openBooks(name, { database, payments, accounts, customers }) {
  if (database) return { url: database, size: await sizeOf(database), drop: async () => {} };
  const books = await createDatabase(name);
  const size = sizes({ payments, accounts, customers });
  try {
    await fill(books.url, size);
  } catch (error) {
    await books.drop();
    throw error;
  }
  return { ...books, size };
}

async function sizeOf(url) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query(`select (select count(*) from payments)::int as payments,
    (select max(id) from accounts)::int as accounts, (select max(id) from customers)::int as customers`);
  await client.end();
  return rows[0];
}

/** The lowest id of the open accounts. Accounts with a lower id have the rare status `repossessed`. */
export const FIRST_OPEN_ACCOUNT = 301;

/** Some thousands of lines for wrk.mjs, each with the id and the account number of an open account. */
export function linesOfOpenAccounts({ accounts }) {
  const step = Math.max(1, Math.floor((accounts - FIRST_OPEN_ACCOUNT) / 5_000));
  const count = Math.floor((accounts - FIRST_OPEN_ACCOUNT) / step);
  const ids = Array.from({ length: count }, (_, i) => FIRST_OPEN_ACCOUNT + i * step);
  return ids.map((id) => `${id} ${formatAccountNumber(id)}\n`).join('');
}

/** A part of a last name that 1% of the customers have. */
export const SEARCHED_NAME = 'tieno';

/**
 * Fills the database. 70% of the accounts are active, 30% suspended, and a few repossessed. Each payment has a notification and
 * ledger entries. 1% of the payments are unmatched, 1% assigned, and 1% reversed. 10% are reconciled, in batches of 10,000.
 */
export async function fill(url, { payments, accounts, customers }) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`
    set session_replication_role = replica; -- no foreign key checks, and no triggers but the next one
    alter table accounts enable always trigger accounts_schedule;
    set synchronous_commit = off;
    set work_mem = '256MB';
    set maintenance_work_mem = '512MB'`);
  const indexes = await dropIndexes(client);
  for (const statement of [...statements({ payments, accounts, customers }), ...indexes, 'vacuum analyze']) {
    await client.query(statement);
  }
  await client.query('alter table accounts enable trigger accounts_schedule');
  await client.end();
}

function statements({ payments, accounts, customers }) {
  return [
    `insert into customers (first_name, last_name, phone, phone_sha256, search_text, created_at)
    select first, last, phone, sha256(substr(phone, 2)::bytea), lower(first || ' ' || last || ' ' || phone),
      now() - (${customers} - n)::float8 / ${customers} * interval '730 days'
    from generate_series(1, ${customers}) n,
      lateral (select (array['Amina', 'Baraka', 'Chloe', 'Daudi', 'Esther', 'Faraji', 'Grace'])[1 + n % 7] as first,
        (array['Wan', 'Kip', 'Oti', 'Muth', 'Nje', 'Aki', 'Che', 'Nya', 'Bar', 'Som'])[1 + n % 10]
          || (array['jiru', 'chumba', 'eno', 'oni', 'ri', 'nyi', 'rotich', 'mba', 'aka', 'koech'])[1 + n / 10 % 10]
          as last,
        '+2547' || lpad(n::text, 8, '0') as phone) names`,
    // The total of each account is above the sum of its payments, so that no account has credit.
    `insert into accounts (customer_id, product_id, payplan_id, activation_date, status, deposit_minor,
      instalment_minor, instalment_count, frequency, grace_days, receivable_minor, created_at)
    select 1 + n * 7 % ${customers}, 1 + n % 5, p.id, current_date - (n % 365 + 365)::int,
      (case when n < ${FIRST_OPEN_ACCOUNT} then 'repossessed' when n % 10 < 7 then 'active' else 'suspended' end)
        ::account_status,
      p.deposit_minor, 40000, 1000, p.frequency, 7, 0,
      now() - (${accounts} - n)::float8 / ${accounts} * interval '730 days'
    from generate_series(1, ${accounts}::bigint) n join pay_plans p on p.id = 1 + n % 3 order by n`,
    `insert into account_status_changes (account_id, to_status, changed_on)
    select id, status, activation_date from accounts order by id`,
    // Reconcile every tenth payment, in batches of ten thousand.
    `insert into reconciliations (reconciliation_date, total_minor, payment_ids)
    select current_date, sum(10000 + n % 9000), array_agg(n order by n)
    from generate_series(10, ${payments}::bigint, 10) n group by n / 100000 order by n / 100000`,
    `insert into payments (account_id, amount_minor, payment_method_id, transaction_ref, reference_key,
      payment_date, status, source, match_method, provider, provider_trans_id, reversed_at,
      reconciliation_id, reconciliation_date, created_at)
    select case when n % 100 <> 1 then 1 + n * 7919 % ${accounts} end, 10000 + n % 9000, 1, 'QK' || n, 'QK' || n,
      current_date - 364 + (n * 365 / (${payments}::bigint + 1))::int,
      (case n % 100 when 1 then 'unmatched' when 2 then 'reversed' else 'matched' end)::payment_status, 'webhook',
      case n % 100 when 1 then null when 3 then 'assigned' else 'account_number' end::match_method,
      'mobilemoney', 'QK' || n, case n % 100 when 2 then now() end,
      case when n % 10 = 0 then 1 + n / 100000 end, case when n % 10 = 0 then current_date end,
      now() - (${payments} - n)::float8 / ${payments} * interval '364 days'
    from generate_series(1, ${payments}::bigint) n`,
    `insert into notifications (provider, raw_body, trans_id, content_hash, amount_minor, status, outcome, payment_id,
      received_at)
    select provider, '{"TransID":"' || provider_trans_id || '","TransAmount":"100.00","MSISDN":"254700000000"}',
      provider_trans_id, sha256(id::text::bytea), amount_minor, 'processed',
      (case when match_method = 'account_number' then 'matched' else 'unmatched' end)::notification_outcome, id,
      created_at
    from payments order by id`,
    `with lines as (
      select id as account_id, null::bigint as payment_id, 'account_opened'::ledger_event as event,
        activation_date as value_date, 'receivable'::ledger_account as debit, 'sales'::ledger_account as credit,
        total_minor as amount_minor, null::bigint as method, 0 as nth, created_at
      from accounts
      union all
      select case when match_method = 'account_number' then account_id end, id, 'payment_received', payment_date,
        'clearing', (case when match_method = 'account_number' then 'receivable' else 'unmatched' end)::ledger_account,
        amount_minor, payment_method_id, 1, created_at
      from payments
      union all
      select account_id, id, 'payment_assigned', payment_date, 'unmatched', 'receivable', amount_minor, null, 2,
        created_at
      from payments where match_method = 'assigned'
      union all
      select account_id, id, 'payment_reversed', payment_date, 'receivable', 'clearing', amount_minor,
        payment_method_id, 3, created_at
      from payments where status = 'reversed'
    ), events as (
      select nextval('ledger_event_ids') as event_id, l.*
      from (select * from lines order by payment_id nulls first, nth) l
    )
    insert into ledger_entries
      (event_id, event, account_id, payment_id, value_date, ledger_account, amount_minor, payment_method_id, created_at)
    select event_id, event, account_id, payment_id, value_date, side.ledger_account, side.amount_minor,
      case when side.ledger_account = 'clearing' then method end, created_at
    from events cross join lateral (values (debit, amount_minor), (credit, -amount_minor))
      as side (ledger_account, amount_minor)`,
    `update accounts a set paid_minor = m.paid, receivable_minor = a.total_minor - m.paid,
      paid_month = m.month, paid_month_minor = m.paid_in_month
    from (select a.id, coalesce(sum(p.paid), 0)::bigint as paid, max(p.month) as month,
        coalesce((array_agg(p.paid order by p.month desc))[1], 0)::bigint as paid_in_month
      from accounts a left join (
        select account_id, date_trunc('month', payment_date::timestamp)::date as month, sum(amount_minor) as paid
        from payments where status = 'matched' group by 1, 2) p on p.account_id = a.id
      group by a.id) m
    where m.id = a.id`,
    // Remove the old row versions, which the update left.
    'vacuum full accounts',
  ];
}

/** Drops the indexes, because it is much faster to build them after the rows. @returns the statements that build them. */
async function dropIndexes(client) {
  const { rows } = await client.query(`
    select i.indexrelid::regclass::text as name, pg_get_indexdef(i.indexrelid) as definition
    from pg_index i join pg_class c on c.oid = i.indrelid
    where c.relname = any('{customers,accounts,payments,notifications,ledger_entries}')
      and not exists (select from pg_constraint k where k.conindid = i.indexrelid)
    order by 1`);
  for (const { name } of rows) await client.query(`drop index ${name}`);
  return rows.map(({ definition }) => definition);
}

async function onServer(server, statement) {
  const client = new pg.Client({ connectionString: server });
  await client.connect();
  await client.query(statement);
  await client.end();
}

if (process.argv[1] === import.meta.filename) {
  const number = { type: 'string' };
  const { values } = parseArgs({ options: { payments: number, accounts: number, customers: number } });
  const size = sizes(Object.fromEntries(Object.entries(values).map(([name, text]) => [name, Number(text)])));
  const { url } = await createDatabase('books');
  const start = performance.now();
  await fill(url, size);
  console.log(JSON.stringify(size), `in ${Math.round((performance.now() - start) / 1000)} s`);
  console.log(url);
}
