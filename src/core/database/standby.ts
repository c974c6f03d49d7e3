import { sql } from 'kysely';
import type { Db, Tx } from './db.ts';

/**
 * Whether a commit has been waiting for a synchronous standby for more than a second. While a commit waits, its transaction keeps
 * all locks, even if the client has disconnected. With a healthy standby a commit waits for milliseconds.
 */
export async function isStandbyLate(db: Db | Tx): Promise<boolean> {
  const { rows } = await sql`
    select from pg_stat_activity
    where datname = current_database() and wait_event = 'SyncRep'
      and query_start < clock_timestamp() - interval '1 second'
    limit 1`.execute(db);
  return rows.length > 0;
}
