import type pg from 'pg';
import { describe, expect, it } from 'vitest';
import { FIRST_TABLE_OF_PAYMENTS } from '../../src/payments/locks.ts';
import { parseMigration, readMigrationFiles } from '../../src/platform/migrations/files.ts';
import { migrate } from '../../src/platform/migrations/runner.ts';
import { useDatabaseBefore } from '../support/earlier-database.ts';

/** Migrates rows as earlier versions wrote them, and checks which locks migrations hold. */

/** From this migration on, a migration that locks several tables of payments must lock FIRST_TABLE_OF_PAYMENTS first. */
const FIRST_WITH_LOCK_ORDER = '0040';
/** The tables that the posting queue writes, and those that it only reads. */
const WRITTEN = [
  'accounts',
  'audit_entries',
  'events',
  'idempotency_keys',
  'ledger_entries',
  'notifications',
  'payments',
];
const READ = [
  'api_keys',
  'customers',
  'learned_references',
  'payment_methods',
  'provider_statement_lines',
  'users',
];
const GATE = `lock table ${FIRST_TABLE_OF_PAYMENTS} in access exclusive mode`;

/**
 * The tables of payments that the statements lock, if the statements and a payment could wait for each other. They could not if
 * the statements lock only one of these tables, or FIRST_TABLE_OF_PAYMENTS first. Leaves the database as it was.
 */
async function tablesOfConflict(client: pg.Client, statements: readonly string[]): Promise<string[]> {
  await client.query('begin');
  try {
    const [first = ''] = statements.map((statement) => statement.replaceAll(/^\s*(--.*)?\n/gm, '').trim());
    for (const statement of statements) await client.query(statement);
    const { rows } = await client.query<{ relname: string }>(
      `select distinct relname from pg_locks join pg_class c on c.oid = relation
      where pid = pg_backend_pid() and (mode = 'AccessExclusiveLock' and relname = any($1)
        or mode in ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock') and relname = any($2))
      order by 1`,
      [READ, WRITTEN],
    );
    const tables = rows.map(({ relname }) => relname);
    return tables.length < 2 || first.toLowerCase().startsWith(GATE) ? [] : tables;
  } finally {
    await client.query('rollback');
  }
}

describe('0013_sales_and_imports', () => {
  const earlier = useDatabaseBefore('0013');
  const rowsOf = async (query: string) => (await earlier.client.query(query)).rows;

  it('leaves each account in one commission, keeps paid commissions, dates late activations, and links imports to statements', async () => {
    await earlier.client.query(`
      insert into customers (first_name, last_name, phone, phone_sha256, search_text) values ('A', 'B', '+254', '', '');
      insert into products (sku, name, category, price_minor) values ('S', 'S', 'c', 1);
      insert into pay_plans (name, deposit_minor, instalment_minor, instalment_count, frequency, grace_days)
        values ('P', 0, 1, 1, 'weekly', 0);
      insert into employees (name) values ('one'), ('two'), ('three');
      insert into accounts (customer_id, product_id, payplan_id, activation_date, status, deposit_minor, instalment_minor,
          instalment_count, frequency, grace_days, receivable_minor)
        select 1, 1, 1, '2026-01-01', 'active', 0, 1, 1, 'weekly', 0, 1 from generate_series(1, 2);
      insert into commissions (employee_id, period, status, total_minor)
        values (1, '2026-01', 'approved', 30), (2, '2026-01', 'paid', 10), (3, '2026-01', 'paid', 10);
      insert into commission_lines (commission_id, line_number, account_id, quantity, base_minor, rate_basis_points,
          amount_minor)
        values (1, 1, 1, 1, 1, 1, 10), (1, 2, 2, 1, 1, 1, 20), (2, 1, 1, 1, 1, 1, 10), (3, 1, 1, 1, 1, 1, 10);
      insert into account_status_changes (account_id, from_status, to_status, changed_on)
        values (1, null, 'pending', '2025-12-01'), (1, 'pending', 'active', '2026-02-01');
      insert into provider_statements (status) values ('done');
      insert into notifications (provider, raw_body, status, source)
        values ('p', '{"StatementId":1}', 'pending', 'import'), ('p', 'no JSON', 'pending', 'webhook')`);

    await migrate(earlier.db, { last: FIRST_WITH_LOCK_ORDER });

    expect(await rowsOf('select changed_on::text from account_status_changes order by id')).toEqual([
      { changed_on: '2025-12-01' },
      { changed_on: '2026-01-01' },
    ]);
    const lines = 'select commission_id, line_number, share_basis_points from commission_lines order by 1, 2';
    expect((await rowsOf(lines)).map((row) => Object.values(row).map(Number))).toEqual([
      [1, 2, 10_000],
      [2, 1, 10_000],
      [3, 1, 0],
    ]);
    expect(await rowsOf('select status, total_minor::int from commissions order by id')).toEqual([
      { status: 'calculated', total_minor: 20 },
      { status: 'paid', total_minor: 10 },
      { status: 'paid', total_minor: 10 },
    ]);
    expect(
      await rowsOf('select account_id::int, share_basis_points from commission_sales order by 1'),
    ).toEqual([
      { account_id: 1, share_basis_points: 10_000 },
      { account_id: 2, share_basis_points: 10_000 },
    ]);
    expect(
      await rowsOf('select provider_statement_id::int as id from notifications order by notifications.id'),
    ).toEqual([{ id: 1 }, { id: null }]);
  });
});

describe('a migration', () => {
  const earlier = useDatabaseBefore(FIRST_WITH_LOCK_ORDER);

  it.each([
    ['alter table accounts add x text; alter table customers add x text;', ['accounts', 'customers']],
    [
      'create table x (a bigint references notifications, b bigint references accounts);',
      ['accounts', 'notifications'],
    ],
    ['create index on accounts (id); alter table if exists public.users add x text;', ['accounts', 'users']],
    [`-- First.\n${GATE};\nalter table accounts add x text; alter table users add x text;`, []],
    ['create table x (a bigint references users, b bigint references accounts);', []],
    ['alter table accounts add x text;', []],
  ])(
    'that locks several tables of payments must begin with the lock of payment_methods: %j',
    async (text, tables) => {
      expect(await tablesOfConflict(earlier.client, parseMigration('0040_example', text).statements)).toEqual(
        tables,
      );
    },
  );

  it(`from ${FIRST_WITH_LOCK_ORDER} on begins with this lock if it needs it`, async () => {
    for (const { name, isTransaction, statements } of await readMigrationFiles()) {
      if (name < FIRST_WITH_LOCK_ORDER) continue;
      if (isTransaction) expect(await tablesOfConflict(earlier.client, statements), name).toEqual([]);
      await migrate(earlier.db, { last: name });
    }
  });
});
