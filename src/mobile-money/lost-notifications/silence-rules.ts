import type { Period } from './pull-rules.ts';

// Decides when a provider is silent for longer than usual.

const MINUTE_MS = 60_000;
const WEEK_MS = 7 * 24 * 60 * MINUTE_MS;
const WEEKS = 4;
/** At least this many of the four weeks must have been usual (USUAL_COUNT). One may have had a holiday or an outage. */
const USUAL_WEEKS = 3;
/** A week counts as usual if it had at least this many notifications in the same hours. With fewer, a silence can be normal. */
export const USUAL_COUNT = 10;
const SHORTEST_SILENCE_MS = 10 * MINUTE_MS;
/** If a silence is longer, only its first 48 hours are compared with earlier weeks, so that few rows are read. */
const LONGEST_SILENCE_MS = 48 * 60 * MINUTE_MS;

/**
 * The periods to compare with a silence: the same hours on the same weekdays of the four weeks before it.
 * @returns an empty list if the silence is shorter than SHORTEST_SILENCE_MS.
 */
export function usualPeriods(lastHeardAt: Date, now: Date): Period[] {
  const silenceMs = Math.min(now.getTime() - lastHeardAt.getTime(), LONGEST_SILENCE_MS);
  if (silenceMs < SHORTEST_SILENCE_MS) return [];
  return Array.from({ length: WEEKS }, (_, index) => {
    const from = new Date(lastHeardAt.getTime() - (index + 1) * WEEK_MS);
    return { from, to: new Date(from.getTime() + silenceMs) };
  });
}

/**
 * Whether the provider usually reports payments in these periods. False if there is too little history.
 * @param counts - the number of notifications in each period. The caller may stop counting at USUAL_COUNT.
 */
export function isUsuallyHeard(counts: readonly number[]): boolean {
  return counts.filter((count) => count >= USUAL_COUNT).length >= USUAL_WEEKS;
}
