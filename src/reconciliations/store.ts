import { type RawBuilder, type Selectable, sql } from 'kysely';
import { amountOf, type Currency } from '../core/context.ts';
import type { Db, Tx } from '../core/database/db.ts';
import type { PaymentStatus, Reconciliations } from '../core/database/tables.ts';
import { fetchPage } from '../core/lists/page.ts';
import type { ListPlan } from '../core/lists/query.ts';
import type { PlainDate } from '../core/values/dates.ts';

type ReconciliationRow = Omit<Selectable<Reconciliations>, 'payment_ids'>;

const SELECT = sql<ReconciliationRow>`
  select r.id, r.reconciliation_date, r.payment_count, r.total_minor, r.provider_statement_id, r.created_by, r.created_at
  from reconciliations r`;

export interface LockedPayment {
  id: number;
  amount_minor: number;
  payment_date: PlainDate;
  status: PaymentStatus;
  reconciliation_id: number | null;
}

/** The rows of many payments may lie on as many pages of the disk: no statement shall need seconds for them. */
const PAYMENTS_AT_ONCE = 1_000;

/** Runs a statement on a part of the payments at a time. */
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

/** The payments with these ids, locked in the order of their ids. */
export function lockPayments(tx: Tx, ids: readonly number[]): Promise<LockedPayment[]> {
  return inParts(
    tx,
    ascending(ids),
    (part) => sql<LockedPayment>`
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

/** Makes the batch and stamps its payments, which the transaction has locked. */
export async function insertReconciliation(tx: Tx, batch: NewReconciliation): Promise<number> {
  const paymentIds = ascending(batch.paymentIds);
  // The foreign key looks the batch up for each payment: by its index, not by reading a few hundred batches whole.
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

export async function findReconciliation(db: Db, currency: Currency, id: number) {
  const { rows } = await sql<ReconciliationRow>`${SELECT} where r.id = ${id}`.execute(db);
  const [batch] = await withReversals(db, currency, rows);
  return batch;
}

export async function listReconciliations(db: Db, currency: Currency, plan: ListPlan) {
  const page = await fetchPage<ReconciliationRow>(db, plan, {
    select: SELECT,
    from: sql`from reconciliations r`,
  });
  return { ...page, rows: await withReversals(db, currency, page.rows) };
}

interface Reversals {
  id: number;
  count: number;
  minor: number;
}

/** Batches with what was reversed of them since; their own figures stay, because that money did arrive. */
async function withReversals(db: Db, currency: Currency, batches: ReconciliationRow[]) {
  const ids = batches.map(({ id }) => id);
  const { rows } = await sql<Reversals>`
    select r.id, count(*) as count, sum(p.amount_minor)::bigint as minor
    from reconciliations r join payments p on p.id = any(r.payment_ids) and p.status = 'reversed'
    where r.id = any(${ids}::bigint[]) group by r.id`.execute(db);
  const reversalsOf = new Map(rows.map((row) => [row.id, row]));
  return batches.map((row) => toReconciliation(row, reversalsOf.get(row.id), currency));
}

/** A batch itself is never changed, so that it was last updated when it was made. */
function toReconciliation(row: ReconciliationRow, reversals: Reversals | undefined, currency: Currency) {
  return {
    id: row.id,
    reconciliationDate: row.reconciliation_date,
    paymentCount: row.payment_count,
    total: amountOf(row.total_minor, currency),
    reversedCount: reversals?.count ?? 0,
    reversedTotal: amountOf(reversals?.minor ?? 0, currency),
    currency: currency.code,
    providerStatementId: row.provider_statement_id,
    createdAt: row.created_at,
    updatedAt: row.created_at,
  };
}
