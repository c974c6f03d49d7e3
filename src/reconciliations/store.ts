import { type Selectable, sql } from 'kysely';
import { amountOf, type Currency } from '../core/context.ts';
import type { PlainDate } from '../core/dates.ts';
import { type Db, type Statement, type Tx, together } from '../core/db.ts';
import { fetchPage, type ListPlan } from '../core/list-query.ts';
import type { PaymentStatus, Reconciliations } from '../core/tables.ts';

type ReconciliationRow = Selectable<Omit<Reconciliations, 'payment_ids'>> & {
  reversed_count: number;
  reversed_minor: number;
};

/** A batch with what was reversed of it since; its own figures stay, because that money did arrive. */
const SELECT = sql<ReconciliationRow>`
  select r.id, r.reconciliation_date, r.payment_count, r.total_minor, r.provider_statement_id, r.created_by,
    r.created_at, reversed.*
  from reconciliations r cross join lateral (
    select count(*) as reversed_count, coalesce(sum(p.amount_minor), 0)::bigint as reversed_minor
    from payments p where p.id = any(r.payment_ids) and p.status = 'reversed'
  ) reversed`;

export interface LockedPayment {
  id: number;
  amount_minor: number;
  status: PaymentStatus;
  reconciliation_id: number | null;
}

/** The rows of many payments may lie on as many pages of the disk: no statement shall need seconds for them. */
const PAYMENTS_AT_ONCE = 1_000;

function ascending(ids: readonly number[]): number[] {
  return ids.toSorted((a, b) => a - b);
}

/** Does a statement for the payments with these ids, in the order of their ids, a part of them at a time. */
async function inParts<Row>(tx: Tx, ids: readonly number[], statement: (part: number[]) => Statement<Row>) {
  const sorted = ascending(ids);
  const statements: Statement<Row>[] = [];
  for (let start = 0; start < sorted.length; start += PAYMENTS_AT_ONCE) {
    statements.push(statement(sorted.slice(start, start + PAYMENTS_AT_ONCE)));
  }
  return (await together<Row[]>(tx, ...statements)).flat();
}

/** The payments with these ids, locked in the order of their ids. */
export function lockPayments(tx: Tx, ids: readonly number[]): Promise<LockedPayment[]> {
  return inParts(
    tx,
    ids,
    (part) => sql<LockedPayment>`
      select id, amount_minor, status, reconciliation_id from payments
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

/** Makes the batch and stamps its payments, which the transaction has locked. */
export async function insertReconciliation(tx: Tx, batch: NewReconciliation): Promise<number> {
  const { id } = await tx
    .insertInto('reconciliations')
    .values({
      reconciliation_date: batch.date,
      payment_count: batch.paymentIds.length,
      total_minor: batch.totalMinor,
      payment_ids: sql`${ascending(batch.paymentIds)}::bigint[]`,
      provider_statement_id: batch.providerStatementId,
      created_by: batch.createdBy,
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  await inParts(
    tx,
    batch.paymentIds,
    (part) => sql`
      update payments set reconciliation_id = ${id}, reconciliation_date = ${batch.date}::date, updated_at = now()
      where id = any(${part}::bigint[])`,
  );
  return id;
}

export async function findReconciliation(db: Db, currency: Currency, id: number) {
  const { rows } = await sql<ReconciliationRow>`${SELECT} where r.id = ${id}`.execute(db);
  return rows[0] && toReconciliation(rows[0], currency);
}

export async function listReconciliations(db: Db, currency: Currency, plan: ListPlan) {
  const page = await fetchPage<ReconciliationRow>(db, plan, {
    select: SELECT,
    from: sql`from reconciliations r`,
  });
  return { ...page, rows: page.rows.map((row) => toReconciliation(row, currency)) };
}

/** A batch itself is never changed, so that it was last updated when it was made. */
function toReconciliation(row: ReconciliationRow, currency: Currency) {
  return {
    id: row.id,
    reconciliationDate: row.reconciliation_date,
    paymentCount: row.payment_count,
    total: amountOf(row.total_minor, currency),
    reversedCount: row.reversed_count,
    reversedTotal: amountOf(row.reversed_minor, currency),
    currency: currency.code,
    providerStatementId: row.provider_statement_id,
    createdAt: row.created_at,
    updatedAt: row.created_at,
  };
}
