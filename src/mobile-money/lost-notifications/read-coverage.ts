import type { Context } from '../../core/context.ts';
import { coveredUntil, type Known, knownOfProvider, LONGEST_DELAY_MS } from './coverage-rules.ts';
import { findCoverage } from './coverage-store.ts';
import { dateOf, isPulled } from './pull-payments.ts';

/** The time before which all payments of providers are known, and the sources that were ignored. */
export async function readCoverage({
  db,
  clock,
  config,
}: Context): Promise<{ until: Date; ignored: Known[] }> {
  const now = clock.now();
  const { pendingSince, watches, missed, pulls } = await findCoverage(
    db,
    new Date(now.getTime() - LONGEST_DELAY_MS),
  );
  const known = watches.flatMap(({ provider, silent_since: silentSince }) =>
    knownOfProvider(
      {
        provider,
        pulls: pulls
          .filter((pull) => pull.provider === provider && isPulled(config, pull))
          .map(({ shortCode, completeUntil, incompleteSince }) => ({
            shortCode,
            completeUntil: dateOf(completeUntil),
            incompleteSince: incompleteSince.map((time) => new Date(time)),
          })),
        silentSince: dateOf(silentSince),
        missedSince: missed.filter((one) => one.provider === provider).map(({ from }) => new Date(from)),
      },
      now,
    ),
  );
  const pending = pendingSince.map((until) => ({ source: 'pending notifications', until }));
  return coveredUntil([...pending, ...known], now);
}
