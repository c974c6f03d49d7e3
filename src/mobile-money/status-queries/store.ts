import { type Insertable, sql, type Updateable } from 'kysely';
import type { Db, Tx } from '../../core/database/db.ts';
import { deleteInBatches } from '../../core/database/statements.ts';
import type { StatusQueries } from '../../core/database/tables.ts';
import type { Page } from '../../core/http/envelope.ts';
import { fetchPage } from '../../core/lists/page.ts';
import type { ListPlan } from '../../core/lists/query.ts';
import type { BookedTransaction, StatusQueryRow } from './rules.ts';

/** A payment or a notification, and the transaction that the provider can be asked about. */
export interface AskableRow {
  /** Null for a manual payment with another payment method than the provider's. */
  provider: string | null;
  transactionRef: string | null;
}

/** @param methodCode - manual payments with this payment method count as payments of the provider. */
export async function findAskablePayment(
  db: Db,
  id: number,
  { provider, methodCode }: { provider: string; methodCode: string },
): Promise<AskableRow | undefined> {
  const { rows } = await sql<AskableRow>`
    select coalesce(p.provider, case when m.code = ${methodCode} then ${provider} end) as provider,
      coalesce(p.provider_trans_id, p.reference_key) as "transactionRef"
    from payments p join payment_methods m on m.id = p.payment_method_id
    where p.id = ${id}`.execute(db);
  return rows[0];
}

export function findAskableNotification(db: Db, id: number): Promise<AskableRow | undefined> {
  return db
    .selectFrom('notifications')
    .select(['provider', 'trans_id as transactionRef'])
    .where('id', '=', id)
    .executeTakeFirst();
}

/** @returns undefined if there is an open query about the transaction. */
export async function insertQuery(
  tx: Tx,
  row: Insertable<StatusQueries>,
): Promise<StatusQueryRow | undefined> {
  const inserted = await tx
    .insertInto('status_queries')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst();
  return inserted as StatusQueryRow | undefined;
}

export async function findOpenQueryId(tx: Tx, provider: string, transactionRef: string) {
  const row = await tx
    .selectFrom('status_queries')
    .select('id')
    .where('transaction_ref', '=', transactionRef)
    .where('provider', '=', provider)
    .where('state', '=', 'requested')
    .executeTakeFirst();
  return row?.id;
}

/** Claims a status query that is due to be sent. Nobody else can claim it before `leasedUntil`. */
export async function claimUnsent(
  db: Db,
  id: number,
  now: Date,
  leasedUntil: Date,
): Promise<StatusQueryRow | undefined> {
  const row = await db
    .updateTable('status_queries')
    .set({ next_send_at: leasedUntil, send_attempts: sql`send_attempts + 1` })
    .where('id', '=', id)
    .where(sql<boolean>`next_send_at <= ${now}`)
    .returningAll()
    .executeTakeFirst();
  return row as StatusQueryRow | undefined;
}

export async function findUnsentIds(db: Db, now: Date, limit: number): Promise<number[]> {
  const rows = await db
    .selectFrom('status_queries')
    .select('id')
    .where(sql<boolean>`next_send_at <= ${now}`)
    .orderBy('next_send_at')
    .limit(limit)
    .execute();
  return rows.map(({ id }) => id);
}

/** Locks unanswered status queries that the provider accepted before a time. Skips those that another transaction has locked. */
export async function lockUnanswered(tx: Tx, sentBefore: Date, limit: number): Promise<StatusQueryRow[]> {
  const { rows } = await sql<StatusQueryRow>`
    select * from status_queries where state = 'requested' and sent_at < ${sentBefore}
    order by id limit ${limit} for no key update skip locked`.execute(tx);
  return rows;
}

export async function lockQuery(tx: Tx, id: number): Promise<StatusQueryRow | undefined> {
  const row = await tx
    .selectFrom('status_queries')
    .selectAll()
    .where('id', '=', id)
    .forNoKeyUpdate()
    .executeTakeFirst();
  return row as StatusQueryRow | undefined;
}

export async function lockQueryByKey(
  tx: Tx,
  provider: string,
  callbackKey: string,
): Promise<StatusQueryRow | undefined> {
  const row = await tx
    .selectFrom('status_queries')
    .selectAll()
    .where('callback_key', '=', callbackKey)
    .where('provider', '=', provider)
    .forNoKeyUpdate()
    .executeTakeFirst();
  return row as StatusQueryRow | undefined;
}

export async function updateQuery(tx: Tx, id: number, changes: Updateable<StatusQueries>): Promise<void> {
  await tx
    .updateTable('status_queries')
    .set({ ...changes, updated_at: sql`business_now()` })
    .where('id', '=', id)
    .execute();
}

export function deleteEndedQueries(db: Db, before: Date, signal: AbortSignal): Promise<number> {
  const where = sql`created_at < ${before} and state <> 'requested'`;
  return deleteInBatches(db, signal, { table: 'status_queries', where });
}

/** A status query with the values of its transaction in the books. */
export type ListedQueryRow = StatusQueryRow & BookedTransaction;

/**
 * For a query about a payment, the amount and the date are those of the payment. For other queries, they are those of the
 * notification. Only a notification has a payer, and only a payment has a status.
 */
const LISTED = sql<ListedQueryRow>`
  select q.*, coalesce(p.amount_minor, n.amount_minor) as amount_minor, n.payer, n.business_short_code, p.payment_date,
    n.trans_time, coalesce(p.status, notified.status) as payment_status
  from status_queries q
  left join payments p on p.id = q.payment_id
  left join notifications n on n.id = coalesce(q.notification_id, (
    select min(m.id) from notifications m
    where m.payment_id = q.payment_id and m.outcome in ('matched', 'unmatched', 'linked')))
  left join payments notified on notified.id = n.payment_id`;

export async function findListedQuery(db: Db, id: number): Promise<ListedQueryRow | undefined> {
  const { rows } = await sql<ListedQueryRow>`${LISTED} where q.id = ${id}`.execute(db);
  return rows[0];
}

export function listQueries(db: Db, plan: ListPlan): Promise<Page<ListedQueryRow>> {
  return fetchPage<ListedQueryRow>(db, plan, { select: LISTED, from: sql`from status_queries q` });
}
