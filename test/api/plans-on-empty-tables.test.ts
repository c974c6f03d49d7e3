import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { addDays, type PlainDate } from '../../src/core/values/dates.ts';
import {
  accountNow,
  newAccount,
  notify,
  pay,
  runJobs,
  setToday,
  startServiceForTest,
  type TestService,
} from '../support/harness.ts';
import { runStatement } from '../support/statements.ts';

/** PostgreSQL keeps the plans of named statements. Plans that were made on empty tables must not read whole tables later. */

const ROWS = 20_000;
const TODAY = '2026-11-02' as PlainDate;
const FILLED = [
  'accounts',
  'customers',
  'payments',
  'notifications',
  'ledger_entries',
  'events',
  'kyc_records',
];
/** Enough for the rows of a few payments and accounts, and far less than ROWS. */
const MOST_ROWS = 500;

/** PostgreSQL makes a new plan for the first five uses of a named statement. Then it may keep one plan for all values. */
const USES = 7;

/** How many rows of each table were read so far, by an index or without. */
async function rowsRead({ context: { db } }: TestService) {
  // Each connection of the pool reports what it has read.
  const report = () => sql`select pg_stat_force_next_flush(), pg_sleep(0.2)`.execute(db);
  await Promise.all([report(), report()]);
  await Promise.all([report(), report()]);
  const { rows } = await sql<{ name: string; read: number }>`
    select relname as name, seq_tup_read + coalesce(idx_tup_fetch, 0) as read from pg_stat_user_tables
    where relname = any(${FILLED}::text[])`.execute(db);
  return new Map(rows.map(({ name, read }) => [name, read]));
}

/** Fills the tables on another connection, as other instances do, and gives PostgreSQL the statistics that autovacuum would give it. */
async function fill({ connection }: TestService, accountId: number): Promise<void> {
  await runStatement(
    connection,
    `${FILLED.map((table) => `alter table ${table} disable trigger user;`).join(' ')}
    alter table accounts enable trigger accounts_schedule;
    insert into customers (first_name, last_name, phone, phone_sha256, search_text, kyc_status)
    select 'A', 'B', phone, sha256(substr(phone, 2)::bytea), 'a b', 'verified'
    from generate_series(1, ${ROWS}) n, lateral (select '+25471' || lpad(n::text, 7, '0') as phone) p;
    insert into accounts (customer_id, product_id, payplan_id, activation_date, status, deposit_minor, instalment_minor,
      instalment_count, frequency, grace_days, receivable_minor, reprieved_on)
    select c.id, a.product_id, a.payplan_id, a.activation_date, 'active', a.deposit_minor, a.instalment_minor,
      a.instalment_count, a.frequency, 60, a.total_minor, '${TODAY}'
    from customers c, accounts a where a.id = ${accountId} and c.first_name = 'A';
    insert into payments (account_id, amount_minor, payment_method_id, transaction_ref, reference_key, payment_date, status,
      source, provider, provider_trans_id, match_method)
    select id, 1000, 1, 'FILL' || id, 'FILL' || id, '${TODAY}', 'matched', 'webhook', 'mobilemoney', 'FILL' || id, 'account_number'
    from accounts where grace_days = 60;
    insert into notifications (provider, raw_body, trans_id, content_hash, amount_minor, status, outcome, payment_id,
      received_at)
    select provider, '{}', provider_trans_id, sha256(id::text::bytea), amount_minor, 'processed', 'matched', id,
      '${TODAY}'::timestamptz - interval '1 year'
    from payments where reference_key like 'FILL%';
    with opened as (select id, nextval('ledger_event_ids') as event_id, total_minor from accounts where grace_days = 60)
    insert into ledger_entries (event_id, event, ledger_account, account_id, amount_minor, value_date)
    select event_id, 'account_opened', side.name::ledger_account, id, total_minor * side.sign, '${TODAY}'
    from opened, (values ('receivable', 1), ('sales', -1)) as side(name, sign);
    insert into events (id, type, version, resource, resource_id, actor, data)
    select nextval('audit_entries_id_seq'), 'customer.updated', 1, 'customer', n, 'system', '{}' from generate_series(1, ${ROWS}) n;
    insert into kyc_records (customer_id, verification_type, verification_status, documents)
    select id, 'national_id', 'verified', '[{"expiresAt": "2030-01-01"}]' from customers where first_name = 'A';
    ${FILLED.map((table) => `alter table ${table} enable trigger user;`).join(' ')}
    analyze ${FILLED.join(', ')}`,
  );
}

it('a sale, payments and the minute jobs read few rows of tables that were empty when their statements were planned', async () => {
  const service = await startServiceForTest({ DATABASE_POOL_SIZE: '2' });
  const { db } = service.context;
  setToday(service, TODAY);
  for (const table of FILLED) {
    // The table is known to be empty, and stays so.
    await sql`vacuum analyze ${sql.table(table)}`.execute(db);
    await sql`alter table ${sql.table(table)} set (autovacuum_enabled = false)`.execute(db);
  }
  const { id, accountNumber } = await newAccount(service);
  let transactions = 0;
  const work = async (day: PlainDate) => {
    setToday(service, day);
    transactions += 1;
    await newAccount(service, { activationDate: addDays(day, 1) });
    await pay(service, id, 10, { transactionRef: `manual ${transactions}` });
    const report = { TransID: `PLAN${transactions}`, TransAmount: '5', BillRefNumber: accountNumber };
    await notify(service, report);
    await notify(service, report); // A repeat.
    expect(await runJobs(service)).toBe(true);
  };
  for (let use = 0; use < USES; use++) await work(addDays(TODAY, use));
  await fill(service, id);
  const before = await rowsRead(service);
  await work(addDays(TODAY, USES));
  const after = await rowsRead(service);
  const { paid } = await accountNow(service, id);
  expect(paid).toBe((USES + 1) * 15);
  const read = Object.fromEntries(
    FILLED.map((name) => [name, (after.get(name) ?? 0) - (before.get(name) ?? 0)]),
  );
  // Once a day, a job checks the phones of all customers.
  read.customers = (read.customers ?? 0) - ROWS;
  expect(Object.entries(read).filter(([, rows]) => rows >= MOST_ROWS)).toEqual([]);
});
