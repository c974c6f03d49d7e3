import type { ImportStatus } from '../../core/database/tables.ts';
import { AppError } from '../../core/http/errors.ts';

/** The statuses of an import: whether a job works on the import, and the next statuses that a user can request. */
const STATUSES = {
  uploading: { hasRunningJob: false, next: ['checking'] },
  checking: { hasRunningJob: true, next: [] },
  checked: { hasRunningJob: false, next: ['uploading', 'checking', 'running'] },
  running: { hasRunningJob: true, next: [] },
  done: { hasRunningJob: false, next: ['undoing'] },
  failed: { hasRunningJob: false, next: ['uploading', 'checking'] },
  undoing: { hasRunningJob: true, next: [] },
  undone: { hasRunningJob: false, next: [] },
} as const satisfies Record<ImportStatus, { hasRunningJob: boolean; next: readonly ImportStatus[] }>;

export const IMPORT_STATUSES = Object.keys(STATUSES) as ImportStatus[];

/** The statuses in which a job works on an import. */
export type ImportWork = 'checking' | 'running' | 'undoing';

export function hasRunningJob(status: ImportStatus): status is ImportWork {
  return STATUSES[status].hasRunningJob;
}

export const STATUSES_WITH_JOB = IMPORT_STATUSES.filter(hasRunningJob);

/** @throws AppError VALIDATION_ERROR if a user cannot change the import to the status `to`. */
export function checkImportMove(
  { status: from, error_count: errors }: { status: ImportStatus; error_count: number },
  to: ImportWork | 'uploading',
): void {
  const allowed: readonly ImportStatus[] = STATUSES[from].next;
  if (!allowed.includes(to)) {
    const advice = hasRunningJob(from) ? ' Wait until its work is done.' : '';
    throw new AppError('VALIDATION_ERROR', `An import cannot go from ${from} to ${to}.${advice}`, {
      details: { from, to, allowed: [...allowed] },
    });
  }
  if (to === 'running' && errors > 0) {
    throw new AppError(
      'VALIDATION_ERROR',
      `The files have ${errors} errors. Correct them, upload the files again, and check the import again.`,
    );
  }
}
