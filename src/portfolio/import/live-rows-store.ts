import { type RawBuilder, sql } from 'kysely';
import { RECORDED_COLUMNS, runColumns } from '../../accounts/schedule/rules.ts';
import { employeeFields } from '../../catalogue/employees/schema.ts';
import { productFields } from '../../catalogue/products/schema.ts';
import type { Tx } from '../../core/database/db.ts';
import { columnOf, type DeclaredFields } from '../../core/declared-fields.ts';
import { customerFields } from '../../customers/schema.ts';
import type { ComputedAccount } from './account-books-rules.ts';
import { escaped } from './staging-rules.ts';

// Copies the rows of an import from its staging tables into the live tables of the service. Large tables are copied in batches,
// because PostgreSQL keeps the foreign-key checks of a statement in memory until its end. Batches also show users the progress.

/** @param share - the part of the work that is done, up to 1. */
type Report = (share: number) => Promise<void>;

const BATCH_ROWS = 50_000;
/** An account has about ten ledger entries, so these accounts have about `BATCH_ROWS` ledger entries. */
const BATCH_ACCOUNTS = 5_000;

/** Runs one statement for each range of `size` positions. */
async function inBatches(
  tx: Tx,
  table: string,
  size: number,
  report: Report,
  write: (range: RawBuilder<boolean>) => RawBuilder<unknown>,
): Promise<void> {
  const { rows } = await sql<{ last: number | null }>`
    select max(position) as last from ${sql.table(table)}`.execute(tx);
  const last = rows[0]?.last ?? 0;
  for (let from = 1; from <= last; from += size) {
    await write(sql`n.position between ${from} and ${from + size - 1}`).execute(tx);
    await report(Math.min(1, (from + size) / last));
  }
}

/** Tables for the computed books of accounts. */
export async function createResultTables(tx: Tx): Promise<void> {
  await sql`
    create temporary table new_books (position integer, status text, status_reason text, written_off_on date, paid_minor bigint,
      receivable_minor bigint, credit_minor bigint, written_off_minor bigint, paid_month date, paid_month_minor bigint,
      instalment_minor bigint, instalment_count integer, run_anchor date[], run_unit text[], run_every integer[], run_place integer[],
      run_count integer[], run_amount_minor bigint[])
    on commit drop`.execute(tx);
  await sql`
    create temporary table new_statuses (position integer, step integer, from_status text, to_status text, reason text, cause text,
      changed_on date, created_at timestamptz(3)) on commit drop`.execute(tx);
  await sql`
    create temporary table new_entries (position integer, event_id bigint, event text, ledger_account text,
      payment_method_id bigint, account_id bigint, payment_id bigint, credit_move_id bigint, amount_minor bigint,
      value_date date, created_at timestamptz(3)) on commit drop`.execute(tx);
}

export const COPY_RESULTS = {
  books: 'copy new_books from stdin',
  statuses: 'copy new_statuses from stdin',
  entries: 'copy new_entries from stdin',
} as const;

/** The computed books of an account, as rows of COPY. */
export function resultsAsText(
  position: number,
  { terms, books, statusReason, writtenOffOn, changes, entries }: ComputedAccount,
): Record<keyof typeof COPY_RESULTS, string> {
  const runs = runColumns(terms);
  return {
    books: copyLine(
      position,
      books.status,
      statusReason,
      writtenOffOn,
      books.paid_minor,
      books.receivable_minor,
      books.credit_minor,
      books.written_off_minor,
      books.paid_month,
      books.paid_month_minor,
      Number(terms.instalmentMinor),
      terms.instalmentCount,
      ...[
        runs.run_anchor,
        runs.run_unit,
        runs.run_every,
        runs.run_place,
        runs.run_count,
        runs.run_amount_minor,
      ].map((values) => values && `{${values.join()}}`),
    ),
    statuses: changes
      .map(({ from, to, reason, cause, day, moment }, step) =>
        copyLine(position, step, from, to, reason, cause, day, moment),
      )
      .join(''),
    entries: entries
      .map((entry) =>
        copyLine(
          // The entries of a transfer are on two accounts, which can be in different batches. `writeEntries` writes all entries
          // without a position in one statement.
          entry.event === 'credit_transferred' ? null : position,
          entry.eventId,
          entry.event,
          entry.ledger_account,
          entry.payment_method_id,
          entry.account_id,
          entry.payment_id,
          entry.credit_move_id,
          entry.amount_minor,
          entry.value_date,
          entry.moment,
        ),
      )
      .join(''),
  };
}

function copyLine(...values: (string | number | null)[]): string {
  const cells = values.map((value) =>
    value === null ? '\\N' : typeof value === 'number' ? String(value) : escaped(value),
  );
  return `${cells.join('\t')}\n`;
}

/** Adds the methods that the database does not have. @returns the ids of all methods, by code. */
export async function writePaymentMethods(tx: Tx, importId: number): Promise<ReadonlyMap<string, number>> {
  await sql`
    insert into payment_methods (code, name, active, cash, import_id)
    select code, name, coalesce(active, true), coalesce(cash, code = 'cash'), ${importId}
    from new_payment_methods order by position
    on conflict (code) do nothing`.execute(tx);
  const { rows } = await sql<{ code: string; id: number }>`select code, id from payment_methods`.execute(tx);
  return new Map(rows.map((row) => [row.code, row.id]));
}

/** The columns of declared fields, and their values in a staging table. An enumeration needs a cast, so it is written by hand. */
function declared(fields: DeclaredFields) {
  const stored = Object.entries(fields).filter(([, { file, schema }]) => file && !('enum' in schema));
  return {
    columns: sql.join(stored.map(([name]) => sql.ref(columnOf(name)))),
    values: sql.join(
      stored.map(([name, { default: missing }]) => {
        const column = sql.ref(columnOf(name));
        return missing === undefined ? column : sql`coalesce(${column}, ${sql.lit(missing)})`;
      }),
    ),
  };
}

const employee = declared(employeeFields);
const product = declared(productFields);
const customer = declared(customerFields);

/** An array of the column `harvest`. */
function integers(field: string): RawBuilder<unknown> {
  return sql`(select array_agg(value::integer order by at)
    from jsonb_array_elements_text(n.harvest -> ${sql.lit(field)}) with ordinality as e (value, at))`;
}

/** Writes everything that accounts refer to. */
export async function writeCatalogue(tx: Tx, importId: number, report: Report): Promise<void> {
  await sql`
    insert into employees (${employee.columns}, phone, external_id, metadata, created_at, import_id)
    select ${employee.values}, phone, external_id, coalesce(metadata, '{}'), coalesce(created_at, business_now()),
      ${importId}
    from new_employees order by position`.execute(tx);
  await sql`
    insert into products (${product.columns}, price_minor, external_id, metadata, created_at, import_id)
    select ${product.values}, price, external_id,
      coalesce(metadata, '{}'), coalesce(created_at, business_now()), ${importId}
    from new_products order by position`.execute(tx);
  await sql`
    insert into pay_plans (name, product_id, deposit_minor, instalment_minor, instalment_count, frequency, grace_days,
      price_minor, rounding_minor, every, months_without_dues, harvest_months, harvest_days, harvest_shares, harvest_cycles,
      lead_days, payoff_basis_points, payoff_until, payoff_min_dues, auto_suspend, active, created_at, import_id)
    select n.name, p.id, n.deposit, n.instalment, n.instalment_count, n.frequency::frequency, n.grace_days,
      n.price, n.rounding_unit, coalesce(n.every, 1), coalesce(n.months_without_dues, '{}'),
      ${integers('months')}, ${integers('days')}, ${integers('shares')}, n.harvest_cycles, n.lead_days,
      n.payoff_basis_points, n.payoff_until, n.payoff_min_dues,
      coalesce(n.auto_suspend, false), coalesce(n.active, true), coalesce(n.created_at, business_now()), ${importId}
    from new_pay_plans n left join products p on p.sku = n.product order by n.position`.execute(tx);
  await inBatches(
    tx,
    'new_customers',
    BATCH_ROWS,
    report,
    (range) => sql`
      insert into customers (${customer.columns}, email, email_key, phone, phone_sha256, second_phone, language, national_id,
        national_id_key, search_text, external_id, metadata, created_at, import_id)
      select ${customer.values}, email, email_key, phone, sha256(convert_to(replace(phone, '+', ''), 'UTF8')), second_phone,
        language::customer_language, national_id, national_id_key, search_text, external_id, coalesce(metadata, '{}'), coalesce(created_at, business_now()), ${importId}
      from new_customers n where ${range} order by position`,
  );
  await sql`analyze customers`.execute(tx);
}

/**
 * Writes accounts. An account can have the number of an account whose import was undone. The event numbers of the new account
 * then continue those of the deleted account.
 */
export async function writeAccounts(
  tx: Tx,
  { importId, actorId }: { importId: number; actorId: number | null },
  report: Report,
): Promise<void> {
  await sql`analyze new_books`.execute(tx);
  await inBatches(
    tx,
    'new_accounts',
    BATCH_ROWS,
    report,
    (range) => sql`
      insert into accounts (id, customer_id, product_id, payplan_id, employee_id, activation_date, status, status_reason,
        deposit_minor, instalment_minor, instalment_count, frequency, grace_days, paid_minor, receivable_minor, credit_minor,
        written_off_minor, paid_month, paid_month_minor, written_off_on, reprieved_on, external_id, metadata, created_at,
        event_count, import_id, run_anchor, run_unit, run_every, run_place, run_count, run_amount_minor, plan_version,
        restructured_kind, restructured_on) overriding system value
      select n.id, c.id, r.id, p.id, e.id, n.activation_date, b.status::account_status, b.status_reason,
        n.deposit, b.instalment_minor, b.instalment_count, n.frequency::frequency, n.grace_days, b.paid_minor, b.receivable_minor,
        b.credit_minor, b.written_off_minor, b.paid_month, b.paid_month_minor, b.written_off_on, n.grace_restarted_on,
        n.external_id, coalesce(n.metadata, '{}'), n.opened_at,
        coalesce(v.last_version, 0), ${importId}, b.run_anchor, b.run_unit, b.run_every, b.run_place, b.run_count,
        b.run_amount_minor, (n.plan_changed_on is not null)::integer, n.restructured::plan_change_kind, n.restructured_on
      from new_accounts n join new_books b on b.position = n.position
        join customers c on c.external_id = n.customer
        join products r on r.sku = n.product
        join pay_plans p on p.name = n.pay_plan
        left join (
          select account_id, max(account_version) as last_version from events where account_id is not null group by account_id
        ) v on v.account_id = n.id
        left join employees e on e.external_id = n.employee
      where ${range} order by n.position`,
  );
  // The earlier terms are unknown, so the terms are the same before and after the change.
  await sql`
    insert into plan_changes (account_id, version, kind, effective_on, body, before, after, price_change_minor, actor_user_id)
    select a.id, 1, 'imported', n.plan_changed_on, '{}', t.terms, t.terms, 0, ${actorId}::bigint
    from new_accounts n join accounts a on a.id = n.id
      cross join lateral (
        select jsonb_object_agg(key, value) as terms from jsonb_each(to_jsonb(a)) where key = any(${[...RECORDED_COLUMNS]}::text[])) t
    where n.plan_changed_on is not null
    order by n.position`.execute(tx);
  await sql`
    insert into account_status_changes (account_id, from_status, to_status, reason, cause, actor_user_id, changed_on, created_at)
    select n.id, s.from_status::account_status, s.to_status::account_status, s.reason, s.cause::status_cause,
      ${actorId}::bigint, s.changed_on, s.created_at
    from new_statuses s join new_accounts n on n.position = s.position
    order by s.position, s.step`.execute(tx);
}

/** Writes reconciliations, payments and credit moves. */
export async function writeMoney(
  tx: Tx,
  { importId, actorId, timeZone }: { importId: number; actorId: number | null; timeZone: string },
  report: Report,
): Promise<void> {
  await sql`
    insert into reconciliations (reconciliation_date, total_minor, payment_ids, created_by, import_id)
    select reconciled_on, sum(amount), array_agg(id order by id), ${actorId}::bigint, ${importId}
    from new_payments where reconciled_on is not null
    group by reconciled_on order by reconciled_on`.execute(tx);
  await sql`create index on new_payments using brin (position)`.execute(tx);
  await inBatches(
    tx,
    'new_payments',
    BATCH_ROWS,
    report,
    (range) => sql`
      insert into payments (id, account_id, amount_minor, payment_method_id, transaction_ref, reference_key, payment_date, status,
        source, match_method, provider, provider_trans_id, reversed_at, reversal_reason, created_by, created_at, updated_at,
        reconciliation_id, reconciliation_date, external_id, metadata, import_id) overriding system value
      select n.id, a.id, n.amount, m.id, n.transaction_ref, n.reference_key, n.payment_date,
        (case when n.reversed_at is not null then 'reversed' when n.account is null then 'unmatched' else 'matched' end)::payment_status,
        'import', case when n.assigned_at is not null then 'assigned'::match_method end, n.provider, n.transaction_key,
        n.reversed_at, n.reversal_reason, ${actorId}::bigint,
        coalesce(n.received_at, n.payment_date::timestamp at time zone ${timeZone}), business_now(),
        r.id, n.reconciled_on, n.external_id, coalesce(n.metadata, '{}'), ${importId}
      from new_payments n join payment_methods m on m.code = n.payment_method
        left join new_accounts a on a.external_id = n.account
        left join reconciliations r on r.import_id = ${importId} and r.reconciliation_date = n.reconciled_on
      where ${range} order by n.position`,
  );
  await sql`
    insert into credit_moves (id, account_id, to_account_id, amount_minor, reason, payment_method_id, transaction_ref,
      reference_key, value_date, created_by, created_at, import_id) overriding system value
    select n.id, a.id, t.id, n.amount, n.reason, m.id, n.transaction_ref, n.reference_key, n.moved_on, ${actorId}::bigint,
      coalesce(n.moved_at, n.moved_on::timestamp at time zone ${timeZone}), ${importId}
    from new_credit_moves n join new_accounts a on a.external_id = n.account
      left join new_accounts t on t.external_id = n.to_account
      left join payment_methods m on m.code = n.payment_method
    order by n.position`.execute(tx);
}

/**
 * Writes all entries of an event in one statement, because a trigger checks that they sum to zero. `created_at` is the time of
 * the event, because an export reads the time of an assignment from this column.
 */
export async function writeEntries(tx: Tx, report: Report): Promise<void> {
  // The money of a payment without an account is in the ledger account `unmatched` until the payment is assigned or reversed.
  await sql`
    insert into new_entries (event_id, event, ledger_account, payment_method_id, payment_id, amount_minor, value_date, created_at)
    select h.event_id, case h.kind when 'receive' then 'payment_received' else 'payment_reversed' end, e.ledger_account,
      case e.ledger_account when 'clearing' then m.id end, h.row_id, s.sign * e.sign * h.amount, h.day, h.moment
    from new_history h join payment_methods m on m.code = h.method
      cross join lateral (select case h.kind when 'receive' then 1 else -1 end as sign) s
      cross join (values ('clearing', 1), ('unmatched', -1)) as e (ledger_account, sign)
    where h.account is null and h.kind in ('receive', 'reverse')`.execute(tx);
  await sql`create index on new_entries using brin (position)`.execute(tx);
  await sql`analyze new_entries`.execute(tx);
  const write = (where: RawBuilder<boolean>) => sql`
    insert into ledger_entries (event_id, event, ledger_account, payment_method_id, account_id, payment_id, credit_move_id,
      amount_minor, value_date, created_at)
    select n.event_id, n.event::ledger_event, n.ledger_account::ledger_account, n.payment_method_id, n.account_id, n.payment_id,
      n.credit_move_id, n.amount_minor, n.value_date, n.created_at
    from new_entries n where ${where} order by n.position, n.event_id`;
  await write(sql`n.position is null`).execute(tx);
  await inBatches(tx, 'new_entries', BATCH_ACCOUNTS, report, write);
}

/** Without this, PostgreSQL would plan for the old sizes of the tables until autovacuum analyzes them. */
export async function analyzeTables(tx: Tx): Promise<void> {
  await sql`analyze customers, accounts, payments, ledger_entries, account_status_changes`.execute(tx);
}
