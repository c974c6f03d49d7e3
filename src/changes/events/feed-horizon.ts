import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from '../../core/database/db.ts';
import { databaseOf } from '../../core/database/transactions.ts';
import { busy } from '../../core/http/errors.ts';
import { advance, NO_HORIZON } from './rules.ts';
import { readSample } from './store.ts';

const PAUSE_MS = 20;

/** Finds the id up to which the feed is complete, for all readers of an instance. */
export interface HorizonReader {
  /**
   * Takes a sample that begins after the call. Concurrent callers share one sample.
   * @returns the id of the horizon, and the last event id that any transaction has got from the sequence.
   */
  read(): Promise<{ id: number; lastId: number }>;
  /**
   * The id of the horizon, for a reader that wants only new events. Every event that is not visible yet has a higher id. After
   * a start of the service or a checkpoint of PostgreSQL, the horizon is unknown until the transactions that publish events have
   * ended. This function waits for their end.
   * @throws AppError INTERNAL_ERROR (503) if such a transaction takes too long.
   */
  latest(): Promise<number>;
}

export function createHorizonReader(db: Db): HorizonReader {
  let horizon = NO_HORIZON;
  /**
   * The sample that is being taken. A new caller waits for the next sample, because this sample can miss an event that the caller
   * has just committed.
   */
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
      running = sampled.catch(() => {}); // The callers of `read` get the error.
      return sampled;
    });
    return next;
  }

  async function latest(): Promise<number> {
    const endsAt = Date.now() + databaseOf(db).limits.horizonMs;
    for (;;) {
      const { id, lastId } = await read();
      if (id > 0 || lastId === 0) return id;
      if (Date.now() > endsAt) throw busy('A transaction that publishes events has not ended.', 2);
      await sleep(PAUSE_MS);
    }
  }

  return { read, latest };
}
