/** An event that waits to be sent, or is being sent. */
export interface BacklogEvent {
  id: number;
  /** Events with the same key are sent one after the other, if the endpoint wants them in order. */
  orderKey: string;
}

export interface Item<E extends BacklogEvent> {
  event: E;
  /** Failed attempts so far. */
  attempts: number;
  firstAttemptAt: string | null;
  /**
   * The version of the row of the event in webhook_retries. Undefined without a row: the cursor can pass only an event with a row
   * (see `cursorAfter`).
   */
  storedVersion: string | undefined;
  state: 'ready' | 'running' | 'delivered' | 'failed' | 'deferred';
  startedAt: Date | undefined;
  /** Whether a user has asked for the event again since its request started. */
  isRepeated: boolean;
}

/** A running request holds back the cursor for at most this time. */
const MAX_CURSOR_WAIT_MS = 1_000;

/**
 * The events that one instance has read for an endpoint, but whose outcome is not saved yet. The backlog decides which events can
 * be sent, and up to which id all events are done.
 */
export class Backlog<E extends BacklogEvent> {
  /** By the id of the event, in the order in which they were added. */
  readonly #items = new Map<number, Item<E>>();
  /** Events to send again as soon as the outcome of the request before is saved, by id. */
  readonly #again = new Map<number, Item<E>>();
  /** The order keys of events in webhook_retries. */
  #blockedKeys: ReadonlySet<string> = new Set();
  /** The feed was read up to this event. */
  position: number;

  constructor(position: number) {
    this.position = position;
  }

  addEvents(events: readonly E[], readTo: number): void {
    for (const event of events) this.#add({ ...NEW, event, storedVersion: undefined });
    this.position = readTo;
  }

  addRetries(
    retries: readonly Pick<Item<E>, 'event' | 'attempts' | 'firstAttemptAt' | 'storedVersion'>[],
  ): void {
    for (const retry of retries) this.#add({ ...NEW, ...retry });
  }

  /** Ignores an event that the backlog already has, unless it must be sent again. */
  #add(item: Item<E>): void {
    const known = this.#items.get(item.event.id);
    if (!known) this.#items.set(item.event.id, item);
    else if (known.isRepeated) this.#again.set(item.event.id, item);
  }

  /**
   * Continues to read the feed after `position`. Forgets the events that are ready to be sent. Later events whose requests have
   * started are sent again when they are read again.
   */
  moveTo(position: number): void {
    this.#again.clear();
    for (const item of this.#items.values()) {
      if (item.state === 'ready') this.#items.delete(item.event.id);
      else item.isRepeated = item.event.id > position;
    }
    this.position = position;
  }

  /** Forgets the events of webhook_retries that are ready to be sent. Call it when a user has reset the rows of this table. */
  forgetRetries(): void {
    for (const item of this.all('ready')) if (isStored(item)) this.#items.delete(item.event.id);
  }

  /** Forgets the events that are ready to be sent, and that the endpoint does not get any more. */
  forgetUnless(isWanted: (event: E) => boolean): void {
    for (const item of this.all('ready')) if (!isWanted(item.event)) this.#items.delete(item.event.id);
    for (const [id, { event }] of this.#again) if (!isWanted(event)) this.#again.delete(id);
  }

  /** @param keys - the order keys of the events in webhook_retries, for an endpoint that wants events in order. */
  block(keys: ReadonlySet<string>): void {
    this.#blockedKeys = keys;
  }

  all(state: Item<E>['state']): Item<E>[] {
    return [...this.#items.values()].filter((item) => item.state === state);
  }

  count(state: Item<E>['state']): number {
    return this.all(state).length;
  }

  /** Ids of all events of the backlog. */
  ids(): number[] {
    return [...this.#items.keys()];
  }

  /**
   * Starts events in the free slots. Events of webhook_retries are first, but get at most half of the slots if new events wait.
   *
   * @param inOrder - whether the endpoint wants events in order. If true, an event waits while another event with its key is
   * being sent. New events with a blocked key become `deferred`. The next save moves them to webhook_retries.
   */
  start(slots: number, inOrder: boolean, now: Date): Item<E>[] {
    const busyKeys = new Set(
      [...this.all('running'), ...this.all('failed'), ...this.all('deferred')].map(
        ({ event }) => event.orderKey,
      ),
    );
    const started: Item<E>[] = [];
    const startSome = (candidates: Item<E>[], most: number) => {
      let free = Math.min(most, slots - this.count('running'));
      for (const item of candidates) {
        const { orderKey } = item.event;
        if (inOrder && !isStored(item) && this.#blockedKeys.has(orderKey)) {
          item.state = 'deferred';
        } else if (free > 0 && !(inOrder && busyKeys.has(orderKey))) {
          Object.assign(item, { state: 'running', startedAt: now });
          started.push(item);
          free -= 1;
        }
        // Later events of the key wait for this event, even if it has not started.
        busyKeys.add(orderKey);
      }
    };
    const ready = this.all('ready');
    const events = ready.filter((item) => !isStored(item));
    const retrySlots = events.length > 0 ? Math.ceil(slots / 2) : slots;
    startSome(ready.filter(isStored), retrySlots);
    startSome(events, slots);
    return started;
  }

  /**
   * Events that are being sent and must be stored as retries, because they have held back the cursor for too long.
   * @param all - true for the last save, which stores every event that is being sent.
   */
  runningToStore(now: Date, all: boolean): Item<E>[] {
    const isLate = (item: Item<E>) =>
      !isStored(item) && now.getTime() - (item.startedAt?.getTime() ?? 0) > MAX_CURSOR_WAIT_MS;
    return this.all('running').filter((item) => all || isLate(item));
  }

  /** The cursor after the save of `saved`. Every event up to the cursor needs no more attempts, or is in webhook_retries. */
  cursorAfter(saved: ReadonlySet<Item<E>>): number {
    const held = [...this.#items.values(), ...this.#again.values()];
    const open = held.filter((item) => !isStored(item) && !saved.has(item));
    return open.reduce((cursor, { event }) => Math.min(cursor, event.id - 1), this.position);
  }

  /**
   * Records what was saved.
   * @param ended - events that need no more attempts, or whose next attempt is in webhook_retries. They are forgotten.
   * @param stored - events that are now in webhook_retries, and whose requests may still be running.
   * @param versions - the versions of the rows by event id.
   */
  recordSaved(
    ended: Iterable<Item<E>>,
    stored: Iterable<Item<E>>,
    versions: ReadonlyMap<number, string>,
  ): void {
    for (const { event } of ended) {
      const again = this.#again.get(event.id);
      this.#again.delete(event.id);
      if (again) this.#items.set(event.id, { ...again, storedVersion: versions.get(event.id) });
      else this.#items.delete(event.id);
    }
    for (const item of stored) item.storedVersion = versions.get(item.event.id);
  }
}

function isStored({ storedVersion }: { storedVersion: string | undefined }): boolean {
  return storedVersion !== undefined;
}

const NEW = {
  attempts: 0,
  firstAttemptAt: null,
  state: 'ready',
  startedAt: undefined,
  isRepeated: false,
} as const;
