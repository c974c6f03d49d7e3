import type { Tx } from '../../core/database/db.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import { ACCOUNT_CHECKS } from './account-checks-store.ts';
import { APPROVAL_CHECKS } from './approval-checks-store.ts';
import { CASH_CHECKS } from './cash-checks-store.ts';
import { COMMISSION_CHECKS } from './commission-checks-store.ts';
import { EVENT_CHECKS } from './event-checks-store.ts';
import { INVOICE_CHECKS } from './invoice-checks-store.ts';
import { LEDGER_CHECKS } from './ledger-checks-store.ts';
import { PAYMENT_CHECKS } from './payment-checks-store.ts';
import { PLAN_CHECKS } from './plan-checks-store.ts';
import { SCHEDULE_CHECKS } from './schedule-checks-store.ts';
import { type Finding, readClock, runCheck } from './store.ts';

/** Every check, in the order in which they run. */
export const CHECKS = [
  ...LEDGER_CHECKS,
  ...ACCOUNT_CHECKS,
  ...SCHEDULE_CHECKS,
  ...PLAN_CHECKS,
  ...PAYMENT_CHECKS,
  ...INVOICE_CHECKS,
  ...COMMISSION_CHECKS,
  ...APPROVAL_CHECKS,
  ...CASH_CHECKS,
  ...EVENT_CHECKS,
];

interface RunOptions {
  /** Violations of this day come first. */
  day?: PlainDate | null;
  /** Called with each finding when its check ends. */
  onFinding?: (finding: Finding) => void;
}

/** Runs every check. All checks see the same books only if `tx` reads one snapshot. */
export async function runChecks(
  tx: Tx,
  { day = null, onFinding = () => {} }: RunOptions = {},
): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const check of CHECKS) {
    const finding = await runCheck(tx, check, day);
    onFinding(finding);
    findings.push(finding);
  }
  return findings;
}

/** The results of all checks of one snapshot. */
export interface CheckedBooks {
  /** The time of the snapshot. */
  readAt: string;
  checks: readonly Pick<Finding, 'check' | 'violationCount'>[];
}

export async function checkBooks(tx: Tx, options: RunOptions = {}): Promise<CheckedBooks> {
  const readAt = await readClock(tx);
  return { readAt, checks: await runChecks(tx, options) };
}
