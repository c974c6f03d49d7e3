import { PAID_UNTIL, runsAsText } from '../../accounts/schedule/store.ts';
import { BALANCE } from '../../accounts/store.ts';
import type { Currency } from '../../core/context.ts';
import { inUnits } from '../../core/database/copy-pool.ts';
import { OPERATOR } from '../../core/values/csv.ts';
import { type Column, FILE_NAMES, type FileName, FORMAT, VERSION_COLUMN } from '../format-rules.ts';
import { NEEDS_GUARD, NEEDS_GUARD_AFTER } from '../spreadsheet-guard-rules.ts';

interface Source {
  from: string;
  /** The alias of the table that has one row for each row of the file. */
  alias: string;
  orderBy: string;
  /** The SQL expression for the value of a column, before `cellOf` formats it. Default: the column of this name in `alias`. */
  columns: Readonly<Record<string, string>>;
}

/** A query for `COPY … TO STDOUT`, and the names of its text columns. See `open` in core/database/copy-pool.ts for `quoted`. */
export interface FileQuery {
  name: FileName;
  query: string;
  quoted: string[];
}

/** The queries of all files. Rows are in the order in which an import must create them again. */
export function exportQueries(currency: Currency): FileQuery[] {
  return FILE_NAMES.map((name) => fileQuery(name, SOURCES[name], currency));
}

/**
 * SQL for the key by which other files refer to a row: the external id of the row. A row without one gets an external id such as
 * `export1-17`, which an import of the files stores. So that new ids are unique, the number after `export` is higher than in all
 * stored external ids.
 */
function key(alias: string, table: 'accounts' | 'customers' | 'employees'): string {
  // PostgreSQL runs the subquery once, because it does not depend on the row.
  return `coalesce(${alias}.external_id, 'export' || (
    select coalesce(max(substring(external_id from '^export([0-9]+)-')::numeric), 0) + 1 from ${table}
  ) || '-' || ${alias}.id)`;
}

const customerKey = key('c', 'customers');
const employeeKey = key('e', 'employees');
const accountKey = key('a', 'accounts');

/**
 * For each payment that was unassigned at least once: the accounts that it had before, with the times. An import needs them to
 * compute the same books, because credit from the payment may have left such an account in the meantime.
 */
const EARLIER_ASSIGNMENTS = `
  select u.payment_id, json_agg(json_build_object(
    'account', ${key('x', 'accounts')},
    'assigned_at', case when s.event = 'payment_assigned' then ${isoTime('s.created_at')} end,
    'unassigned_at', ${isoTime('u.created_at')}) order by u.event_id)::text as assignments
  from (
    select distinct payment_id, event_id, account_id, created_at from ledger_entries
    where event = 'payment_unassigned' and account_id is not null
  ) u
    join accounts x on x.id = u.account_id
    cross join lateral (
      select event, created_at from ledger_entries
      where payment_id = u.payment_id and account_id = u.account_id and event_id < u.event_id
        and event in ('payment_received', 'payment_assigned')
      order by event_id desc limit 1
    ) s
  group by u.payment_id`;

const SOURCES: Readonly<Record<FileName, Source>> = {
  payment_methods: {
    alias: 'm',
    from: 'payment_methods m',
    // Not by id: every database has some methods before an import, so an import cannot restore the order of their ids.
    orderBy: 'm.code collate "C"',
    columns: {},
  },
  employees: {
    alias: 'e',
    from: 'employees e',
    orderBy: 'e.id',
    columns: { external_id: employeeKey },
  },
  products: {
    alias: 'p',
    from: 'products p',
    orderBy: 'p.id',
    columns: { description: `nullif(p.description, '')`, price: 'p.price_minor' },
  },
  pay_plans: {
    alias: 'l',
    from: 'pay_plans l left join products p on p.id = l.product_id',
    orderBy: 'l.id',
    columns: {
      product: 'p.sku',
      deposit: 'l.deposit_minor',
      instalment: 'l.instalment_minor',
      price: 'l.price_minor',
      rounding_unit: 'l.rounding_minor',
    },
  },
  customers: {
    alias: 'c',
    from: 'customers c',
    orderBy: 'c.id',
    columns: { external_id: customerKey },
  },
  accounts: {
    alias: 'a',
    from: `accounts a
      join customers c on c.id = a.customer_id
      join products p on p.id = a.product_id
      join pay_plans l on l.id = a.payplan_id
      left join employees e on e.id = a.employee_id
      left join (
        select account_id, count(*) as payments from payments where status = 'matched' group by account_id
      ) m on m.account_id = a.id`,
    orderBy: 'a.id',
    columns: {
      external_id: accountKey,
      account_number: 'account_number(a.id)',
      customer: customerKey,
      product: 'p.sku',
      pay_plan: 'l.name',
      employee: `case when e.id is not null then ${employeeKey} end`,
      opened_at: 'a.created_at',
      deposit: 'a.deposit_minor',
      instalment: 'a.instalment_minor',
      // status_since and status_reason are empty, because account_changes has the day and the reason of each change.
      status_since: 'null::date',
      status_reason: 'null::text',
      schedule: 'a',
      plan_changed_on: `case when a.plan_version > 0 then (
        select h.effective_on from plan_changes h where h.account_id = a.id order by h.id desc limit 1) end`,
      restructured: 'a.restructured_kind',
      grace_restarted_on: 'a.reprieved_on',
      opening_paid: 'null::bigint',
      opening_paid_on: 'null::date',
      // source_as_of and source_arrears are empty: they would change every day, but exports of the same rows must be identical.
      source_as_of: 'null::date',
      source_payment_count: 'coalesce(m.payments, 0)',
      // After a transfer or a refund of credit, a reversal can make `paid_minor` negative. source_paid is then empty.
      source_paid: 'case when a.paid_minor >= 0 then a.paid_minor end',
      source_balance: BALANCE,
      source_arrears: 'null::bigint',
      source_paid_until: PAID_UNTIL,
    },
  },
  account_changes: {
    // A row without `from_status` is the opening of its account, not a change.
    alias: 'h',
    from: `account_status_changes h join accounts a on a.id = h.account_id and h.from_status is not null`,
    orderBy: 'h.account_id, h.id',
    columns: { account: accountKey, status: 'h.to_status', changed_at: 'h.created_at' },
  },
  payments: {
    alias: 'p',
    from: `payments p
      join payment_methods m on m.id = p.payment_method_id
      left join accounts a on a.id = p.account_id
      left join (
        select payment_id, account_id, max(created_at) as assigned_at from ledger_entries
        where event = 'payment_assigned' and account_id is not null group by payment_id, account_id
      ) g on g.payment_id = p.id and g.account_id = p.account_id
      left join (${EARLIER_ASSIGNMENTS}) b on b.payment_id = p.id`,
    orderBy: 'p.id',
    columns: {
      account: `case when a.id is not null then ${accountKey} end`,
      amount: 'p.amount_minor',
      payment_method: 'm.code',
      provider_transaction_id: 'p.provider_trans_id',
      received_at: 'p.created_at',
      assigned_at: 'g.assigned_at',
      earlier_assignments: 'b.assignments',
      reconciled_on: 'p.reconciliation_date',
    },
  },
  credit_moves: {
    alias: 'v',
    from: `credit_moves v
      join accounts a on a.id = v.account_id
      left join accounts b on b.id = v.to_account_id
      left join payment_methods m on m.id = v.payment_method_id`,
    orderBy: 'v.id',
    columns: {
      account: accountKey,
      to_account: `case when b.id is not null then ${key('b', 'accounts')} end`,
      amount: 'v.amount_minor',
      moved_on: 'v.value_date',
      payment_method: 'm.code',
      moved_at: 'v.created_at',
    },
  },
};

function fileQuery(name: FileName, { from, alias, orderBy, columns }: Source, currency: Currency): FileQuery {
  const cells = FORMAT[name].columns.map((column) => {
    const value = columns[column.name] ?? `${alias}.${column.name}`;
    return `${cellOf(column, value, currency)} as "${column.name}"`;
  });
  return {
    name,
    query: `select ${cells.join(', ')}, null as "${VERSION_COLUMN}" from ${from} order by ${orderBy}`,
    quoted: FORMAT[name].columns.filter(isText).map((column) => column.name),
  };
}

function isoTime(value: string): string {
  return `to_char(${value} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}

/** The instalments of a year, such as `03-15 6000; 09-30 4000`. */
function harvestAsText(plan: string): string {
  return `(select string_agg(to_char(month, 'FM00') || '-' || to_char(day, 'FM00') || ' ' || share, '; ' order by at)
    from unnest(${plan}.harvest_months, ${plan}.harvest_days, ${plan}.harvest_shares) with ordinality
      as h (month, day, share, at))`;
}

function isText({ kind }: Column): boolean {
  return TEXT_KINDS.has(kind);
}

const TEXT_KINDS: ReadonlySet<Column['kind']> = new Set([
  'text',
  'name',
  'paragraph',
  'external_id',
  'code',
  'national_id',
  'reference',
  'phone',
  'email',
  'metadata',
  'assignments',
  'runs',
]);

/** SQL for the text of a cell. */
function cellOf(column: Column, value: string, { decimals }: Currency): string {
  switch (column.kind) {
    case 'amount':
      return inUnits(value, decimals);
    case 'timestamp':
      return isoTime(value);
    case 'flag':
      return `case when ${value} then 'yes' else 'no' end`;
    case 'harvest':
      return harvestAsText('l');
    case 'months':
      return `nullif(array_to_string(${value}, ' '), '')`;
    case 'runs':
      return runsAsText(value, (minor) => inUnits(minor, decimals));
    case 'metadata':
      return guarded(`nullif(${value}, '{}')::text`);
    default:
      return isText(column) ? guarded(value) : value;
  }
}

/** `guarded` of spreadsheet-guard-rules.ts in SQL. `regexp_replace` is slow, so it runs only for texts with an operator. */
export function guarded(value: string): string {
  const inside = `case when ${value} ~ ${literal(`[${OPERATOR}]`)}
    then regexp_replace(${value}, ${literal(NEEDS_GUARD_AFTER)}, '\\1''', 'g') else ${value} end`;
  return `case when ${value} ~ ${literal(NEEDS_GUARD)} then '''' else '' end || ${inside}`;
}

function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
