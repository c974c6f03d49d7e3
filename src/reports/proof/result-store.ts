import type { Db, Tx } from '../../core/database/db.ts';
import type { Row } from '../../core/database/tables.ts';

export type ProofResult = Pick<
  Row<'last_proof'>,
  'read_at' | 'check_count' | 'violation_count' | 'failed_checks'
>;

export function findLastResult(db: Db): Promise<ProofResult | undefined> {
  return db.selectFrom('last_proof').selectAll().executeTakeFirst();
}

/** Stores the first result. Waits if another transaction is storing a result. @returns false if there is a result already. */
export async function insertFirstResult(tx: Tx, result: ProofResult): Promise<boolean> {
  const inserted = await tx
    .insertInto('last_proof')
    .values(columnsOf(result))
    .onConflict((conflict) => conflict.column('is_only_row').doNothing())
    .returning('is_only_row')
    .executeTakeFirst();
  return inserted !== undefined;
}

/** Locks the last result until the transaction ends. */
export function lockLastResult(tx: Tx): Promise<ProofResult> {
  return tx.selectFrom('last_proof').selectAll().forUpdate().executeTakeFirstOrThrow();
}

export async function replaceLastResult(tx: Tx, result: ProofResult): Promise<void> {
  await tx.updateTable('last_proof').set(columnsOf(result)).execute();
}

function columnsOf({ read_at, ...figures }: ProofResult) {
  return { ...figures, read_at: new Date(read_at) };
}
