import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from '../../core/database/db.ts';
import { databaseOf, withTimeout } from '../../core/database/transactions.ts';

const MAX_AGE_MS = 10_000;

/**
 * Reads a figure for /health or /metrics, once for all requests within ten seconds.
 * @returns undefined if the read fails or takes longer than `figureMs`. It does not throw, so that the other figures can still be
 *   shown. The database state in /health explains a missing figure.
 */
export function createCachedReader<T>(db: Db, read: (db: Db) => Promise<T>): () => Promise<T | undefined> {
  const { figureMs } = databaseOf(db).limits;
  let reading: Promise<T | undefined> | undefined;
  let readAtMs = 0;
  return () => {
    if (!reading || Date.now() - readAtMs > MAX_AGE_MS) {
      readAtMs = Date.now();
      const result = withTimeout(db, figureMs, read).catch(() => undefined);
      reading = Promise.race([result, sleep(figureMs, undefined, { ref: false })]);
    }
    return reading;
  };
}
