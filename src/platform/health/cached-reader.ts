import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from '../../core/database/db.ts';
import { withTimeout } from '../../core/database/transactions.ts';

const MAX_AGE_MS = 10_000;
const TIMEOUT_MS = 1_000;

/**
 * Reads a figure for /health or /metrics, once for all requests within ten seconds.
 * @returns undefined if the read fails or takes longer than a second, because the other figures must be shown while the database
 *   is slow. The state of the database in /health gives the reason.
 */
export function createCachedReader<T>(db: Db, read: (db: Db) => Promise<T>): () => Promise<T | undefined> {
  let reading: Promise<T | undefined> | undefined;
  let readAtMs = 0;
  return () => {
    if (!reading || Date.now() - readAtMs > MAX_AGE_MS) {
      readAtMs = Date.now();
      const result = withTimeout(db, TIMEOUT_MS, read).catch(() => undefined);
      reading = Promise.race([result, sleep(TIMEOUT_MS, undefined, { ref: false })]);
    }
    return reading;
  };
}
