import { type AppError, busy, busyByCaller } from './errors.ts';

/**
 * A few slots for work that takes long, shared fairly: each caller has one of them at most, and those that wait take
 * turns by caller, however many of them one caller has.
 */
export interface SharedSlots {
  /**
   * Waits for a slot. The caller gives it back by the function that it gets.
   * @param caller see `callerOf` in gate.ts.
   * @throws AppError 429 where the caller has as many running and waiting as it may, or where its own is still running
   *   when it has waited long enough; 503 where too many others wait or its turn does not come in time.
   */
  enter(caller: string): Promise<() => void>;
  /** Refuses all that wait. */
  close(): void;
}

interface SlotOptions {
  /** What runs in them, in the plural. */
  what: string;
  slots: number;
  /** Running and waiting. */
  mostPerCaller: number;
  /** Of all callers together. */
  mostWaiting: number;
  waitMs: number;
}

const RETRY_AFTER_SECONDS = 5;

interface Waiter {
  start(): void;
  refuse(): void;
}

export function createSharedSlots({
  what,
  slots,
  mostPerCaller,
  mostWaiting,
  waitMs,
}: SlotOptions): SharedSlots {
  /** The callers that have a slot. */
  const running = new Set<string>();
  /** By caller, in the order of their turns. */
  const waiting = new Map<string, Waiter[]>();

  async function enter(caller: string): Promise<() => void> {
    const own = (waiting.get(caller)?.length ?? 0) + (running.has(caller) ? 1 : 0);
    if (own >= mostPerCaller) {
      throw busyByCaller(`You already have ${own} ${what} in progress or waiting.`, RETRY_AFTER_SECONDS);
    }
    if (running.has(caller) || running.size >= slots) await turn(caller);
    else running.add(caller);
    let hasLeft = false;
    return () => {
      if (hasLeft) return;
      hasLeft = true;
      running.delete(caller);
      startNext();
    };
  }

  function turn(caller: string): Promise<void> {
    const all = [...waiting.values()].reduce((sum, { length }) => sum + length, 0);
    if (all >= mostWaiting) throw slotsBusy();
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        remove(caller, waiter);
        waiter.refuse();
      }, waitMs);
      const waiter: Waiter = {
        start() {
          clearTimeout(timer);
          resolve();
        },
        refuse() {
          clearTimeout(timer);
          const earlier = `Your earlier ${what} are still in progress.`;
          reject(running.has(caller) ? busyByCaller(earlier, RETRY_AFTER_SECONDS) : slotsBusy());
        },
      };
      waiting.set(caller, [...(waiting.get(caller) ?? []), waiter]);
    });
  }

  function slotsBusy(): AppError {
    const which = slots === 1 ? `The slot for ${what} is` : `All ${slots} slots for ${what} are`;
    return busy(`${which} busy.`, RETRY_AFTER_SECONDS);
  }

  function remove(caller: string, waiter: Waiter): void {
    const left = waiting.get(caller)?.filter((other) => other !== waiter) ?? [];
    if (left.length > 0) waiting.set(caller, left);
    else waiting.delete(caller);
  }

  function startNext(): void {
    for (const [caller, [next, ...others]] of waiting) {
      if (running.size >= slots) return;
      if (!next || running.has(caller)) continue;
      // The others of this caller come after those of all other callers.
      waiting.delete(caller);
      if (others.length > 0) waiting.set(caller, others);
      running.add(caller);
      next.start();
    }
  }

  function close(): void {
    for (const waiter of [...waiting.values()].flat()) waiter.refuse();
    waiting.clear();
  }

  return { enter, close };
}
