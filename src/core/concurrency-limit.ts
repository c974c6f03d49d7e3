import { type AppError, busy, busyByCaller } from './http/errors.ts';

/** A few slots for slow work. A caller has at most one slot, and waiting callers take turns. */
export interface ConcurrencyLimit {
  /**
   * Waits for a slot. Call the returned function to release the slot.
   * @param caller - see `callerOf` in http/access.ts.
   * @throws AppError 429 if the caller has reached `maxPerCaller`, or if the caller's earlier work still has a slot after
   * `waitMs`. AppError 503 if `maxWaiting` is reached, or if the caller gets no slot within `waitMs` for another reason.
   */
  enter(caller: string): Promise<() => void>;
  /** Refuses all waiting work. */
  close(): void;
}

interface SlotOptions {
  /** The work that the slots are for, as a plural noun such as `exports`. */
  what: string;
  slots: number;
  /** How many pieces of work one caller can have, running and waiting together. */
  maxPerCaller: number;
  /** How many pieces of work of all callers together can wait. */
  maxWaiting: number;
  waitMs: number;
}

const RETRY_AFTER_SECONDS = 5;

interface Waiter {
  start(): void;
  refuse(): void;
}

export function createConcurrencyLimit({
  what,
  slots,
  maxPerCaller,
  maxWaiting,
  waitMs,
}: SlotOptions): ConcurrencyLimit {
  /** The callers that have a slot. */
  const running = new Set<string>();
  /** Waiting work by caller. The caller with the next turn is first. */
  const waiting = new Map<string, Waiter[]>();

  async function enter(caller: string): Promise<() => void> {
    const own = (waiting.get(caller)?.length ?? 0) + (running.has(caller) ? 1 : 0);
    if (own >= maxPerCaller) {
      throw busyByCaller(`You already have ${own} ${what} in progress or waiting.`, RETRY_AFTER_SECONDS);
    }
    if (running.has(caller) || running.size >= slots) await waitForTurn(caller);
    else running.add(caller);
    let hasLeft = false;
    return () => {
      if (hasLeft) return;
      hasLeft = true;
      running.delete(caller);
      startNext();
    };
  }

  function waitForTurn(caller: string): Promise<void> {
    const all = [...waiting.values()].reduce((sum, { length }) => sum + length, 0);
    if (all >= maxWaiting) throw slotsBusy();
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
    const remaining = waiting.get(caller)?.filter((other) => other !== waiter) ?? [];
    if (remaining.length > 0) waiting.set(caller, remaining);
    else waiting.delete(caller);
  }

  function startNext(): void {
    for (const [caller, [next, ...others]] of waiting) {
      if (running.size >= slots) return;
      if (!next || running.has(caller)) continue;
      // If the caller has more waiting work, move the caller to the end of the queue.
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
