import { sql } from 'kysely';
import type { Db } from '../../core/database/db.ts';
import { findMissed, findWatches } from './watch-store.ts';

interface PullCoverage {
  provider: string;
  shortCode: string;
  completeUntil: string | null;
  incompleteSince: string[];
}

/**
 * @param since - periods that ended before this time are left out.
 * @returns `pendingSince`: the times of the oldest pending payment before and after `since`.
 */
export async function findCoverage(db: Db, since: Date) {
  const watches = await findWatches(db);
  const missed = await findMissed(db);
  const pulls = await sql<PullCoverage>`
    select provider, short_code as "shortCode", complete_until as "completeUntil", array(
      select from_time from incomplete_pulls i
      where i.provider = p.provider and i.short_code = p.short_code and i.until_time > ${since}::timestamptz
      union all
      select p.lost_from where p.lost_until > ${since}::timestamptz) as "incompleteSince"
    from provider_pulls p`.execute(db);
  // Last, because a pull stores a payment that it cannot post before it records its progress. Materialized, and with a literal status,
  // so that every query plan reads the partial index: for a minimum, PostgreSQL would read all notifications in the order of their arrival.
  const pending = await sql<{ at: string }>`
    with pending as materialized (select received_at, trans_time from notifications where status = 'pending')
    select min(least(received_at, trans_time)) as at from pending
    group by least(received_at, trans_time) > ${since}::timestamptz`.execute(db);
  return { watches, missed, pulls: pulls.rows, pendingSince: pending.rows.map(({ at }) => new Date(at)) };
}
