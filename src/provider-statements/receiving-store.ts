import { sql } from 'kysely';
import type { Db, Tx } from '../core/database/db.ts';
import { businessDay } from '../core/values/dates.ts';
import { LINE_COLUMNS, type StatementFile } from './reader.ts';
import type { ProviderStatementRow } from './store.ts';

/** How a file comes in: its lines are copied into the table, then looked at together. */

export const COPY_LINES = `copy provider_statement_lines (${LINE_COLUMNS}) from stdin`;

export async function insertProviderStatement(tx: Tx, createdBy: number | null): Promise<number> {
  const { id } = await tx
    .insertInto('provider_statements')
    .values({ status: 'received', created_by: createdBy })
    .returning('id')
    .executeTakeFirstOrThrow();
  return id;
}

/** A receipt counts once: where a later line says the same it is repeated, else it is contradictory. */
export async function setRepeatedReceipts(tx: Tx, statementId: number): Promise<void> {
  await sql`
    with ranked as (
      select id, amount_minor, completed_at, first_value(id) over receipt as first_id,
        first_value(line_number) over receipt as first_line,
        first_value(amount_minor) over receipt as first_amount,
        first_value(completed_at) over receipt as first_time
      from provider_statement_lines where statement_id = ${statementId} and is_payment
      window receipt as (partition by receipt order by id))
    update provider_statement_lines l set
      is_payment = false,
      result = (case when same then 'repeated' else 'contradictory' end)::provider_line_result,
      problem = case when not same then 'differs from line ' || first_line || ' with the same Receipt No.' end
    from (select *, (amount_minor, completed_at) = (first_amount, first_time) as same from ranked) r
    where l.id = r.id and r.id <> r.first_id`.execute(tx);
}

export async function completeProviderStatement(
  tx: Tx,
  id: number,
  file: StatementFile,
  timeZone: string,
): Promise<ProviderStatementRow> {
  await sql`
    insert into provider_statement_totals (statement_id, result, line_count, amount_minor)
    select statement_id, result, count(*), coalesce(sum(amount_minor), 0)
    from provider_statement_lines where statement_id = ${id} and result is not null group by statement_id, result`.execute(
    tx,
  );
  const { rows } = await sql<{ payments: number }>`
    select count(*) as payments from provider_statement_lines where statement_id = ${id} and is_payment`.execute(
    tx,
  );
  return tx
    .updateTable('provider_statements')
    .set({
      content_sha256: file.sha256,
      organisation: file.organisation,
      short_code: file.shortCode,
      line_count: file.lineCount,
      payment_count: rows[0]?.payments ?? 0,
      first_completed_at: file.firstCompletedAt,
      last_completed_at: file.lastCompletedAt,
      period_start: file.firstCompletedAt && businessDay(file.firstCompletedAt, timeZone),
      period_end: file.lastCompletedAt && businessDay(file.lastCompletedAt, timeZone),
      progressed_at: sql`clock_timestamp()`,
    })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();
}

export async function findIdOfFile(db: Db, sha256: Buffer): Promise<number | undefined> {
  const row = await db
    .selectFrom('provider_statements')
    .select('id')
    .where('content_sha256', '=', sha256)
    .executeTakeFirst();
  return row?.id;
}
