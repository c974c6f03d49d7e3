import { sql } from 'kysely';
import { amountOf, type Currency } from '../core/context.ts';
import type { Tx } from '../core/database/db.ts';
import type { PlainDate } from '../core/values/dates.ts';
import { CHECKS, type Check } from './checks.ts';
import { MAX_BREACHES } from './schema.ts';

/** One proof at a time: it reads everything. */
export const PROOF_READS = { what: 'proofs', connections: 1, timeoutMs: 120_000 };

export interface Violation {
  table: string;
  /** Null where a day is wrong and no single row. */
  id: number | null;
  what: string;
  expected: string;
  found: string;
  date: PlainDate | null;
}

/** What one check found; sums in minor units, of any size, under the names that the check gives them. */
export interface Finding {
  check: string;
  rule: string;
  lookedAt: number;
  sums: { name: string; amountMinor: bigint }[];
  violationCount: number;
  /** The first of them, those of the day that was asked for before others. */
  violations: Violation[];
}

/** Called with each finding as its check ends. */
export type Progress = (finding: Finding) => void;

/**
 * Runs every check on the books. Where the transaction is a snapshot, all checks see the same books.
 * @param day whose violations come first
 */
export async function runChecks(
  tx: Tx,
  { day = null, onFinding = () => {} }: { day?: PlainDate | null; onFinding?: Progress } = {},
): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const check of CHECKS) {
    const finding = await runCheck(tx, check, day);
    onFinding(finding);
    findings.push(finding);
  }
  return findings;
}

interface LawRow {
  /** Texts, since a damaged amount may be of any size. */
  figures: { looked_at: string | null } & Record<string, string | null>;
  violation_count: number;
  violations: Violation[];
}

async function runCheck(tx: Tx, { name, rule, checked, figures, violations }: Check, day: PlainDate | null) {
  const { rows } = await sql<LawRow>`
    with checked as (${checked}),
    figures as (${figures}),
    broken ("table", id, what, expected, found, date) as (${violations})
    select
      (select json_object_agg(key, value) from figures, json_each_text(row_to_json(figures))) as figures,
      (select count(*) from broken) as violation_count,
      (select coalesce(json_agg(b), '[]') from (
        select * from broken order by date is distinct from ${day}::date, "table", id, what limit ${MAX_BREACHES}
      ) b) as violations`.execute(tx);
  const [row] = rows;
  if (!row) throw new Error('an aggregate gives a row');
  const { looked_at: lookedAt, ...sums } = row.figures;
  return {
    check: name,
    rule,
    lookedAt: Number(lookedAt ?? 0),
    sums: Object.entries(sums).map(([sum, amount]) => ({ name: sum, amountMinor: BigInt(amount ?? 0) })),
    violationCount: row.violation_count,
    violations: row.violations,
  } satisfies Finding;
}

interface DayRow {
  /** Null: all methods together. */
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

/**
 * The payments of a day by their method and state, and its refunds, beside what the ledger's clearing says for
 * that value date.
 */
async function readDay(tx: Tx, day: PlainDate) {
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
  const methods = await tx.selectFrom('payment_methods').select(['id', 'name']).orderBy('id').execute();
  const nameOf = new Map(methods.map(({ id, name }) => [id, name]));
  return rows.map((row) => ({ ...row, payment_method: nameOf.get(row.payment_method_id ?? 0) ?? null }));
}

/** The proof of a day and of the whole books, from one snapshot. */
export async function readProof(tx: Tx, currency: Currency, day: PlainDate) {
  const { rows: moments } = await sql<{ at: string }>`select business_now() as at`.execute(tx);
  const dayRows = await readDay(tx, day);
  const findings = await runChecks(tx, { day });
  const all = dayRows.find((row) => row.payment_method_id === null);
  if (!all || !moments[0]) throw new Error('an aggregate gives a row');
  return {
    date: day,
    readAt: moments[0].at,
    currency: currency.code,
    holds: findings.every(({ violationCount }) => violationCount === 0),
    day: {
      ...toDayFigures(all, currency),
      byMethod: dayRows.flatMap((row) => {
        const { payment_method_id: id, payment_method: name } = row;
        return id === null
          ? []
          : [{ paymentMethodId: id, paymentMethod: name ?? '', ...toDayFigures(row, currency) }];
      }),
      violations: findings.flatMap(({ check, violations }) =>
        violations.filter(({ date }) => date === day).map((violation) => ({ check, ...violation })),
      ),
    },
    checks: findings.map((finding) => toCheck(finding, currency)),
  };
}

function toDayFigures(row: DayRow, currency: Currency) {
  const part = (count: number, minor: string) => ({ count, amount: exactAmount(BigInt(minor), currency) });
  const [cleared, takenBack] = [BigInt(row.cleared_minor), BigInt(row.taken_back_minor)];
  const [received, reversed] = [BigInt(row.received_minor), BigInt(row.reversed_minor)];
  const [refunded, paidOut] = [BigInt(row.refunded_minor), BigInt(row.paid_out_minor)];
  return {
    received: part(row.received, row.received_minor),
    matched: part(row.matched, row.matched_minor),
    unmatched: part(row.unmatched, row.unmatched_minor),
    reversed: part(row.reversed, row.reversed_minor),
    refunded: part(row.refunded, row.refunded_minor),
    ledger: {
      received: exactAmount(cleared, currency),
      reversed: exactAmount(takenBack, currency),
      refunded: exactAmount(paidOut, currency),
      net: exactAmount(cleared - takenBack - paidOut, currency),
    },
    holds:
      received === cleared &&
      reversed === takenBack &&
      refunded === paidOut &&
      received === BigInt(row.matched_minor) + BigInt(row.unmatched_minor) + reversed,
  };
}

function toCheck({ check, rule, lookedAt, sums, violationCount, violations }: Finding, currency: Currency) {
  return {
    check,
    rule,
    holds: violationCount === 0,
    lookedAt,
    sums: sums.map(({ name, amountMinor }) => ({ name, amount: exactAmount(amountMinor, currency) })),
    violationCount,
    violations,
  };
}

/** A proof must not fail on the amount that is wrong: null for one that no JSON number can hold. */
function exactAmount(minor: bigint, currency: Currency): number | null {
  try {
    return amountOf(minor, currency);
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}
