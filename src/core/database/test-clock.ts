import type pg from 'pg';
import type { Clock } from '../values/dates.ts';

/** A clock that a test can move. It continues at the speed of real time. */
export interface TestClock extends Clock {
  /** How far it is ahead of real time; negative when it is behind, 0 when nobody has moved it. */
  offsetMs(): number;
}

/**
 * Makes `business_now()`, which dates rows, follow a test clock on every connection that a pool hands out. The offset is
 * sent only when it differs from what the connection has.
 */
export function followClock(pool: pg.Pool, clock: TestClock): void {
  const offsets = new WeakMap<pg.PoolClient, number>();
  pool.on('acquire', (client) => {
    const offsetMs = clock.offsetMs();
    if ((offsets.get(client) ?? 0) === offsetMs) return;
    offsets.set(client, offsetMs);
    client
      .query(`select set_config('ams.clock_offset', $1, false)`, [`${offsetMs} milliseconds`])
      .catch(() => offsets.delete(client)); // a lost connection fails the caller's own statement, too
  });
}
