import { type RawBuilder, sql } from 'kysely';
import { statusesIn } from '../../accounts/status/rules.ts';
import type { Tx } from '../../core/database/db.ts';
import { literalList } from '../../core/database/literal-list.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import { MAX_VIOLATIONS } from './schema.ts';

/** Only one proof runs at a time, because a proof reads the whole database. */
export const PROOF_READS = { what: 'proofs', connections: 1 };

/**
 * A check of the books in SQL. Checks do not use the code that they check, so that they do not repeat its mistakes. They share
 * with that code only the table of account statuses, the names of providers, the list of derived event types, the view
 * `account_money`.
 */
export interface Check {
  name: string;
  /** The rule in full sentences. */
  rule: string;
  /** `select …`: the rows to check. `figures` and `violations` read these rows as `checked`. */
  checked: RawBuilder<unknown>;
  /** `select …` of one row: the number of checked rows, as `checked_row_count`, and named sums in minor units. */
  figures: RawBuilder<unknown>;
  /**
   * `select … from checked`, one row for each violation: table, id of the row, name of the wrong value, expected and found value
   * as text, and the business day. The id and the day can be null.
   */
  violations: RawBuilder<unknown>;
}

/** The ledger accounts whose entries can show a payment or a credit move on a customer's account. */
export const CUSTOMER_LEDGER_ACCOUNTS = sql`('receivable', 'customer_credit', 'recovery', 'bad_debt')`;

/** The whole price of the account `a`, or 0 if the sale is undone. */
export const SOLD_MINOR = sql`case when a.status in ${literalList(statusesIn('saleUndone'))} then 0 else a.total_minor end`;

export interface Violation {
  table: string;
  /** Null if the violation belongs to a day, not to a row. */
  id: number | null;
  what: string;
  expected: string;
  found: string;
  date: PlainDate | null;
}

/** The result of one check. Sums are in minor units and can have any size. */
export interface Finding {
  check: string;
  rule: string;
  checkedRowCount: number;
  sums: { name: string; amountMinor: bigint }[];
  violationCount: number;
  /** At most `MAX_VIOLATIONS` violations. Violations of the requested day come first. */
  violations: Violation[];
}

interface CheckRow {
  /** Texts, because a damaged amount can have any size. */
  figures: { checked_row_count: string | null } & Record<string, string | null>;
  violation_count: number;
  violations: Violation[];
}

export async function runCheck(
  tx: Tx,
  { name, rule, checked, figures, violations }: Check,
  day: PlainDate | null,
): Promise<Finding> {
  const { rows } = await sql<CheckRow>`
    with checked as (${checked}),
    figures as (${figures}),
    broken ("table", id, what, expected, found, date) as (${violations})
    select
      (select json_object_agg(key, value) from figures, json_each_text(row_to_json(figures))) as figures,
      (select count(*) from broken) as violation_count,
      (select coalesce(json_agg(b), '[]') from (
        select * from broken order by date is distinct from ${day}::date, "table", id, what limit ${MAX_VIOLATIONS}
      ) b) as violations`.execute(tx);
  const [row] = rows;
  if (!row) throw new Error('A check returned no row.');
  const { checked_row_count: checkedRowCount, ...sums } = row.figures;
  return {
    check: name,
    rule,
    checkedRowCount: Number(checkedRowCount ?? 0),
    sums: Object.entries(sums).map(([sum, amount]) => ({ name: sum, amountMinor: BigInt(amount ?? 0) })),
    violationCount: row.violation_count,
    violations: row.violations,
  };
}

export interface DayRow {
  /** Null for all methods together. */
  payment_method_id: number | null;
  received: number;
  received_minor: string;
  matched: number;
  matched_minor: string;
  unmatched: number;
  unmatched_minor: string;
  reversed: number;
  reversed_minor: string;
  refunded: number;
  refunded_minor: string;
  cleared_minor: string;
  taken_back_minor: string;
  paid_out_minor: string;
}

/** The sums of the payments, refunds and clearing entries of a day, for each payment method and for all methods together. */
export async function findDay(tx: Tx, day: PlainDate) {
  const { rows } = await sql<DayRow>`
    select payment_method_id,
      count(amount_minor) as received,
      coalesce(sum(amount_minor), 0)::text as received_minor,
      count(*) filter (where status = 'matched') as matched,
      coalesce(sum(amount_minor) filter (where status = 'matched'), 0)::text as matched_minor,
      count(*) filter (where status = 'unmatched') as unmatched,
      coalesce(sum(amount_minor) filter (where status = 'unmatched'), 0)::text as unmatched_minor,
      count(*) filter (where status = 'reversed') as reversed,
      coalesce(sum(amount_minor) filter (where status = 'reversed'), 0)::text as reversed_minor,
      count(refund_minor) as refunded,
      coalesce(sum(refund_minor), 0)::text as refunded_minor,
      coalesce(sum(cleared_minor) filter (where event = 'payment_received'), 0)::text as cleared_minor,
      coalesce(-sum(cleared_minor) filter (where event not in ('payment_received', 'credit_refunded')), 0)::text
        as taken_back_minor,
      coalesce(-sum(cleared_minor) filter (where event = 'credit_refunded'), 0)::text as paid_out_minor
    from (
      select payment_method_id, status, amount_minor, null::bigint as refund_minor,
        null::bigint as cleared_minor, null::ledger_event as event
      from payments where payment_date = ${day}::date
      union all
      select payment_method_id, null, null, amount_minor, null, null
      from credit_moves where value_date = ${day}::date and to_account_id is null
      union all
      select payment_method_id, null, null, null, amount_minor, event
      from ledger_entries where value_date = ${day}::date and ledger_account = 'clearing'
    ) parts
    group by grouping sets ((), (payment_method_id))
    order by payment_method_id`.execute(tx);
  return rows;
}

export async function readClock(tx: Tx): Promise<string> {
  const { rows } = await sql<{ at: string }>`select business_now() as at`.execute(tx);
  if (!rows[0]) throw new Error('Reading the clock of the database returned no row.');
  return rows[0].at;
}
