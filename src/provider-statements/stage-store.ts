import { sql } from 'kysely';
import type { Db, Tx } from '../core/database/db.ts';
import type { PlainDate } from '../core/values/dates.ts';
import type { Stage } from './rules.ts';
import type { ProviderStatementRow } from './store.ts';

/** Which work on a statement is under way, and whether it still goes on. */

/** The statements whose work has stood still, the longest first: the process that did it has died. */
export async function findStalledIds(db: Db, stallSeconds: number, limit: number): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    select id from provider_statements
    where status not in ('done', 'failed') and progressed_at < now() - ${stallSeconds} * interval '1 second'
    order by progressed_at limit ${limit}`.execute(db);
  return rows.map(({ id }) => id);
}

/** Says that the work on these goes on in a process, also where others come first in it. */
export async function touchWaiting(db: Db, ids: readonly number[]): Promise<void> {
  await sql`
    update provider_statements set progressed_at = clock_timestamp() where id in (
      select id from provider_statements
      where id = any(${ids}::bigint[]) and status not in ('done', 'failed') order by id for no key update skip locked)`.execute(
    db,
  );
}

export interface Reconciling {
  by: number | null;
  date: PlainDate;
}

/** Begins a stage at its first line. The row is locked by the transaction. */
export async function setStage(
  tx: Tx,
  id: number,
  stage: Stage | 'done',
  reconciling?: Reconciling,
): Promise<ProviderStatementRow> {
  if (stage === 'matching') await clearTotals(tx, id);
  return tx
    .updateTable('provider_statements')
    .set({
      status: stage,
      ...(stage === 'matching' && {
        compared_count: 0,
        compared_to_line: 0,
        searched_to_date: null,
        searched_to_payment: null,
      }),
      ...(stage === 'importing' && { imported_to_line: 0 }),
      ...(stage === 'reconciling' && {
        reconciled_to_line: 0,
        reconciling_by: reconciling?.by ?? null,
        reconciling_date: reconciling?.date ?? null,
      }),
      failure: null,
      attempts: 0,
      progressed_at: sql`clock_timestamp()`,
      updated_at: sql`business_now()`,
    })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();
}

async function clearTotals(tx: Tx, id: number): Promise<void> {
  await sql`
    delete from provider_statement_totals where statement_id = ${id} and result in
      ('matched', 'conflict', 'amount_differs', 'missing_in_books', 'reversed_in_books', 'reversed_at_provider',
        'missing_at_provider')`.execute(tx);
}

/** After several failures in a row the work is given up, with the reason of the last. */
export async function recordFailure(
  db: Db,
  id: number,
  failure: string,
  mostAttempts: number,
): Promise<void> {
  await sql`
    update provider_statements set attempts = attempts + 1, updated_at = business_now(),
      status = case when attempts + 1 >= ${mostAttempts} then 'failed' else status end,
      failure = case when attempts + 1 >= ${mostAttempts} then ${failure} end
    where id = ${id} and status not in ('done', 'failed')`.execute(db);
}
