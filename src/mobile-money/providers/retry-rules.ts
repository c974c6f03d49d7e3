const FIRST_PAUSE_MS = 60_000;
const LONGEST_PAUSE_MS = 15 * FIRST_PAUSE_MS;

/** When to call a provider again after a failed call. @param retryAfterSeconds - the wait that the provider asks for. */
export function nextTryAt(failuresInARow: number, retryAfterSeconds: number | null, now: Date): Date {
  const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** (failuresInARow - 1), LONGEST_PAUSE_MS);
  const askedMs = Math.min((retryAfterSeconds ?? 0) * 1_000, LONGEST_PAUSE_MS);
  return new Date(now.getTime() + Math.max(pauseMs, askedMs));
}
