import { type RawBuilder, sql } from 'kysely';
import type { Db, Tx } from '../../core/database/db.ts';
import type { Row } from '../../core/database/tables.ts';
import type { Page } from '../../core/http/envelope.ts';
import { fetchPage } from '../../core/lists/page.ts';
import type { ListPlan } from '../../core/lists/query.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import type { PaymentToReconcile } from './rules.ts';

/**
 * A batch, with the number and the sum of its payments that were reversed later. A reversal does not change the other figures of
 * the batch, because the money of the payment arrived.
 */
export type ReconciliationRow = Omit<Row<'reconciliations'>, 'payment_ids'> & {
  reversed_count: number;
  reversed_minor: number;
};

const SELECT = sql<BatchRow>`
  select r.id, r.reconciliation_date, r.payment_count, r.total_minor, r.provider_statement_id, r.created_by, r.created_at
  from reconciliations r`;

/** Limits the time of one SQL statement, because each payment can be on a different disk page. */
const PAYMENTS_AT_ONCE = 1_000;

/** Divides the payments into parts, and runs a statement for each part in turn. */
async function inParts<Row>(tx: Tx, ids: readonly number[], statement: (part: number[]) => RawBuilder<Row>) {
  const found: Row[] = [];
  for (let start = 0; start < ids.length; start += PAYMENTS_AT_ONCE) {
    const { rows } = await statement(ids.slice(start, start + PAYMENTS_AT_ONCE)).execute(tx);
    found.push(...rows);
  }
  return found;
}

function ascending(ids: readonly number[]): number[] {
  return ids.toSorted((a, b) => a - b);
}

/** Locks payments in the order of their ids. */
export function lockPayments(tx: Tx, ids: readonly number[]): Promise<PaymentToReconcile[]> {
  return inParts(
    tx,
    ascending(ids),
    (part) => sql<PaymentToReconcile>`
      select id, amount_minor, payment_date, status, reconciliation_id from payments
      where id = any(${part}::bigint[]) order by id for no key update`,
  );
}

export interface NewReconciliation {
  date: PlainDate;
  paymentIds: readonly number[];
  totalMinor: bigint;
  providerStatementId: number | null;
  createdBy: number | null;
}

/** Inserts the batch, and marks its payments. The transaction must have locked the payments. */
export async function insertReconciliation(tx: Tx, batch: NewReconciliation): Promise<number> {
  const paymentIds = ascending(batch.paymentIds);
  // With this setting, the foreign key check of each payment uses the index and does not scan the batches.
  await sql`set local enable_seqscan = off`.execute(tx);
  const { id } = await tx
    .insertInto('reconciliations')
    .values({
      reconciliation_date: batch.date,
      total_minor: batch.totalMinor,
      payment_ids: sql`${paymentIds}::bigint[]`,
      provider_statement_id: batch.providerStatementId,
      created_by: batch.createdBy,
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  await inParts(
    tx,
    paymentIds,
    (part) => sql`
      update payments set reconciliation_id = ${id}, reconciliation_date = ${batch.date}::date, updated_at = business_now()
      where id = any(${part}::bigint[])`,
  );
  await sql`set local enable_seqscan to default`.execute(tx);
  return id;
}

export async function findReconciliation(db: Db, id: number): Promise<ReconciliationRow | undefined> {
  const { rows } = await sql<BatchRow>`${SELECT} where r.id = ${id}`.execute(db);
  return (await withReversals(db, rows))[0];
}

export async function listReconciliations(db: Db, plan: ListPlan): Promise<Page<ReconciliationRow>> {
  const page = await fetchPage<BatchRow>(db, plan, { select: SELECT, from: sql`from reconciliations r` });
  return { ...page, rows: await withReversals(db, page.rows) };
}

type BatchRow = Omit<ReconciliationRow, 'reversed_count' | 'reversed_minor'>;

async function withReversals(db: Db, batches: BatchRow[]): Promise<ReconciliationRow[]> {
  const ids = batches.map(({ id }) => id);
  const { rows } = await sql<Pick<ReconciliationRow, 'id' | 'reversed_count' | 'reversed_minor'>>`
    select r.id, count(*) as reversed_count, sum(p.amount_minor)::bigint as reversed_minor
    from reconciliations r join payments p on p.id = any(r.payment_ids) and p.status = 'reversed'
    where r.id = any(${ids}::bigint[]) group by r.id`.execute(db);
  const reversals = new Map(rows.map((row) => [row.id, row]));
  return batches.map((row) => ({ ...row, reversed_count: 0, reversed_minor: 0, ...reversals.get(row.id) }));
}
