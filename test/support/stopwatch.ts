import type { Stopwatch } from '../../src/core/values/dates.ts';

/** Runs like the stopwatch of a service, until a test stops it or moves it forward. */
export interface TestStopwatch extends Stopwatch {
  /** From now on, time passes only by `advance`. So what is cached stays cached, however slow the machine is. */
  stop(): void;
  advance(ms: number): void;
}

export function createTestStopwatch(): TestStopwatch {
  let advancedMs = 0;
  let stoppedMs: number | undefined;
  return {
    now: () => (stoppedMs ?? performance.now()) + advancedMs,
    stop: () => {
      stoppedMs ??= performance.now();
    },
    advance: (ms) => {
      advancedMs += ms;
    },
  };
}
