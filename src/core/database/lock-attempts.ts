import { sqlState } from './postgres-errors.ts';

/**
 * The `lock_timeout` of a transaction that alters the definition of a table. While the transaction waits for its lock, requests
 * wait behind it. The time-out is shorter than deadlock_timeout (1 s): if the transaction and a request wait for each other, the
 * transaction fails first, and PostgreSQL never has to cancel the request.
 */
export const LOCK_TIMEOUT_MS = 500;
/** PostgreSQL's codes for a lock that was not available in time, and for a deadlock. */
const NOT_LOCKED = new Set(['55P03', '40P01']);

/** Whether the work failed because other transactions kept their locks. */
export function isLockRefused(error: unknown): boolean {
  return NOT_LOCKED.has(sqlState(error) ?? '');
}

/**
 * Repeats the work until it gets its locks.
 * @param pause - called after each failed attempt. Must wait, or throw the error to give up. The first attempt has the number 1.
 */
export async function retryUntilLockObtained(
  work: () => Promise<void>,
  pause: (attempt: number, error: unknown) => Promise<void>,
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (!isLockRefused(error)) throw error;
      await pause(attempt, error);
    }
  }
}
