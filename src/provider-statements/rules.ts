import type { ProviderLineResult, ProviderStatementStatus } from '../core/database/tables.ts';
import { AppError } from '../core/http/errors.ts';

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
