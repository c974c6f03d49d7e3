import { sqlState } from './postgres-errors.ts';

/** Long enough that the minute jobs, which also write, report a disk that stays full. */
const REMEMBERED_MS = 2 * 60_000;
/** The disk is full, or the server is read-only. Some hosted databases become read-only when their disk is full. */
const REFUSED_STATES = new Set(['53100', '25006']);

/** Knows from failed statements whether PostgreSQL refuses writes. Its reads can still work, so a probe would not notice it. */
export interface RefusedWrites {
  /** Must be called for each failed statement. Logs the first write of a series that PostgreSQL refuses. */
  note(error: unknown): void;
  /** Whether PostgreSQL has refused a write in the last two minutes. */
  isRecent(): boolean;
}

export function createRefusedWrites(log: { error(fields: object, message: string): void }): RefusedWrites {
  let refusedAtMs = Number.NEGATIVE_INFINITY;
  const isRecent = () => performance.now() - refusedAtMs < REMEMBERED_MS;
  return {
    note(error) {
      if (!REFUSED_STATES.has(sqlState(error) ?? '')) return;
      if (!isRecent())
        log.error(
          { reason: (error as Error).message },
          'PostgreSQL refuses writes, and no payment can be stored. If its disk is full, free some space',
        );
      refusedAtMs = performance.now();
    },
    isRecent,
  };
}
