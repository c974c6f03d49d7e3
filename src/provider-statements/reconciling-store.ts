import { sql } from 'kysely';
import type { Tx } from '../core/database/db.ts';
import { isTakenBack } from './matching-store.ts';
import type { ProviderStatementRow } from './store.ts';

/**
 * The payments of the next matched lines. Not those that the provider took back since the comparison, and none that is
 * not the line's transaction: an earlier version matched manual payments by their reference alone.
 */
export async function findMatchedPayments(
  tx: Tx,
  statement: ProviderStatementRow,
  limit: number,
): Promise<{ lastLine: number; paymentIds: number[] } | undefined> {
  const { rows } = await sql<{ line_number: number; payment_id: number }>`
    select l.line_number, l.payment_id
    from provider_statement_lines l join payments p on p.id = l.payment_id and p.provider_trans_id = l.receipt
    where l.statement_id = ${statement.id} and l.line_number > ${statement.reconciled_to_line}
      and l.result = 'matched' and not ${isTakenBack('l.receipt')}
    order by l.line_number limit ${limit}`.execute(tx);
  const lastLine = rows.at(-1)?.line_number;
  return lastLine === undefined ? undefined : { lastLine, paymentIds: rows.map(({ payment_id: id }) => id) };
}

export async function recordReconciled(tx: Tx, id: number, payments: number, toLine: number): Promise<void> {
  await tx
    .updateTable('provider_statements')
    .set({
      reconciled_count: sql`reconciled_count + ${payments}::integer`,
      reconciled_to_line: toLine,
      attempts: 0,
      progressed_at: sql`clock_timestamp()`,
      updated_at: sql`business_now()`,
    })
    .where('id', '=', id)
    .execute();
}
