import type { ImportStatus } from '../../core/database/tables.ts';
import { AppError } from '../../core/http/errors.ts';

/** The statuses of an import: whether a job works on the import, and the next statuses that a user may request. */
const STATUSES = {
  uploading: { isAtWork: false, next: ['checking'] },
  checking: { isAtWork: true, next: [] },
  checked: { isAtWork: false, next: ['uploading', 'checking', 'running'] },
  running: { isAtWork: true, next: [] },
  done: { isAtWork: false, next: ['undoing'] },
  failed: { isAtWork: false, next: ['uploading', 'checking'] },
  undoing: { isAtWork: true, next: [] },
  undone: { isAtWork: false, next: [] },
} as const satisfies Record<ImportStatus, { isAtWork: boolean; next: readonly ImportStatus[] }>;

export const IMPORT_STATUSES = Object.keys(STATUSES) as ImportStatus[];

/** The statuses in which a job works on an import. */
export type ImportWork = 'checking' | 'running' | 'undoing';

export function isAtWork(status: ImportStatus): status is ImportWork {
  return STATUSES[status].isAtWork;
}

export const AT_WORK = IMPORT_STATUSES.filter(isAtWork);

/** @throws AppError VALIDATION_ERROR for a status to which a user cannot change the import. */
export function checkImportMove(
  { status: from, error_count: errors }: { status: ImportStatus; error_count: number },
  to: ImportWork | 'uploading',
): void {
  const allowed: readonly ImportStatus[] = STATUSES[from].next;
  if (!allowed.includes(to)) {
    const advice = isAtWork(from) ? ' Wait until its work is done.' : '';
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
