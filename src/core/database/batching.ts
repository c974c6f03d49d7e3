import { setTimeout as delay } from 'node:timers/promises';
import { unavailable } from '../http/errors.ts';
import { addTo } from '../values/counts.ts';
import type { Tx } from './db.ts';
import { inSavepoint } from './transactions.ts';

/**
 * Runs items in batches. If fewer than `maxInFlight` batches are running, and none of them shares a key with a new item, the item
 * runs immediately, without waiting for more items. Otherwise, new items wait and form the next batches.
 */
export interface Batcher<Item, Outcome> {
  /**
   * Resolves with the outcome of the item.
   * @throws AppError 503 if there are `maxItems` items or the batcher is closing. Otherwise the error of the item or its batch.
   */
  submit(item: Item): Promise<Outcome>;
  /** The number of items that wait or are in flight. */
  size(): number;
  /** Refuses new items, and resolves when all accepted items are done. */
  close(): Promise<void>;
}

export type ItemResult<Outcome> = { outcome: Outcome } | { error: unknown };

export interface BatchResults<Item, Outcome> {
  done: ReadonlyMap<Item, ItemResult<Outcome>>;
  /** The items that missed a lock that another transaction holds, with the name of this lock. Nothing was done for them. */
  notNow: ReadonlyMap<Item, string>;
}

export interface BatcherOptions<Item, Outcome> {
  run(items: readonly Item[]): Promise<BatchResults<Item, Outcome>>;
  /** Makes the error of an item that missed a lock for too long. */
  errorOfMissed(item: Item, lock: string): Promise<unknown>;
  /** Items that share a key never run in two batches at once. */
  keysOf(item: Item): readonly string[];
  /** Whether a batch that failed with the error certainly changed nothing. If so, its items run again, one by one. */
  changedNothing(error: unknown): boolean;
  largestBatch: number;
  maxInFlight: number;
  maxItems: number;
  /** How long an item that missed a lock is retried. */
  patienceMs: number;
}

interface Entry<Item, Outcome> {
  item: Item;
  keys: readonly string[];
  /** The time of `performance.now` after which an item that missed a lock is not retried. */
  untilMs: number;
  timesMissed: number;
  resolve(outcome: Outcome): void;
  reject(error: unknown): void;
}

const SHORTEST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 50;

export function createBatcher<Item, Outcome>(options: BatcherOptions<Item, Outcome>): Batcher<Item, Outcome> {
  type Queued = Entry<Item, Outcome>;
  const { largestBatch, maxInFlight, maxItems, patienceMs } = options;
  let waiting: Queued[] = [];
  const keysInFlight = new Map<string, number>();
  let batchesInFlight = 0;
  let size = 0;
  let onEmpty: (() => void) | undefined;
  let isClosing = false;

  function submit(item: Item): Promise<Outcome> {
    if (isClosing) return Promise.reject(unavailable(new Error('the queue is closing')));
    if (size >= maxItems) return Promise.reject(unavailable(new Error(`${size} items are waiting`), 1));
    const keys = options.keysOf(item);
    size += 1;
    return new Promise<Outcome>((resolve, reject) => {
      waiting.push({
        item,
        keys,
        untilMs: performance.now() + patienceMs,
        timesMissed: 0,
        resolve,
        reject,
      });
      startBatches();
    });
  }

  function startBatches(): void {
    while (batchesInFlight < maxInFlight && waiting.length > 0) {
      const batch = takeBatch();
      if (batch.length === 0) return; // All waiting items share keys with batches in flight.
      batchesInFlight += 1;
      countKeys(batch, 1);
      void runBatch(batch).finally(() => {
        countKeys(batch, -1);
        batchesInFlight -= 1;
        startBatches();
      });
    }
  }

  function takeBatch(): Queued[] {
    const batch: Queued[] = [];
    const remaining: Queued[] = [];
    for (const entry of waiting) {
      const isFree = batch.length < largestBatch && !entry.keys.some((key) => keysInFlight.has(key));
      (isFree ? batch : remaining).push(entry);
    }
    waiting = remaining;
    return batch;
  }

  function countKeys(batch: Queued[], change: 1 | -1): void {
    for (const { keys } of batch) {
      for (const key of keys) addTo(keysInFlight, key, change);
    }
  }

  async function runBatch(batch: Queued[]): Promise<void> {
    const untilMs = Math.max(...batch.map((entry) => entry.untilMs));
    const items = batch.map(({ item }) => item);
    const results = await runIsolated(items, runEach, options.changedNothing, untilMs);
    for (const [at, entry] of batch.entries()) finish(entry, results[at]);
  }

  async function runEach(items: readonly Item[]): Promise<(ItemResult<Outcome> | { missed: string })[]> {
    const { done, notNow } = await options.run(items);
    return items.map((item) => {
      const missed = notNow.get(item);
      if (missed !== undefined) return { missed };
      return done.get(item) ?? { error: new Error('An item of the batch has no result.') };
    });
  }

  function finish(entry: Queued, result: ItemResult<Outcome> | { missed: string } | undefined): void {
    if (result && 'missed' in result) {
      void tryLater(entry, result.missed);
      return;
    }
    decreaseSize();
    if (result === undefined) entry.reject(new Error('An item of the batch has no result.'));
    else if ('error' in result) entry.reject(result.error);
    else entry.resolve(result.outcome);
  }

  /** The first retry has no pause, because an item of the same batch may have held the lock until the batch ended. */
  async function tryLater(entry: Queued, missed: string): Promise<void> {
    if (performance.now() >= entry.untilMs) {
      const error = await options.errorOfMissed(entry.item, missed).catch((failure: unknown) => failure);
      decreaseSize();
      entry.reject(error);
      return;
    }
    if (entry.timesMissed > 0) {
      await delay(Math.min(LONGEST_PAUSE_MS, SHORTEST_PAUSE_MS * entry.timesMissed));
    }
    entry.timesMissed += 1;
    if (entry.timesMissed === 1) waiting.unshift(entry);
    else waiting.push(entry); // Items whose locks are held for long do not delay the others.
    startBatches();
  }

  function decreaseSize(): void {
    size -= 1;
    if (size === 0) onEmpty?.();
  }

  async function close(): Promise<void> {
    isClosing = true;
    if (size > 0) await new Promise<void>((resolve) => (onEmpty = resolve));
  }

  return { submit, size: () => size, close };
}

/**
 * Runs items as one batch. If the batch fails and changed nothing, runs the items one by one, so that only the item that caused the
 * error fails.
 *
 * @param untilMs the time of `performance.now` after which the remaining items fail with the error of the batch.
 */
export async function runIsolated<Item, Result>(
  items: readonly Item[],
  run: (items: readonly Item[]) => Promise<Result[]>,
  changedNothing: (error: unknown) => boolean,
  untilMs = Number.POSITIVE_INFINITY,
): Promise<(Result | { error: unknown })[]> {
  try {
    return await run(items);
  } catch (error) {
    if (items.length < 2 || !changedNothing(error)) return items.map(() => ({ error }));
    const results: (Result | { error: unknown })[] = [];
    for (const item of items) {
      const isInTime = performance.now() < untilMs;
      results.push(...(isInTime ? await runIsolated([item], run, changedNothing) : [{ error }]));
    }
    return results;
  }
}

/**
 * Runs all items in one savepoint of the transaction. If an item fails, runs each item again in its own savepoint. An item that
 * fails changes nothing.
 * @param run returns the outcome of each item that it receives. It must reject only after all its statements have been answered.
 * @returns the results in the order of the items.
 */
export async function runInSavepoint<Item, Outcome>(
  tx: Tx,
  items: readonly Item[],
  run: (items: readonly Item[]) => Promise<Outcome[]>,
): Promise<ItemResult<Outcome>[]> {
  if (items.length === 0) return [];
  const runInOneSavepoint = async (some: readonly Item[]) =>
    (await inSavepoint(tx, () => run(some))).map((outcome) => ({ outcome }));
  return runIsolated(items, runInOneSavepoint, () => true);
}

/** Like `Promise.all`, but rejects only after all promises have settled. So a rollback to a savepoint is sent after all statements. */
export async function settleAll<T>(promises: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(promises);
  return Promise.all(promises);
}
