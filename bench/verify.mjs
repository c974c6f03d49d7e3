/**
 * How long the proof takes: `npm run verify`'s own program on a million payments with their entries and
 * notifications, on 20,000 accounts; the median of three rounds, and what one law costs.
 *
 *   npm run build && node bench/verify.mjs [payments=1000000] [accounts=20000] [rounds=3]
 *
 * Needs a server on which it may create a database: BENCH_DATABASE_URL, by default
 * postgres://postgres@localhost:55432/postgres. The database is dropped afterwards.
 */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import pg from 'pg';
import { readConfig } from '../dist/config.js';
import { openLongReads } from '../dist/core/long-reads.js';
import { currencyOf, prepareDatabase } from '../dist/database.js';
import { checkLaws, PROOF_READS } from '../dist/proof/store.js';

const [payments, accounts, rounds] = [1_000_000, 20_000, 3].map((value, i) =>
  Number(process.argv[2 + i] ?? value),
);
const server = process.env.BENCH_DATABASE_URL ?? 'postgres://postgres@localhost:55432/postgres';
const database = `ams_bench_verify_${process.pid}`;
const url = new URL(server);
url.pathname = `/${database}`;

const admin = new pg.Client({ connectionString: server });
await admin.connect();
await admin.query(`create database ${database}`);
try {
  const config = readConfig({ NODE_ENV: 'test' });
  await prepareDatabase(url.href, config, currencyOf(config));
  console.log(`filled with ${payments} payments in ${(await seconds(fill)).toFixed(1)} s`);
  await measureLaws();
  const times = [];
  for (let round = 1; round <= rounds; round += 1) {
    times.push(await seconds(verify));
    console.log(`verify, round ${round}: ${times.at(-1).toFixed(1)} s`);
  }
  const median = times.toSorted((a, b) => a - b)[Math.floor(rounds / 2)];
  console.log(`verify, median of ${rounds}: ${median.toFixed(1)} s`);
} finally {
  await admin.query(`drop database ${database} with (force)`);
  await admin.end();
}

/** Each law once, on the connection that the service uses. */
async function measureLaws() {
  const prover = openLongReads({ connection: url.href, ...PROOF_READS, onConnectionLost: console.error });
  let before = performance.now();
  await prover.read((tx) =>
    checkLaws(tx, {
      onFinding({ law, lookedAt, breachCount }) {
        const now = performance.now();
        console.log(`${law}: ${lookedAt} rows, ${breachCount} breaches, ${Math.round(now - before)} ms`);
        before = now;
      },
    }),
  );
  await prover.close();
}

function verify() {
  const program = spawn(process.execPath, [join(import.meta.dirname, '..', 'dist', 'cli', 'verify.js')], {
    env: { PATH: process.env.PATH, NODE_ENV: 'test', DATABASE_URL: url.href },
    cwd: import.meta.dirname, // where no .env is
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return new Promise((resolve, reject) => {
    program.on('exit', (code) => (code === 0 ? resolve() : reject(new Error(`verify ended with ${code}`))));
  });
}

/**
 * Clean books: each payment with its notification and its entries; of a hundred, one is unmatched, one was
 * assigned and one is reversed. A tenth is reconciled in one batch.
 */
async function fill() {
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  const statements = [
    `insert into customers (first_name, last_name, phone, phone_sha256, search_text)
    select 'Customer', 'Number ' || n, '+2547' || lpad(n::text, 8, '0'), sha256(n::text::bytea), 'customer ' || n
    from generate_series(1, ${accounts}) n`,
    // Totals above all that is paid, so that all entries are receivables.
    `insert into accounts (customer_id, product_id, payplan_id, activation_date, status, deposit_minor,
      instalment_minor, instalment_count, frequency, grace_days, receivable_minor)
    select n, 1 + n % 5, p.id, current_date - (n % 365 + 365)::int, 'active', p.deposit_minor, 40000, 1000,
      p.frequency, 7, 0
    from generate_series(1, ${accounts}) n join pay_plans p on p.id = 1 + n % 3`,
    `insert into account_status_changes (account_id, to_status, changed_on) select id, 'active', current_date from accounts`,
    `insert into reconciliations (reconciliation_date, payment_count, total_minor)
    values (current_date, ${Math.floor(payments / 10)}, 0)`,
    `insert into payments (account_id, amount_minor, payment_method_id, transaction_ref, reference_key,
      payment_date, status, source, match_method, provider, provider_trans_id, reversed_at,
      reconciliation_id, reconciliation_date)
    select case when n % 100 <> 1 then 1 + n * 7919 % ${accounts} end, 10000 + n % 9000, 1, 'QK' || n, 'QK' || n,
      current_date - 364 + (n * 365 / (${payments}::bigint + 1))::int,
      (case n % 100 when 1 then 'unmatched' when 2 then 'reversed' else 'matched' end)::payment_status, 'webhook',
      case n % 100 when 1 then null when 3 then 'assigned' else 'account_number' end::match_method,
      'mobilemoney', 'QK' || n, case n % 100 when 2 then now() end,
      case when n % 10 = 0 then 1 end, case when n % 10 = 0 then current_date end
    from generate_series(1, ${payments}::bigint) n`,
    `update reconciliations set total_minor = (select sum(amount_minor) from payments where reconciliation_id = 1)`,
    `insert into notifications (provider, raw_body, trans_id, content_hash, amount_minor, status, outcome, payment_id)
    select provider, '{"TransID":"' || provider_trans_id || '","TransAmount":"100.00","MSISDN":"254700000000"}',
      provider_trans_id, sha256(id::text::bytea), amount_minor, 'processed',
      (case when match_method = 'account_number' then 'matched' else 'unmatched' end)::notification_outcome, id
    from payments`,
    `with lines as (
      select id as account_id, null::bigint as payment_id, 'account_opened'::ledger_event as event,
        activation_date as value_date, 'receivable'::ledger_account as debit, 'sales'::ledger_account as credit,
        total_minor as amount_minor, null::bigint as method, 0 as nth
      from accounts
      union all
      select case when match_method = 'account_number' then account_id end, id, 'payment_received', payment_date,
        'clearing', (case when match_method = 'account_number' then 'receivable' else 'unmatched' end)::ledger_account,
        amount_minor, payment_method_id, 1
      from payments
      union all
      select account_id, id, 'payment_assigned', payment_date, 'unmatched', 'receivable', amount_minor, null, 2
      from payments where match_method = 'assigned'
      union all
      select account_id, id, 'payment_reversed', payment_date, 'receivable', 'clearing', amount_minor,
        payment_method_id, 3
      from payments where status = 'reversed'
    ), events as (
      select nextval('ledger_event_ids') as event_id, l.*
      from (select * from lines order by payment_id nulls first, nth) l
    )
    insert into ledger_entries
      (event_id, event, account_id, payment_id, value_date, ledger_account, amount_minor, payment_method_id)
    select event_id, event, account_id, payment_id, value_date, side.ledger_account, side.amount_minor,
      case when side.ledger_account = 'clearing' then method end
    from events cross join lateral (values (debit, amount_minor), (credit, -amount_minor))
      as side (ledger_account, amount_minor)`,
    `update accounts a set paid_minor = m.paid, receivable_minor = a.total_minor - m.paid,
      next_due_date = next_due_date(frequency, activation_date, deposit_minor, instalment_minor, total_minor, m.paid)
    from (select a.id, coalesce(sum(p.amount_minor), 0)::bigint as paid
      from accounts a left join payments p on p.account_id = a.id and p.status = 'matched' group by a.id) m
    where m.id = a.id`,
    'vacuum analyze',
  ];
  for (const statement of statements) await client.query(statement);
  await client.end();
}

async function seconds(work) {
  const start = performance.now();
  await work();
  return (performance.now() - start) / 1000;
}
