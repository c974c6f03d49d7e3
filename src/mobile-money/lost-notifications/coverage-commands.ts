import type { Context } from '../../core/context.ts';
import { type Coverage, coveredUntil, LONGEST_DELAY_MS } from './coverage-rules.ts';
import { findCoverage } from './coverage-store.ts';
import { isPulled } from './pull-commands.ts';

/** The time before which all payments of providers are known. */
export async function readCoveredUntil({ db, clock, config }: Context): Promise<Date> {
  const now = clock.now();
  const { pendingSince, watches, pulls } = await findCoverage(db, new Date(now.getTime() - LONGEST_DELAY_MS));
  const providers = watches.map(({ provider, silent_since, missed_from: from, missed_until: until }) => {
    const own = pulls.filter(
      (one) => one.provider === provider && isPulled(config, { provider, shortCode: one.shortCode }),
    );
    return {
      pulledUntil: own.flatMap(({ completeUntil }) => dateOf(completeUntil) ?? []),
      incompleteSince: own.flatMap(({ incompleteSince }) => incompleteSince.map((time) => new Date(time))),
      silentSince: dateOf(silent_since),
      missed: from !== null && until !== null ? { from: new Date(from), to: new Date(until) } : null,
    } satisfies Coverage['providers'][number];
  });
  return coveredUntil({ pendingSince: dateOf(pendingSince), providers }, now);
}

function dateOf(time: string | null): Date | null {
  return time === null ? null : new Date(time);
}
