import { sql } from 'kysely';
import { insertChanges } from '../../changes/events/change-store.ts';
import type { Tx } from '../../core/database/db.ts';
import { insertRows, rowsAsJson } from '../../core/database/rows.ts';
import { run } from '../../core/database/statements.ts';
import type { DB } from '../../core/database/tables.ts';
import type { LockedAccount } from '../payoffs/posting-rules.ts';
import { OFFER_OF_PLAN, planStatements } from '../payoffs/store.ts';
import { STATUS_CHANGE_COLUMNS } from '../status/store.ts';
import type { AccountRow, LedgerRows } from './rules.ts';

const ACCOUNTS = `select a.*, ${OFFER_OF_PLAN} as early_payoff from accounts a where a.id = any($1::bigint[]) order by a.id`;

/**
 * Locks accounts in the order of their ids, and waits while another transaction has locked one. payments/locks.ts states the order
 * of all locks. `no key update` does not block foreign keys, so inserts that refer to an account never wait.
 */
export async function lockAccounts(tx: Tx, ids: readonly number[]): Promise<Map<number, LockedAccount>> {
  if (ids.length === 0) return new Map();
  const rows = await run<LockedAccount>(tx, `${ACCOUNTS} for no key update`, [ids]);
  return new Map(rows.map((row) => [row.id, row]));
}

/** Like `lockAccounts`, but skips accounts that another transaction has locked. */
export async function takeFreeAccounts(tx: Tx, ids: readonly number[]): Promise<Map<number, LockedAccount>> {
  if (ids.length === 0) return new Map();
  const rows = await run<LockedAccount>(tx, `${ACCOUNTS} for no key update skip locked`, [ids]);
  return new Map(rows.map((row) => [row.id, row]));
}

export async function findExistingAccounts(tx: Tx, ids: readonly number[]): Promise<Set<number>> {
  if (ids.length === 0) return new Set();
  const { rows } = await sql<{ id: number }>`
    select id from accounts where id = any(${[...ids]}::bigint[])`.execute(tx);
  return new Set(rows.map(({ id }) => id));
}

/** The tables of `LedgerRows`, and the columns that are written. */
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
    'external_id',
    'metadata',
    'corrects_payment_id',
    'created_by',
    'api_key_id',
    'created_at',
    'updated_at',
  ],
  notifications: [
    'id',
    'provider',
    'source',
    'provider_statement_id',
    'payment_request_id',
    'raw_body',
    'trans_id',
    'content_hash',
    'amount_minor',
    'trans_time',
    'time_zone',
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
  idempotency_keys: ['caller', 'path', 'key', 'body_hash', 'status', 'answer'],
  account_status_changes: STATUS_CHANGE_COLUMNS,
} as const satisfies { [T in keyof Omit<LedgerRows['rows'], 'changes'>]-?: readonly (keyof DB[T])[] };

type WrittenTable = keyof typeof WRITTEN;
const WRITTEN_TABLES = Object.keys(WRITTEN) as WrittenTable[];

/**
 * The SQL of `ledgerStatement`, by the tables that get rows. The SQL leaves out the other tables, because an insert without rows
 * costs the same as an insert of one row.
 */
const statements = new Map<string, string>();

function statementFor(tables: readonly WrittenTable[], hasChanges: boolean): string {
  const key = [...tables, hasChanges].join();
  const text = statements.get(key) ?? makeStatement(tables, hasChanges);
  statements.set(key, text);
  return text;
}

function makeStatement(tables: readonly WrittenTable[], hasChanges: boolean): string {
  const inserts = tables.map(
    (table, at) => `${table}_added as (${insertRows(table, WRITTEN[table], `$${at + 5}`)}),`,
  );
  const changes = hasChanges ? `${insertChanges(`$${tables.length + 5}`)},` : '';
  // The ids are also in the JSON, of which PostgreSQL expects a hundred rows. Without $4, it would read all accounts of small books.
  return `
    with ${inserts.join('\n    ')}
    ${changes}
    money_events as (select position, nextval('ledger_event_ids') as id from generate_series(1, $1::int) as position),
    entries_added as (
      insert into ledger_entries (event_id, event, account_id, payment_id, credit_move_id, value_date, ledger_account,
        amount_minor, payment_method_id)
      select m.id, e.event, e.account_id, e.payment_id, e.credit_move_id, e.value_date, e.ledger_account,
        e.amount_minor, e.payment_method_id
      from json_to_recordset($2::json) as e (position int, event ledger_event, account_id bigint, payment_id bigint,
        credit_move_id bigint, value_date date, ledger_account ledger_account, amount_minor bigint,
        payment_method_id bigint)
      join money_events m on m.position = e.position
      order by e.position)
    update accounts a set paid_minor = b.paid_minor, receivable_minor = b.receivable_minor,
      credit_minor = b.credit_minor, written_off_minor = b.written_off_minor, paid_month = b.paid_month,
      paid_month_minor = b.paid_month_minor, event_count = b.event_count, status = b.status,
      status_reason = b.status_reason, updated_at = business_now()
    from json_populate_recordset(null::accounts, $3::json) b
    where a.id = b.id and a.id = any($4::bigint[])
    returning a.id, a.next_due_date, a.updated_at`;
}

/** The columns that PostgreSQL computes when the books of an account are written. */
type DerivedColumns = Pick<AccountRow, 'id' | 'next_due_date' | 'updated_at'>;

/** The SQL statements that write the rows, the entries and the account books of money events. */
export function ledgerStatements(ledger: LedgerRows) {
  return [...planStatements(ledger.planMoves), ledgerStatement(ledger)];
}

function ledgerStatement({ count, entries, accounts, rows }: LedgerRows) {
  const tables = WRITTEN_TABLES.filter((table) => rows[table]?.length);
  const { changes = [] } = rows;
  const values = [
    count,
    rowsAsJson(entries),
    rowsAsJson(accounts),
    accounts.map(({ id }) => id),
    ...tables.map((table) => rowsAsJson(rows[table])),
    ...(changes.length > 0 ? [rowsAsJson(changes)] : []),
  ];
  return { text: statementFor(tables, changes.length > 0), values };
}

export async function writeLedger(tx: Tx, ledger: LedgerRows): Promise<DerivedColumns[]> {
  let derived: DerivedColumns[] = [];
  for (const { text, values } of ledgerStatements(ledger))
    derived = await run<DerivedColumns>(tx, text, values);
  return derived;
}
