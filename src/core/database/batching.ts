import { setTimeout as delay } from 'node:timers/promises';
import { type AppError, unavailable } from '../http/errors.ts';

/**
 * Work that is cheaper together than alone: while some batches are in flight, what comes meanwhile forms the next.
 * There is no timer, so that an idle batcher runs a single item at once.
 */
export interface Batcher<Item, Outcome> {
  /**
   * Resolves with the item's own outcome, whatever became of the others of its batch.
   * @throws AppError 503 when too many wait, when the batcher is closing, or when the item was held for too long.
   */
  submit(item: Item): Promise<Outcome>;
  /** How many items wait or are in flight. */
  size(): number;
  /** Takes no more items and resolves when those that it has are done. */
  close(): Promise<void>;
}

/**
 * What became of one item: its outcome, its own error, or that somebody else holds what it needs, with the error to
 * answer if that lasts.
 */
export type ItemResult<Outcome> = { outcome: Outcome } | { error: unknown } | { held: AppError };

export interface BatcherOptions<Item, Outcome> {
  /** Runs a batch as a whole. @returns the result of each item, in their order. */
  run(items: readonly Item[]): Promise<ItemResult<Outcome>[]>;
  /** Items that share a key run in one batch or one after the other, never in two batches at once. */
  keysOf(item: Item): readonly string[];
  /** Whether a batch that failed has surely changed nothing, so that its items can be run one by one. */
  changedNothing(error: unknown): boolean;
  largestBatch: number;
  mostInFlight: number;
  mostItems: number;
  /** For how long an item that somebody else holds is tried again. */
  patienceMs: number;
}

interface Entry<Item, Outcome> {
  item: Item;
  keys: readonly string[];
  until: number;
  timesHeld: number;
  resolve(outcome: Outcome): void;
  reject(error: unknown): void;
}

const SHORTEST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 50;

export function createBatcher<Item, Outcome>(options: BatcherOptions<Item, Outcome>): Batcher<Item, Outcome> {
  type Queued = Entry<Item, Outcome>;
  const { largestBatch, mostInFlight, mostItems, patienceMs } = options;
  let waiting: Queued[] = [];
  const keysInFlight = new Map<string, number>();
  let batchesInFlight = 0;
  let size = 0;
  let onEmpty: (() => void) | undefined;
  let closing = false;

  function submit(item: Item): Promise<Outcome> {
    if (closing) return Promise.reject(unavailable(new Error('the queue is closing')));
    if (size >= mostItems) return Promise.reject(unavailable(new Error(`${size} items wait`), 1));
    const keys = options.keysOf(item);
    size += 1;
    return new Promise<Outcome>((resolve, reject) => {
      waiting.push({
        item,
        keys,
        until: performance.now() + patienceMs,
        timesHeld: 0,
        resolve,
        reject,
      });
      startBatches();
    });
  }

  function startBatches(): void {
    while (batchesInFlight < mostInFlight && waiting.length > 0) {
      const batch = takeBatch();
      if (batch.length === 0) return; // All that wait share keys with what is in flight.
      batchesInFlight += 1;
      hold(batch, 1);
      void runBatch(batch).finally(() => {
        hold(batch, -1);
        batchesInFlight -= 1;
        startBatches();
      });
    }
  }

  function takeBatch(): Queued[] {
    const batch: Queued[] = [];
    const left: Queued[] = [];
    for (const entry of waiting) {
      const isFree = batch.length < largestBatch && !entry.keys.some((key) => keysInFlight.has(key));
      (isFree ? batch : left).push(entry);
    }
    waiting = left;
    return batch;
  }

  function hold(batch: Queued[], change: 1 | -1): void {
    for (const key of batch.flatMap(({ keys }) => keys)) {
      const count = (keysInFlight.get(key) ?? 0) + change;
      if (count === 0) keysInFlight.delete(key);
      else keysInFlight.set(key, count);
    }
  }

  async function runBatch(batch: Queued[]): Promise<void> {
    const until = Math.max(...batch.map((entry) => entry.until));
    const items = batch.map(({ item }) => item);
    const results = await runIsolated(items, options.run, options.changedNothing, until);
    for (const [at, entry] of batch.entries()) settle(entry, results[at]);
  }

  function settle(entry: Queued, result: ItemResult<Outcome> | undefined): void {
    if (result && 'held' in result) {
      void tryLater(entry, result.held);
      return;
    }
    leave();
    if (result === undefined) entry.reject(new Error('A batch gives a result for each of its items.'));
    else if ('error' in result) entry.reject(result.error);
    else entry.resolve(result.outcome);
  }

  /** The first time it waits for the next batch alone: what held it may have been in the same batch. */
  async function tryLater(entry: Queued, ifItLasts: AppError): Promise<void> {
    if (performance.now() >= entry.until) {
      leave();
      entry.reject(ifItLasts);
      return;
    }
    if (entry.timesHeld > 0) {
      await delay(Math.min(LONGEST_PAUSE_MS, SHORTEST_PAUSE_MS * entry.timesHeld));
    }
    entry.timesHeld += 1;
    waiting.unshift(entry);
    startBatches();
  }

  function leave(): void {
    size -= 1;
    if (size === 0) onEmpty?.();
  }

  async function close(): Promise<void> {
    closing = true;
    if (size > 0) await new Promise<void>((resolve) => (onEmpty = resolve));
  }

  return { submit, size: () => size, close };
}

/**
 * Runs items as one batch, and one by one where the batch failed without a trace, so that the item that made it fail
 * fails alone.
 *
 * @param until the moment (of `performance.now`) after which no further item is tried alone.
 */
export async function runIsolated<Item, Outcome>(
  items: readonly Item[],
  run: (items: readonly Item[]) => Promise<ItemResult<Outcome>[]>,
  changedNothing: (error: unknown) => boolean,
  until = Number.POSITIVE_INFINITY,
): Promise<ItemResult<Outcome>[]> {
  try {
    return await run(items);
  } catch (error) {
    if (items.length < 2 || !changedNothing(error)) return items.map(() => ({ error }));
    const results: ItemResult<Outcome>[] = [];
    for (const item of items) {
      const isInTime = performance.now() < until;
      results.push(...(isInTime ? await runIsolated([item], run, changedNothing) : [{ error }]));
    }
    return results;
  }
}
