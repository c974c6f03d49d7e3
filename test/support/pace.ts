import { sql } from 'kysely';
import type { TestService } from './harness.ts';

/**
 * Runs a trivial query again and again, until `stop` returns the longest time that one took: what a busy machine now adds to each step of
 * the service. Tests of durations allow for it.
 */
export function measurePace({ context }: TestService): { stop(): Promise<number> } {
  let isMeasuring = true;
  const measured = (async () => {
    let slowestMs = 0;
    while (isMeasuring) {
      const start = performance.now();
      await sql`select 1`.execute(context.db);
      slowestMs = Math.max(slowestMs, performance.now() - start);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    return slowestMs;
  })();
  return {
    stop() {
      isMeasuring = false;
      return measured;
    },
  };
}
