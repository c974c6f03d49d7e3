import type { ProviderLineResult, ProviderStatementStatus } from '../../core/database/tables.ts';
import { AppError } from '../../core/http/errors.ts';

/** The statuses of a statement. For each status: whether a job works on the statement, and the statuses that can follow. */
const STATUSES = {
  received: { hasRunningJob: true, next: ['matching', 'failed'] },
  matching: { hasRunningJob: true, next: ['done', 'failed'] },
  importing: { hasRunningJob: true, next: ['matching', 'failed'] },
  reconciling: { hasRunningJob: true, next: ['done', 'failed'] },
  done: { hasRunningJob: false, next: ['matching', 'importing', 'reconciling'] },
  failed: { hasRunningJob: false, next: ['matching'] },
} as const satisfies Record<
  ProviderStatementStatus,
  { hasRunningJob: boolean; next: readonly ProviderStatementStatus[] }
>;

/** The stages that a user can request. */
export type Stage = (typeof STATUSES)['done']['next'][number];

export const STATEMENT_STATUSES = Object.keys(STATUSES) as ProviderStatementStatus[];

export const STATUSES_WITH_JOB = STATEMENT_STATUSES.filter((status) => STATUSES[status].hasRunningJob);

/** @throws AppError VALIDATION_ERROR for a stage that a user cannot request in this status. */
export function checkStage(from: ProviderStatementStatus, to: Stage): void {
  const { hasRunningJob, next } = STATUSES[from];
  const allowed: readonly ProviderStatementStatus[] = hasRunningJob ? [] : next;
  if (allowed.includes(to)) return;
  const advice = hasRunningJob ? ' Wait until its status is done.' : '';
  throw new AppError('VALIDATION_ERROR', `A statement cannot go from ${from} to ${to}.${advice}`, {
    details: { from, to, allowed: [...allowed] },
  });
}

/** @throws Error for a status change that STATUSES does not allow. */
export function checkStatementMove(from: ProviderStatementStatus, to: ProviderStatementStatus): void {
  const next: readonly ProviderStatementStatus[] = STATUSES[from].next;
  if (!next.includes(to)) throw new Error(`A provider statement cannot go from ${from} to ${to}.`);
}

/** The results of comparing a line with the books. They are set again when the statement is matched again. */
export const COMPARED_RESULTS = [
  'matched',
  'conflict',
  'amount_differs',
  'missing_in_books',
  'reversed_in_books',
  'reversed_at_provider',
  'missing_at_provider',
] as const satisfies readonly ProviderLineResult[];

/** All results. The results that are not in COMPARED_RESULTS depend only on the file. */
export const LINE_RESULTS = [
  ...COMPARED_RESULTS,
  'other',
  'repeated',
  'contradictory',
  'unreadable',
] as const satisfies readonly ProviderLineResult[];

/**
 * The comparisons of a statement's own figures.
 * - paid_in, withdrawn: the sum that the file states, and the sum of its completed lines.
 * - opening_balance, closing_balance: the balance that the file states, and the balance of its first or last line.
 * - lines: the balance after all lines according to their amounts, and according to the last line.
 * - previous_statement: the balance at the end of the statement before this one, and at the start of this one.
 */
export const STATEMENT_CHECKS = [
  'paid_in',
  'withdrawn',
  'opening_balance',
  'closing_balance',
  'lines',
  'previous_statement',
] as const;

interface StatementCheck {
  check: (typeof STATEMENT_CHECKS)[number];
  expectedMinor: number;
  foundMinor: number;
}

interface StatementFigures {
  opening_balance_minor: number | null;
  closing_balance_minor: number | null;
  paid_in_minor: number | null;
  withdrawn_minor: number | null;
  stated_opening_balance_minor: number | null;
  stated_closing_balance_minor: number | null;
  stated_paid_in_minor: number | null;
  stated_withdrawn_minor: number | null;
}

/**
 * Compares the figures of a statement with each other. Leaves out comparisons for which the file has no figures.
 * @param previousClosingMinor - null without an earlier statement.
 */
export function checkFigures(
  figures: StatementFigures,
  previousClosingMinor: number | null,
): StatementCheck[] {
  const { opening_balance_minor: opening, closing_balance_minor: closing } = figures;
  const { paid_in_minor: paidIn, withdrawn_minor: withdrawn } = figures;
  const afterLines =
    opening === null || paidIn === null || withdrawn === null ? null : opening + paidIn - withdrawn;
  const pairs: [StatementCheck['check'], number | null, number | null][] = [
    ['paid_in', figures.stated_paid_in_minor, paidIn],
    ['withdrawn', figures.stated_withdrawn_minor, withdrawn],
    ['opening_balance', figures.stated_opening_balance_minor, opening],
    ['closing_balance', figures.stated_closing_balance_minor, closing],
    ['lines', afterLines, closing],
    ['previous_statement', previousClosingMinor, opening],
  ];
  return pairs.flatMap(([check, expectedMinor, foundMinor]) =>
    expectedMinor === null || foundMinor === null ? [] : [{ check, expectedMinor, foundMinor }],
  );
}
