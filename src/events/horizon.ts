import type { Db } from '../core/database/db.ts';
import { advance, NO_HORIZON } from './rules.ts';
import { readSample } from './store.ts';

/** Up to which id the feed is complete, for all readers of an instance. */
export interface HorizonReader {
  /**
   * Samples the database now, once for all callers at the same time.
   * @returns the id of the horizon, and the last id that was taken.
   */
  read(): Promise<{ id: number; lastId: number }>;
}

export function createHorizonReader(db: Db): HorizonReader {
  let horizon = NO_HORIZON;
  /** The sample that is being taken. A caller may have committed an event after it, and so waits for the next one. */
  let running: Promise<unknown> = Promise.resolve();
  let next: Promise<{ id: number; lastId: number }> | undefined;

  async function sample() {
    const taken = await readSample(db);
    horizon = advance(horizon, taken);
    return { id: horizon.id, lastId: taken.lastId };
  }

  function read() {
    next ??= running.then(() => {
      next = undefined;
      const sampled = sample();
      running = sampled.catch(() => {}); // Its callers get the error.
      return sampled;
    });
    return next;
  }

  return { read };
}
