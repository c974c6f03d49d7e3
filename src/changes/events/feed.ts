import { setTimeout as delay } from 'node:timers/promises';
import type { Db } from '../../core/database/db.ts';
import type { HorizonReader } from './feed-horizon.ts';
import { type EventPage, type EventRow, findEvents } from './store.ts';

/** Pauses between polls while a reader waits: short after new events, then longer. */
const SHORTEST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 200;
const MAX_EVENTS_PER_READ = 1_000;

export interface FeedPage extends EventPage {
  /** Whether there can be visible events after `toId`. */
  hasMore: boolean;
  /** The highest event id that any transaction has taken from the sequence. */
  lastId: number;
}

interface Arrival {
  events: EventRow[];
  /** `events` contains every new event of the wanted types up to this id. */
  toId: number;
}

/**
 * The events up to the horizon, see rules.ts. While readers wait, one loop in each instance looks for new events and gives them
 * to all readers of the instance. So a waiting reader needs no database connection.
 */
export interface Feed {
  /** The next events after an id, of some types or of all types. Without `after`, starts with the oldest stored event. */
  read(query: {
    after?: number | undefined;
    types?: readonly string[] | undefined;
    limit: number;
  }): Promise<FeedPage>;
  /**
   * Waits for new events. Call it after a page with `hasMore: false`. After the time-out or an abort, `events` is empty: no
   * event between `after` and `toId` has a wanted type.
   */
  wait(after: number, types: readonly string[] | undefined, limits: WaitLimits): Promise<Arrival>;
  /** The `after` for a reader that wants only new events. */
  latest(): Promise<number>;
  isClosed(): boolean;
  /** Ends every wait. */
  close(): void;
}

interface WaitLimits {
  timeoutMs: number;
  /** Aborts when the connection of the reader has closed. */
  signal: AbortSignal;
}

interface Waiter {
  /** The reader has all wanted events up to this id. */
  after: number;
  types: ReadonlySet<string> | undefined;
  finish(arrival: Arrival): void;
  fail(error: unknown): void;
}

export function createFeed(db: Db, horizon: HorizonReader): Feed {
  const waiters = new Set<Waiter>();
  /** The id up to which the loop has given all events to the waiting readers. */
  let readTo = 0;
  let isPolling = false;
  let isClosed = false;

  async function read({ after, types, limit }: Parameters<Feed['read']>[0]): Promise<FeedPage> {
    const { id: upTo, lastId } = await horizon.read();
    const page = await findEvents(db, { after, upTo, types, limit });
    return { ...page, hasMore: page.toId < upTo, lastId };
  }

  function wait(
    after: number,
    types: readonly string[] | undefined,
    { timeoutMs, signal }: WaitLimits,
  ): Promise<Arrival> {
    if (isClosed || signal.aborted) return Promise.resolve({ events: [], toId: after });
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        after,
        types: types && new Set(types),
        finish(arrival) {
          leave();
          resolve(arrival);
        },
        fail(error) {
          leave();
          reject(error);
        },
      };
      const end = () => finishEmpty(waiter);
      const timer = setTimeout(end, timeoutMs);
      const leave = () => {
        waiters.delete(waiter);
        clearTimeout(timer);
        signal.removeEventListener('abort', end);
      };
      signal.addEventListener('abort', end);
      waiters.add(waiter);
      if (isPolling) return;
      readTo = after;
      void poll();
    });
  }

  /** Reads new events while at least one reader waits. */
  async function poll(): Promise<void> {
    isPolling = true;
    let pauseMs = SHORTEST_PAUSE_MS;
    while (waiters.size > 0) {
      await delay(pauseMs, undefined, { ref: false });
      try {
        pauseMs = (await readNew()) ? SHORTEST_PAUSE_MS : Math.min(pauseMs * 1.5, LONGEST_PAUSE_MS);
      } catch (error) {
        for (const waiter of [...waiters]) waiter.fail(error);
      }
    }
    isPolling = false;
  }

  /** @returns whether the horizon has moved. */
  async function readNew(): Promise<boolean> {
    // The loop may have read further than the page of a new reader. Go back to the lowest `after`.
    readTo = Math.min(readTo, ...[...waiters].map(({ after }) => after));
    const { id: upTo } = await horizon.read();
    if (upTo <= readTo) return false;
    const from = readTo;
    const { events, toId } = await findEvents(db, {
      after: from,
      upTo,
      types: undefined,
      limit: MAX_EVENTS_PER_READ,
    });
    readTo = toId;
    for (const waiter of [...waiters]) give(waiter, events, from, toId);
    return true;
  }

  function give(waiter: Waiter, events: EventRow[], from: number, toId: number): void {
    const { after, types } = waiter;
    if (after < from || after >= toId) return; // The reader began to wait during the query, or has already read further.
    const own = events.filter(({ id, type }) => id > after && (!types || types.has(type)));
    waiter.after = toId;
    if (own.length > 0) waiter.finish({ events: own, toId });
  }

  function finishEmpty(waiter: Waiter): void {
    waiter.finish({ events: [], toId: waiter.after });
  }

  function close(): void {
    isClosed = true;
    for (const waiter of [...waiters]) finishEmpty(waiter);
  }

  return { read, wait, latest: horizon.latest, isClosed: () => isClosed, close };
}
