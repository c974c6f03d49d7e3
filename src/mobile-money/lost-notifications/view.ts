import { amountOf, type Context, type Currency } from '../../core/context.ts';
import type { Db } from '../../core/database/db.ts';
import type { Row } from '../../core/database/tables.ts';
import { PROVIDERS } from '../providers/registry.ts';
import { findIncompletePulls, findPulls, type PullRow } from './pull-store.ts';
import { countOpenGaps, findLastHeard, findWatches, type GapRow } from './watch-store.ts';

const MAX_INCOMPLETE_PERIODS = 100;

/** The status of every provider, including providers that have never sent a notification. */
export async function readProviderStatus({ db }: Pick<Context, 'db'>) {
  const [heard, pulls, incomplete, gaps] = await Promise.all([
    readLastHeard(db),
    findPulls(db),
    findIncompletePulls(db, MAX_INCOMPLETE_PERIODS),
    countOpenGaps(db),
  ]);
  return heard.map((one) => ({
    ...one,
    openBalanceGaps: gaps.get(one.provider) ?? 0,
    pulls: pulls.filter(({ provider }) => provider === one.provider).map((row) => toPull(row, incomplete)),
  }));
}

/** When the service last received a notification of each provider. Null for a provider that has never sent one. */
export async function readLastHeard(db: Db) {
  const watches = await findWatches(db);
  return Promise.all(
    PROVIDERS.map(async ({ name }) => {
      const watch = watches.find(({ provider }) => provider === name);
      return {
        provider: name,
        lastHeardAt: watch ? await findLastHeard(db, watch) : null,
        silentSince: watch?.silent_since ?? null,
      };
    }),
  );
}

function toPull(row: PullRow, incomplete: readonly Row<'incomplete_pulls'>[]) {
  const { lost_from: from, lost_until: until } = row;
  return {
    shortCode: row.short_code,
    completeUntil: row.complete_until,
    succeededAt: row.succeeded_at,
    failure: row.failure,
    foundCount: row.found_count,
    lostPeriod: from !== null && until !== null ? { from, until } : null,
    incompletePeriods: incomplete
      .filter((one) => one.provider === row.provider && one.short_code === row.short_code)
      .map(({ from_time, until_time, reason }) => ({ from: from_time, until: until_time, reason })),
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
