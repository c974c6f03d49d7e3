import type pg from 'pg';
import type { Clock } from './dates.ts';

/** A clock that a test has moved. It runs on at the speed of real time. */
export interface TestClock extends Clock {
  /** How far it is ahead of real time; negative when it is behind, 0 when nobody has moved it. */
  offsetMs(): number;
}

/**
 * Makes `business_now()`, by which PostgreSQL dates what it writes, follow a test's clock on each connection that a pool
 * hands out. A connection is told only when the clock was moved since it was told last.
 */
export function followClock(pool: pg.Pool, clock: TestClock): void {
  const told = new WeakMap<pg.PoolClient, number>();
  pool.on('acquire', (client) => {
    const offsetMs = clock.offsetMs();
    if ((told.get(client) ?? 0) === offsetMs) return;
    told.set(client, offsetMs);
    client
      .query(`select set_config('ams.clock_offset', $1, false)`, [`${offsetMs} milliseconds`])
      .catch(() => told.delete(client)); // the connection is lost, as whoever has asked for it will hear
  });
}
