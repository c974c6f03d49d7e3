import { sql } from 'kysely';
import type { Db } from '../../core/database/db.ts';

/** The limit of each count, so that counting a long worklist takes only a few milliseconds. */
export const MAX_COUNTED = 10_000;

/**
 * Rows that wait for the service or for staff. Partial indexes find these rows. The table of provider statements is short and
 * needs no such index.
 */
const WAITING = {
  unmatched_payments: sql`payments where status = 'unmatched'`,
  pending_notifications: sql`notifications where status = 'pending'`,
  conflicts: sql`notifications where outcome = 'conflict'`,
  differing_notifications: sql`notifications where outcome = 'differs'`,
  rejected_notifications: sql`notifications where status = 'rejected'`,
  failed_provider_statements: sql`provider_statements where status = 'failed'`,
};

export interface Waiting {
  /** At most MAX_COUNTED each. */
  counts: Record<keyof typeof WAITING, number>;
  /** 0 without a pending notification. */
  oldestPendingSeconds: number;
}

export async function readWaiting(db: Db): Promise<Waiting> {
  const counts = Object.entries(WAITING).map(
    ([name, rows]) =>
      sql`(select count(*)::int from (select from ${rows} limit ${MAX_COUNTED}) counted) as ${sql.ref(name)}`,
  );
  const { rows } = await sql<Waiting['counts'] & { oldest_pending_seconds: number }>`
    select ${sql.join(counts)},
      (select coalesce(extract(epoch from business_now() - received_at), 0)::float8
       from (select min(id) as id from notifications where status = 'pending') oldest
       left join notifications using (id)) as oldest_pending_seconds`.execute(db);
  const [row] = rows;
  if (!row) throw new Error('Counting the backlogs returned no row.');
  const { oldest_pending_seconds: oldestPendingSeconds, ...counted } = row;
  return { counts: counted, oldestPendingSeconds };
}
