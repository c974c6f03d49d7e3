import { sql } from 'kysely';
import type { Db } from '../core/database/db.ts';
import { isTakenBack } from './matching-store.ts';
import type { LineRow, ProviderStatementRow } from './store.ts';

export async function findMissingLines(
  db: Db,
  statement: ProviderStatementRow,
  limit: number,
): Promise<LineRow[]> {
  const { rows } = await sql<LineRow>`
    select l.* from provider_statement_lines l
    where l.statement_id = ${statement.id} and l.result = 'missing_in_books'
      and l.line_number > ${statement.imported_to_line} and not ${isTakenBack('l.receipt')}
    order by l.line_number limit ${limit}`.execute(db);
  return rows;
}

/**
 * Counts the payments that importing these lines of this statement added, in this run or in one that died. Payments
 * that another statement imported count there. Moves on only from where the lines were read, so that one of two
 * processes counts them.
 */
export async function recordTakenIn(
  db: Db,
  from: ProviderStatementRow,
  provider: string,
  toLine: number,
): Promise<void> {
  await sql`
    update provider_statements set
      imported_count = imported_count + (
        select count(*)::integer from provider_statement_lines l
        where l.statement_id = ${from.id} and l.result = 'missing_in_books'
          and l.line_number > ${from.imported_to_line} and l.line_number <= ${toLine}
          and exists (
            select from notifications n
            where n.provider = ${provider} and n.trans_id = l.receipt and n.provider_statement_id = ${from.id}
              and n.outcome in ('matched', 'unmatched'))),
      imported_to_line = ${toLine}, attempts = 0, progressed_at = clock_timestamp(), updated_at = business_now()
    where id = ${from.id} and status = 'importing' and imported_to_line = ${from.imported_to_line}`.execute(
    db,
  );
}
