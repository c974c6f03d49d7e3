import { sqlState } from './postgres-errors.ts';

/**
 * For `lock_timeout` of a transaction that changes a table. Requests wait behind a transaction that waits for a lock. This is shorter
 * than deadlock_timeout (1 s): if the transaction and a request wait for each other, the transaction gives up, and PostgreSQL never
 * has to cancel the request.
 */
export const LOCK_TIMEOUT_MS = 500;
/** PostgreSQL's codes for a lock that was not available in time, and for a deadlock. */
const NOT_LOCKED = new Set(['55P03', '40P01']);

/** Whether the work failed because other transactions kept their locks. */
export function isNotLocked(error: unknown): boolean {
  return NOT_LOCKED.has(sqlState(error) ?? '');
}

/**
 * Repeats the work until it gets its locks.
 * @param pause - waits after a failed attempt, counted from 1. It can throw the error to give up.
 */
export async function repeatUntilLocked(
  work: () => Promise<void>,
  pause: (attempt: number, error: unknown) => Promise<void>,
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (!isNotLocked(error)) throw error;
      await pause(attempt, error);
    }
  }
}
