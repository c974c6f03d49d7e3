import { sql } from 'kysely';
import { AUDIT_COLUMNS } from '../core/audit.ts';
import type { Tx } from '../core/database/db.ts';
import { insertRows, rowsAsJson } from '../core/database/rows.ts';
import { run } from '../core/database/statements.ts';
import type { DB, LedgerAccount, LedgerEvent } from '../core/database/tables.ts';
import type { PlainDate } from '../core/values/dates.ts';
import type { AccountRow, NewBooks, PostingRows } from './rules.ts';

const ACCOUNTS = 'select * from accounts where id = any($1::bigint[]) order by id';

/**
 * Locks accounts, ids ascending, and waits for other transactions that lock one. An account's lock comes after that of a payment
 * reference and before those of its payments. It lets the key be referred to, so that a new row elsewhere never waits.
 */
export async function lockAccounts(tx: Tx, ids: readonly number[]): Promise<Map<number, AccountRow>> {
  const rows = await run<AccountRow>(tx, `${ACCOUNTS} for no key update`, [ids]);
  return new Map(rows.map((row) => [row.id, row]));
}

/** As `lockAccounts`, but leaves out accounts that are locked elsewhere instead of waiting. */
export async function tryLockAccounts(tx: Tx, ids: readonly number[]): Promise<Map<number, AccountRow>> {
  const rows = await run<AccountRow>(tx, `${ACCOUNTS} for no key update skip locked`, [ids]);
  return new Map(rows.map((row) => [row.id, row]));
}

/** Of the ids those that are accounts. */
export async function findExistingAccounts(tx: Tx, ids: readonly number[]): Promise<Set<number>> {
  const { rows } = await sql<{ id: number }>`
    select id from accounts where id = any(${[...ids]}::bigint[])`.execute(tx);
  return new Set(rows.map(({ id }) => id));
}

/** An entry of a posting that is being written; the event's id is given by the statement. */
export interface NewEntry {
  /** The posting that it belongs to, counted from 1. */
  posting: number;
  event: LedgerEvent;
  account_id: number | null;
  payment_id: number | null;
  credit_move_id: number | null;
  value_date: PlainDate;
  ledger_account: LedgerAccount;
  amount_minor: number;
  payment_method_id: number | null;
}

/** Tables whose rows are written with postings, and the columns that they are written in. */
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
} as const satisfies { [T in keyof PostingRows]-?: readonly (keyof DB[T])[] };

type WrittenTable = keyof typeof WRITTEN;
const WRITTEN_TABLES = Object.keys(WRITTEN) as WrittenTable[];

/** The statements that write postings, by the tables that have rows. An insert without rows would cost as much as a row. */
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
    events as (select posting, nextval('ledger_event_ids') as id from generate_series(1, $1::int) as posting),
    entries_added as (
      insert into ledger_entries (event_id, event, account_id, payment_id, credit_move_id, value_date, ledger_account,
        amount_minor, payment_method_id)
      select events.id, e.event, e.account_id, e.payment_id, e.credit_move_id, e.value_date, e.ledger_account,
        e.amount_minor, e.payment_method_id
      from json_to_recordset($2::json) as e (posting int, event ledger_event, account_id bigint, payment_id bigint,
        credit_move_id bigint, value_date date, ledger_account ledger_account, amount_minor bigint,
        payment_method_id bigint)
      join events on events.posting = e.posting
      order by e.posting)
    update accounts a set paid_minor = b.paid_minor, receivable_minor = b.receivable_minor,
      credit_minor = b.credit_minor, written_off_minor = b.written_off_minor, paid_month = b.paid_month,
      paid_month_minor = b.paid_month_minor, updated_at = business_now()
    from json_populate_recordset(null::accounts, $3::json) b
    where a.id = b.id
    returning a.id, a.next_due_date, a.updated_at`;
}

/** What PostgreSQL derives from the new books of an account. */
type Followed = Pick<AccountRow, 'id' | 'next_due_date' | 'updated_at'>;

/** Writes postings by one statement: their rows, their entries, and the books of their accounts. */
export function writePostings(
  tx: Tx,
  postings: { count: number; entries: NewEntry[]; books: NewBooks[]; rows: PostingRows },
): Promise<Followed[]> {
  const { count, entries, books, rows } = postings;
  const tables = WRITTEN_TABLES.filter((table) => rows[table]?.length);
  return run<Followed>(tx, statementFor(tables), [
    count,
    rowsAsJson(entries),
    rowsAsJson(books),
    ...tables.map((table) => rowsAsJson(rows[table])),
  ]);
}
