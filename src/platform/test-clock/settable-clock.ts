import type { TestClock } from '../../core/database/test-clock.ts';

/** A clock that a test can set. It continues from the set time. */
export interface SettableClock extends TestClock {
  /** @param moment the new time; null for real time. */
  set(moment: Date | null): void;
  /** Runs the minute jobs. @throws AppError 503 if one of them fails. */
  catchUp(): Promise<void>;
}

export function createSettableClock(catchUp: () => Promise<void>): SettableClock {
  let offsetMs = 0;
  return {
    now: () => new Date(Date.now() + offsetMs),
    offsetMs: () => offsetMs,
    set: (moment) => {
      offsetMs = moment === null ? 0 : moment.getTime() - Date.now();
    },
    catchUp,
  };
}
