import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { multiplyTimeLimits, type TimeLimits } from '../../src/core/time-limits.ts';

/**
 * Tests must pass on a machine that is busy, or stopped for seconds. So the service gives up a hundred times later than usual. A
 * test of a time limit sets this limit itself.
 */
export const PATIENCE = '100';
export const PATIENT: TimeLimits = multiplyTimeLimits(Number(PATIENCE));

/** The longest wait, in time during which this process ran. */
const LONGEST_WAIT_MS = 120_000;
const SHORTEST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 50;
/** A turn counts at most this much, because a process that was stopped for seconds has not waited for anything. */
const LONGEST_TURN_MS = 200;

/** Repeats the work until it throws no error. @returns its result. @throws the last error, if it never stops failing. */
export async function untilPasses<T>(work: () => T | Promise<T>): Promise<T> {
  let waitedMs = 0;
  for (let pauseMs = SHORTEST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 1.5, LONGEST_PAUSE_MS)) {
    const begunMs = performance.now();
    try {
      return await work();
    } catch (error) {
      if (waitedMs >= LONGEST_WAIT_MS) throw afterWaiting(error);
    }
    await sleep(pauseMs);
    waitedMs += Math.min(performance.now() - begunMs, LONGEST_TURN_MS);
  }
}

function afterWaiting(error: unknown): unknown {
  if (error instanceof Error)
    error.message = `${error.message}\n(after waiting for ${LONGEST_WAIT_MS / 1000} s)`;
  return error;
}

/** Waits until the condition holds. @param what - completes the sentence "Waited for …" of the failure. */
export async function until(
  what: string | (() => string),
  isSo: () => boolean | Promise<boolean>,
): Promise<void> {
  await untilPasses(async () => {
    if (!(await isSo())) throw new Error(`Waited for ${typeof what === 'string' ? what : what()}`);
  });
}

type Matchers = ReturnType<typeof expect<unknown>>;
type Waiting<M> = {
  [Name in keyof M]: M[Name] extends (...given: infer Given) => unknown
    ? (...given: Given) => Promise<void>
    : M[Name];
};
type Eventually = Waiting<Matchers> & { not: Waiting<Matchers> };

/** Like `expect`, for a value that is read again until the matcher passes: `await eventually(() => count()).toBe(2)`. */
export function eventually(read: () => unknown): Eventually {
  return waiting(read, (value) => expect(value));
}

function waiting(read: () => unknown, assertionsOf: (value: unknown) => Matchers): Eventually {
  return new Proxy({} as Eventually, {
    get(_target, name: keyof Matchers) {
      if (name === 'not') return waiting(read, (value) => assertionsOf(value).not);
      return (...given: unknown[]) =>
        untilPasses(async () => {
          const assertions = assertionsOf(await read());
          (assertions[name] as (...values: unknown[]) => void).apply(assertions, given);
        });
    },
  });
}
