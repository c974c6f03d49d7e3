// Decides which period to ask a provider for, and when.

const MINUTE_MS = 60_000;
/** A pull starts this long before the end of the period that is already pulled: a provider may list a payment late. */
const OVERLAP_MS = 30 * MINUTE_MS;
/** A query that starts exactly where the provider's history starts is too old when it arrives. */
const HISTORY_MARGIN_MS = 5 * MINUTE_MS;
const INTERVAL_MS = 10 * MINUTE_MS;

export interface Period {
  from: Date;
  to: Date;
}

/**
 * The start of the period to pull.
 * @param completeUntil - the end of the pulled period. Null before the first pull.
 * @param importedAt - the end of the last import of a portfolio. The first pull starts there at the earliest, because the import
 *   may contain earlier payments without the ids of the provider.
 * @param historyMs - how far back the provider lists payments.
 * @returns `lost`: the period that was never pulled, and that the provider no longer lists.
 */
export function startOfPull(
  { completeUntil, importedAt }: { completeUntil: Date | null; importedAt: Date | null },
  now: Date,
  historyMs: number,
): { from: Date; lost: Period | null } {
  const oldest = new Date(now.getTime() - historyMs + HISTORY_MARGIN_MS);
  if (completeUntil === null)
    return { from: importedAt && importedAt > oldest ? importedAt : oldest, lost: null };
  if (completeUntil < oldest) return { from: oldest, lost: { from: completeUntil, to: oldest } };
  const from = new Date(Math.min(completeUntil.getTime(), now.getTime()) - OVERLAP_MS);
  return { from: from > oldest ? from : oldest, lost: null };
}

/** When to pull again after a success: at once if the pull has not reached the present. */
export function nextPullAt(completeUntil: Date, now: Date): Date {
  return completeUntil < now ? now : new Date(now.getTime() + INTERVAL_MS);
}
