import type { Period } from './pull-rules.ts';

// Decides up to which time the payments of providers are known. Whoever paid before an outage ended must not be suspended because the
// payment is not posted yet.

const HOUR_MS = 3_600_000;
/** How long a provider may take to deliver what it could not deliver. watch-store.ts has the same time in SQL. */
const BACKLOG_MS = 24 * HOUR_MS;
/** The longest delay. Without it, one notification that cannot be posted would end all suspensions. */
export const LONGEST_DELAY_MS = 7 * 24 * HOUR_MS;

export interface Coverage {
  /** When the oldest notification that is stored and not posted arrived. */
  pendingSince: Date | null;
  providers: {
    /** The ends of the pulled periods, by short code. Empty if nothing is pulled, or if no pull has succeeded yet. */
    pulledUntil: Date[];
    /** The starts of periods whose payments were not or not completely listed. Periods that ended more than LONGEST_DELAY_MS ago are left out. */
    incompleteSince: Date[];
    silentSince: Date | null;
    /** The last period in which notifications were missed. */
    missed: Period | null;
  }[];
}

/** The time before which all payments are known, as far as the service can know. At most a week ago. */
export function coveredUntil({ pendingSince, providers }: Coverage, now: Date): Date {
  const times = [
    pendingSince,
    ...providers.flatMap(({ pulledUntil, incompleteSince, silentSince, missed }) => {
      // What a pull has read is known, whether or not the provider reported it.
      if (pulledUntil.length > 0) return [...pulledUntil, ...incompleteSince];
      const isExpected = missed !== null && now.getTime() - missed.to.getTime() < BACKLOG_MS;
      return [silentSince, isExpected ? missed.from : null];
    }),
  ].flatMap((time) => (time === null ? [] : [time.getTime()]));
  const earliest = now.getTime() - LONGEST_DELAY_MS;
  return new Date(Math.max(earliest, Math.min(now.getTime(), ...times)));
}
