import { sql } from 'kysely';
import { AUDIT_COLUMNS } from '../core/audit.ts';
import type { Tx } from '../core/database/db.ts';
import { insertRows, rowsAsJson } from '../core/database/rows.ts';
import { run } from '../core/database/statements.ts';
import type { DB } from '../core/database/tables.ts';
import type { AccountRow, EventRows, NewBooks, NewEntry } from './rules.ts';

const ACCOUNTS = 'select * from accounts where id = any($1::bigint[]) order by id';

/**
 * Locks accounts in the order of their ids, and waits while another transaction has locked one. Lock order: payment
 * references, accounts, payments. `no key update` does not block foreign keys, so inserts that refer to the account never wait.
 */
export async function lockAccounts(tx: Tx, ids: readonly number[]): Promise<Map<number, AccountRow>> {
  const rows = await run<AccountRow>(tx, `${ACCOUNTS} for no key update`, [ids]);
  return new Map(rows.map((row) => [row.id, row]));
}

/** Like `lockAccounts`, but skips accounts that another transaction has locked. */
export async function tryLockAccounts(tx: Tx, ids: readonly number[]): Promise<Map<number, AccountRow>> {
  const rows = await run<AccountRow>(tx, `${ACCOUNTS} for no key update skip locked`, [ids]);
  return new Map(rows.map((row) => [row.id, row]));
}

/** The ids that accounts have. */
export async function findExistingAccounts(tx: Tx, ids: readonly number[]): Promise<Set<number>> {
  const { rows } = await sql<{ id: number }>`
    select id from accounts where id = any(${[...ids]}::bigint[])`.execute(tx);
  return new Set(rows.map(({ id }) => id));
}

/** The tables of `EventRows`, and the columns that are written. */
const WRITTEN = {
  payments: [
    'id',
    'account_id',
    'amount_minor',
    'payment_method_id',
    'transaction_ref',
    'reference_key',
    'payment_date',
    'status',
    'source',
    'match_method',
    'match_reason',
    'provider',
    'provider_trans_id',
    'created_by',
    'created_at',
    'updated_at',
  ],
  notifications: [
    'provider',
    'source',
    'provider_statement_id',
    'raw_body',
    'trans_id',
    'content_hash',
    'amount_minor',
    'trans_time',
    'business_short_code',
    'bill_ref',
    'payer',
    'payer_name',
    'flags',
    'status',
    'outcome',
    'payment_id',
    'conflict_payment_id',
    'attempts',
    'processed_at',
  ],
  audit_entries: AUDIT_COLUMNS,
  idempotency_keys: ['user_id', 'path', 'key', 'body_hash', 'status', 'answer'],
} as const satisfies { [T in keyof EventRows]-?: readonly (keyof DB[T])[] };

type WrittenTable = keyof typeof WRITTEN;
const WRITTEN_TABLES = Object.keys(WRITTEN) as WrittenTable[];

/** The statements of `writeEvents`, by the tables that have rows: an insert without rows costs as much as one with a row. */
const statements = new Map<string, string>();

function statementFor(tables: readonly WrittenTable[]): string {
  const key = tables.join();
  const text = statements.get(key) ?? makeStatement(tables);
  statements.set(key, text);
  return text;
}

function makeStatement(tables: readonly WrittenTable[]): string {
  const inserts = tables.map(
    (table, at) => `${table}_added as (${insertRows(table, WRITTEN[table], `$${at + 4}`)}),`,
  );
  return `
    with ${inserts.join('\n    ')}
    events as (select position, nextval('ledger_event_ids') as id from generate_series(1, $1::int) as position),
    entries_added as (
      insert into ledger_entries (event_id, event, account_id, payment_id, credit_move_id, value_date, ledger_account,
        amount_minor, payment_method_id)
      select events.id, e.event, e.account_id, e.payment_id, e.credit_move_id, e.value_date, e.ledger_account,
        e.amount_minor, e.payment_method_id
      from json_to_recordset($2::json) as e (position int, event ledger_event, account_id bigint, payment_id bigint,
        credit_move_id bigint, value_date date, ledger_account ledger_account, amount_minor bigint,
        payment_method_id bigint)
      join events on events.position = e.position
      order by e.position)
    update accounts a set paid_minor = b.paid_minor, receivable_minor = b.receivable_minor,
      credit_minor = b.credit_minor, written_off_minor = b.written_off_minor, paid_month = b.paid_month,
      paid_month_minor = b.paid_month_minor, updated_at = business_now()
    from json_populate_recordset(null::accounts, $3::json) b
    where a.id = b.id
    returning a.id, a.next_due_date, a.updated_at`;
}

/** The columns that PostgreSQL derives from the new books of an account. */
type DerivedColumns = Pick<AccountRow, 'id' | 'next_due_date' | 'updated_at'>;

/** Writes money events by one statement: their rows, their entries, and the books of their accounts. */
export function writeEvents(
  tx: Tx,
  { count, entries, books, rows }: { count: number; entries: NewEntry[]; books: NewBooks[]; rows: EventRows },
): Promise<DerivedColumns[]> {
  const tables = WRITTEN_TABLES.filter((table) => rows[table]?.length);
  return run<DerivedColumns>(tx, statementFor(tables), [
    count,
    rowsAsJson(entries),
    rowsAsJson(books),
    ...tables.map((table) => rowsAsJson(rows[table])),
  ]);
}
