// Decides until which time all payments of providers are known. A customer whose payment is not posted yet because of an outage must
// not be suspended.

/**
 * The longest delay. Otherwise a notification that can never be posted, a pull that always fails, or a provider that is no longer used
 * would delay suspensions for ever.
 */
export const LONGEST_DELAY_MS = 7 * 24 * 3_600_000;

/** The time until which payments are known as far as this source is concerned. */
export interface Known {
  source: string;
  until: Date;
}

export interface ProviderCoverage {
  provider: string;
  pulls: {
    shortCode: string;
    /** Null if no pull has succeeded yet. */
    completeUntil: Date | null;
    /** The starts of periods whose payments were not or not completely listed. */
    incompleteSince: Date[];
  }[];
  silentSince: Date | null;
  /** The starts of periods in which notifications were missed, and may still arrive. */
  missedSince: Date[];
}

export function knownOfProvider(
  { provider, pulls, silentSince, missedSince }: ProviderCoverage,
  now: Date,
): Known[] {
  const known = pulls.flatMap(({ shortCode, completeUntil, incompleteSince }) => [
    ...(completeUntil ? [{ source: `pulls of ${provider} ${shortCode}`, until: completeUntil }] : []),
    ...incompleteSince.map((until) => ({ source: `incomplete lists of ${provider} ${shortCode}`, until })),
  ]);
  // What a pull has read completely is known, whether or not the provider reported it.
  const isFullyPulled = pulls.every(
    ({ completeUntil, incompleteSince }) =>
      completeUntil !== null && isRecent(completeUntil, now) && incompleteSince.length === 0,
  );
  if (pulls.length > 0 && isFullyPulled) return known;
  const missed = [...(silentSince ? [silentSince] : []), ...missedSince];
  return [...known, ...missed.map((until) => ({ source: `notifications of ${provider}`, until }))];
}

/**
 * The time before which all payments are known, as far as the service can know.
 * @returns `ignored`: sources without news for too long. They delay nothing.
 */
export function coveredUntil(known: readonly Known[], now: Date): { until: Date; ignored: Known[] } {
  const times = known.filter(({ until }) => isRecent(until, now)).map(({ until }) => until.getTime());
  return {
    until: new Date(Math.min(now.getTime(), ...times)),
    ignored: known.filter(({ until }) => !isRecent(until, now)),
  };
}

function isRecent(time: Date, now: Date): boolean {
  return now.getTime() - time.getTime() < LONGEST_DELAY_MS;
}
