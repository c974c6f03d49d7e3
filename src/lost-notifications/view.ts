import { amountOf, type Context, type Currency } from '../core/context.ts';
import { PROVIDERS } from '../payments/providers/registry.ts';
import { findPulls, type PullRow } from './pull-store.ts';
import { countOpenGaps, findLastHeard, findWatches, type GapRow } from './watch-store.ts';

/** The status of every provider, including providers that have never sent a notification. */
export async function readProviderStatus({ db }: Pick<Context, 'db'>) {
  const [watches, pulls, gaps] = await Promise.all([findWatches(db), findPulls(db), countOpenGaps(db)]);
  return Promise.all(
    PROVIDERS.map(async ({ name }) => {
      const watch = watches.find(({ provider }) => provider === name);
      return {
        provider: name,
        lastHeardAt: watch ? await findLastHeard(db, watch) : null,
        silentSince: watch?.silent_since ?? null,
        openBalanceGaps: gaps.get(name) ?? 0,
        pulls: pulls.filter(({ provider }) => provider === name).map(toPull),
      };
    }),
  );
}

function toPull(row: PullRow) {
  const { lost_from: from, lost_until: until } = row;
  return {
    shortCode: row.short_code,
    completeUntil: row.complete_until,
    succeededAt: row.succeeded_at,
    failure: row.failure,
    foundCount: row.found_count,
    lostPeriod: from !== null && until !== null ? { from, until } : null,
  };
}

export function toBalanceGap(row: GapRow, currency: Currency) {
  return {
    id: row.id,
    provider: row.provider,
    shortCode: row.short_code,
    state: row.state,
    from: row.from_time,
    until: row.until_time,
    difference: amountOf(row.difference_minor, currency),
    explained: amountOf(BigInt(row.late_minor) + BigInt(row.found_minor), currency),
    createdAt: row.created_at,
    explainedAt: row.explained_at,
  };
}
