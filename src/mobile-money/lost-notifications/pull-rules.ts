// Decides which period to ask a provider for, and when.

const MINUTE_MS = 60_000;
/** A pull starts this long before the end of the period that is already pulled: a provider may list a payment late. */
const OVERLAP_MS = 30 * MINUTE_MS;
/** A query that starts exactly where the provider's history starts is too old when it arrives. */
const HISTORY_MARGIN_MS = 5 * MINUTE_MS;
const INTERVAL_MS = 10 * MINUTE_MS;
/** An incomplete list is read again for this long. */
const LONGEST_REPEAT_MS = 6 * 60 * MINUTE_MS;

export interface Period {
  from: Date;
  to: Date;
}

/**
 * The start of the period to pull.
 * @param completeUntil - the end of the pulled period. Null before the first pull.
 * @param importedAt - the end of the last import of a portfolio. The import may contain earlier payments without the ids of the
 *   provider. So the first pull starts there at the earliest, and later pulls do not overlap with the time before it.
 * @param historyMs - how far back the provider lists payments.
 * @returns `earliest`: no pull may ask for a time before it. `lost`: the period that was never pulled, and that the provider no
 *   longer lists.
 */
export function startOfPull(
  { completeUntil, importedAt }: { completeUntil: Date | null; importedAt: Date | null },
  now: Date,
  historyMs: number,
): { from: Date; earliest: Date; lost: Period | null } {
  const oldest = new Date(now.getTime() - historyMs + HISTORY_MARGIN_MS);
  if (completeUntil === null) {
    const from = latest(oldest, importedAt ?? oldest);
    return { from, earliest: from, lost: null };
  }
  if (completeUntil < oldest)
    return { from: oldest, earliest: oldest, lost: { from: completeUntil, to: oldest } };
  const imported = importedAt && importedAt < completeUntil ? importedAt : completeUntil;
  const earliest = importedAt ? latest(oldest, imported) : oldest;
  const from = latest(earliest, new Date(Math.min(completeUntil.getTime(), now.getTime()) - OVERLAP_MS));
  return { from, earliest, lost: null };
}

/**
 * Up to when a pull leaves a period whose list is incomplete. Every part of the period is asked for again for 6 hours, and then
 * left: the provider forgets payments after some time, so later payments would be lost if the pull waited longer.
 * @param incompleteSince - since when the list has been incomplete. Null if this is the first time.
 * @returns undefined if the pull must not leave any part of the period yet.
 */
export function leftUntil({ from, to }: Period, incompleteSince: Date | null, now: Date): Date | undefined {
  const until = new Date(Math.min(to.getTime(), now.getTime() - LONGEST_REPEAT_MS));
  if (incompleteSince === null || now.getTime() - incompleteSince.getTime() < LONGEST_REPEAT_MS)
    return undefined;
  return until > from ? until : undefined;
}

/**
 * The part of a period for which an empty list contradicts payments in the books. Near the ends of the period, a payment may be
 * listed late, or its time may be that of another clock.
 * @returns undefined if the period is too short.
 */
export function comparablePart({ from, to }: Period): Period | undefined {
  const part = { from: new Date(from.getTime() + OVERLAP_MS), to: new Date(to.getTime() - OVERLAP_MS) };
  return part.from < part.to ? part : undefined;
}

export function latest(a: Date, b: Date): Date {
  return a > b ? a : b;
}

/** When to pull again after a success: at once if the pull has not reached the present. */
export function nextPullAt(completeUntil: Date, now: Date): Date {
  return completeUntil < now ? now : new Date(now.getTime() + INTERVAL_MS);
}
