import { sql } from 'kysely';
import type { Tx } from '../../core/database/db.ts';

/**
 * Tables whose rows belong to an account or a payment, and are deleted together with it. A printed receipt changes nothing: its number is
 * unknown after the undo, as the payment is.
 */
const OWNED = ['ledger_entries', 'account_status_changes', 'payment_receipts', 'plan_changes'];

/** The tables of an import in the order of deletion, with SQL for the text that describes a row to staff. */
const TABLES: Readonly<Record<string, string>> = {
  payments: `'payment ' || coalesce(external_id, transaction_ref, 'of ' || payment_date)`,
  credit_moves: `'credit move of ' || account_number(account_id)`,
  reconciliations: `'reconciliation of ' || reconciliation_date`,
  accounts: `'account ' || account_number(id) || coalesce(', ' || external_id, '')`,
  customers: `'customer ' || external_id`,
  pay_plans: `'pay plan ' || name`,
  products: `'product ' || sku`,
  employees: `'employee ' || external_id`,
  payment_methods: `'payment method ' || code`,
};

/** The tables whose rows users can change after an import. The keys are the names of the resources in the audit trail. */
const AUDITED: Readonly<Record<string, string>> = {
  account: 'accounts',
  payment: 'payments',
  customer: 'customers',
  employee: 'employees',
  payment_method: 'payment_methods',
  payplan: 'pay_plans',
  product: 'products',
};

/** Something that happened to imported rows after the import, so that the import cannot be undone. */
export interface Obstacle {
  /** The rows that refer to imported rows, or the action in the audit trail. */
  what: string;
  count: number;
  /** The text that describes the first affected row of the import. */
  first: string;
}

interface Found {
  count: number;
  firstId: number | null;
}

/** Locks the imported rows, so that nothing happens to them between the search for obstacles and the deletion. */
export async function lockImportedRows(tx: Tx, importId: number): Promise<void> {
  for (const table of Object.values(AUDITED))
    await sql`
      with locked as (select id from ${sql.table(table)} where import_id = ${importId} order by id for update)
      select count(*) from locked`.execute(tx);
}

/**
 * Finds what prevents the undo of an import: rows outside the import that refer to imported rows, and audited changes of imported
 * rows. Automatic changes of status and repairs of phones do not prevent the undo. The foreign keys are read from the database, so
 * that no table is forgotten.
 */
export async function findObstacles(tx: Tx, importId: number): Promise<Obstacle[]> {
  const { rows: keys } = await sql<{ table: string; column: string; target: string; isImported: boolean }>`
    select c.conrelid::regclass::text as "table", a.attname as "column", c.confrelid::regclass::text as target,
       exists (select from pg_attribute i where i.attrelid = c.conrelid and i.attname = 'import_id' and not i.attisdropped)
         as "isImported"
     from pg_constraint c join pg_attribute a on a.attrelid = c.conrelid and a.attnum = c.conkey[1]
     where c.contype = 'f' and cardinality(c.conkey) = 1 and c.connamespace = 'public'::regnamespace
       and not c.conrelid::regclass::text = any(${OWNED})
       and c.confrelid in (select attrelid from pg_attribute where attname = 'import_id' and not attisdropped)
       and c.confrelid::regclass::text !~ '^import'
     order by 1, 2`.execute(tx);
  const obstacles: Obstacle[] = [];
  for (const { table, column, target, isImported } of keys) {
    const others = isImported ? sql`and t.import_id is distinct from ${importId}` : sql``;
    const { rows } = await sql<Found>`
      select count(*) as count, min(t.${sql.ref(column)}) as "firstId"
      from ${sql.table(table)} t
      where t.${sql.ref(column)} in (select id from ${sql.table(target)} where import_id = ${importId}) ${others}`.execute(
      tx,
    );
    obstacles.push(...(await toObstacles(tx, table.replaceAll('_', ' '), target, rows)));
  }
  obstacles.push(...(await findReconciliations(tx, importId)));
  for (const [resource, table] of Object.entries(AUDITED))
    obstacles.push(...(await findChanges(tx, importId, resource, table)));
  return obstacles;
}

/** Finds imported payments that were reconciled after the import. Without them, the reconciled sums would be wrong. */
async function findReconciliations(tx: Tx, importId: number): Promise<Obstacle[]> {
  const { rows } = await sql<Found>`
    select count(*) as count, min(p.id) as "firstId"
    from payments p join reconciliations r on r.id = p.reconciliation_id
    where p.import_id = ${importId} and r.import_id is distinct from ${importId}`.execute(tx);
  return toObstacles(tx, 'reconciliations', 'payments', rows);
}

async function findChanges(tx: Tx, importId: number, resource: string, table: string): Promise<Obstacle[]> {
  const { rows } = await sql<Found & { action: string }>`
    select e.action, count(*) as count, min(e.resource_id) as "firstId"
    from audit_entries e join ${sql.table(table)} t on t.id = e.resource_id
    where e.resource = ${resource} and t.import_id = ${importId}
      and e.id > (
        select id from audit_entries
        where resource = 'import' and resource_id = ${importId} and action = 'import.complete')
      and not (e.action in ('account.status', 'customer.change', 'employee.change') and e.actor = 'system')
    group by e.action order by e.action`.execute(tx);
  const obstacles = [];
  for (const row of rows)
    obstacles.push(...(await toObstacles(tx, `${row.action} in the audit trail`, table, [row])));
  return obstacles;
}

async function toObstacles(
  tx: Tx,
  what: string,
  table: string,
  [found]: readonly Found[],
): Promise<Obstacle[]> {
  if (!found || found.firstId === null) return [];
  const { rows } = await sql<{ name: string }>`
    select ${sql.raw(TABLES[table] ?? 'id::text')} as name from ${sql.table(table)} where id = ${found.firstId}`.execute(
    tx,
  );
  return rows.map(({ name }) => ({ what, count: found.count, first: name }));
}

/**
 * The statements that create and drop an index of ledger entries by account. When accounts are deleted, PostgreSQL needs it to
 * check that no ledger entry refers to them. Nothing else needs it, so it exists only during an undo.
 */
export const UNDO_INDEX = {
  create: 'create index concurrently ledger_entries_account_of_undo on ledger_entries (account_id)',
  drop: 'drop index concurrently if exists ledger_entries_account_of_undo',
};

/** Deletes all rows of an import. Triggers allow this only while the import has the status `undoing`. */
export async function deleteImportedRows(tx: Tx, importId: number): Promise<void> {
  const imported = (table: string) => sql`(select id from ${sql.table(table)} where import_id = ${importId})`;
  await sql`
    delete from ledger_entries
    where payment_id in ${imported('payments')} or credit_move_id in ${imported('credit_moves')}
      or payment_id is null and account_id in ${imported('accounts')}`.execute(tx);
  await sql`delete from payment_receipts where payment_id in ${imported('payments')}`.execute(tx);
  await sql`delete from account_status_changes where account_id in ${imported('accounts')}`.execute(tx);
  await sql`delete from plan_changes where account_id in ${imported('accounts')}`.execute(tx);
  for (const table of Object.keys(TABLES))
    await sql`delete from ${sql.table(table)} where import_id = ${importId}`.execute(tx);
}
