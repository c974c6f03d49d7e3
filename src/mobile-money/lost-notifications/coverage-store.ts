import { sql } from 'kysely';
import type { Db } from '../../core/database/db.ts';
import { findWatches } from './watch-store.ts';

interface PullCoverage {
  provider: string;
  shortCode: string;
  completeUntil: string | null;
  incompleteSince: string[];
}

/** @param since - periods that ended before this time are left out. */
export async function findCoverage(db: Db, since: Date) {
  const [watches, pulls, pending] = await Promise.all([
    findWatches(db),
    sql<PullCoverage>`
      select provider, short_code as "shortCode", complete_until as "completeUntil", array(
        select from_time from incomplete_pulls i
        where i.provider = p.provider and i.short_code = p.short_code and i.until_time > ${since}::timestamptz
        union all
        select p.lost_from where p.lost_until > ${since}::timestamptz) as "incompleteSince"
      from provider_pulls p`.execute(db),
    // A literal status, so that every query plan can use the partial index.
    sql<{
      at: string | null;
    }>`select min(received_at) as at from notifications where status = 'pending'`.execute(db),
  ]);
  return { watches, pulls: pulls.rows, pendingSince: pending.rows[0]?.at ?? null };
}
