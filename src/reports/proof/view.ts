import { findMethodNames } from '../../catalogue/payment-methods/store.ts';
import { amountOf, type Currency } from '../../core/context.ts';
import type { Tx } from '../../core/database/db.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import { runChecks } from './checks-store.ts';
import { isCurrent } from './result-rules.ts';
import type { ProofResult } from './result-store.ts';
import type { LastProof } from './schema.ts';
import { type DayRow, type Finding, findDay, readClock } from './store.ts';

/** The figures of a day and the results of all checks, from one snapshot. */
export async function readProof(tx: Tx, currency: Currency, day: PlainDate) {
  const readAt = await readClock(tx);
  const dayRows = await findDay(tx, day);
  const names = new Map((await findMethodNames(tx)).map(({ id, name }) => [id, name]));
  const findings = await runChecks(tx, { day });
  const all = dayRows.find((row) => row.payment_method_id === null);
  if (!all) throw new Error('The figures of the day have no total row.');
  return {
    date: day,
    readAt,
    currency: currency.code,
    holds: findings.every(({ violationCount }) => violationCount === 0),
    day: {
      ...toDayFigures(all, currency),
      byMethod: dayRows.flatMap((row) => {
        const id = row.payment_method_id;
        if (id === null) return [];
        return [{ paymentMethodId: id, paymentMethod: names.get(id) ?? '', ...toDayFigures(row, currency) }];
      }),
      violations: findings.flatMap(({ check, violations }) =>
        violations.filter(({ date }) => date === day).map((violation) => ({ check, ...violation })),
      ),
    },
    checks: findings.map((finding) => toCheck(finding, currency)),
  };
}

/** The result of the latest checks, and whether it is current. */
export function toLastProof(row: ProofResult | undefined, now: Date): LastProof {
  const last = row && {
    readAt: row.read_at,
    checkCount: row.check_count,
    violationCount: row.violation_count,
    failedChecks: row.failed_checks,
  };
  return { last: last ?? null, current: isCurrent(row && new Date(row.read_at), now) };
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

function toCheck(
  { check, rule, checkedRowCount, sums, violationCount, violations }: Finding,
  currency: Currency,
) {
  return {
    check,
    rule,
    holds: violationCount === 0,
    checkedRowCount,
    sums: sums.map(({ name, amountMinor }) => ({ name, amount: exactAmount(amountMinor, currency) })),
    violationCount,
    violations,
  };
}

/** Null for an amount that is too large for an exact JSON number, because a proof must not fail on a damaged amount. */
function exactAmount(minor: bigint, currency: Currency): number | null {
  try {
    return amountOf(minor, currency);
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}
