import type pg from 'pg';
import type { Clock } from '../values/dates.ts';

/** A clock that a test can move. It runs at the speed of real time. */
export interface TestClock extends Clock {
  /** How far the clock is ahead of real time. Negative if it is behind. */
  offsetMs(): number;
}

/**
 * Makes `business_now()` follow a test clock on every connection of a pool. Sends the offset to a connection only when the offset
 * has changed.
 */
export function followClock(pool: pg.Pool, clock: TestClock): void {
  const offsets = new WeakMap<pg.PoolClient, number>();
  pool.on('acquire', (client) => {
    const offsetMs = clock.offsetMs();
    if ((offsets.get(client) ?? 0) === offsetMs) return;
    offsets.set(client, offsetMs);
    client
      .query(`select set_config('ams.clock_offset', $1, false)`, [`${offsetMs} milliseconds`])
      .catch(() => offsets.delete(client)); // If the connection is lost, the caller's next statement fails too.
  });
}
