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
    now: () => (stoppedMs ?? wholeMs()) + advancedMs,
    stop: () => {
      stoppedMs ??= wholeMs();
    },
    advance: (ms) => {
      advancedMs += ms;
    },
  };
}

/** Whole numbers add up exactly. With fractions, a limit and the time at which it is reached could differ by a rounding. */
function wholeMs(): number {
  return Math.floor(performance.now());
}
