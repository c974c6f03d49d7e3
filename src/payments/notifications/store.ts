import { sql } from 'kysely';
import type { Db, Tx } from '../../core/database/db.ts';
import { literalList } from '../../core/database/literal-list.ts';
import type { PaymentSource } from '../../core/database/tables.ts';
import type { Page } from '../../core/http/envelope.ts';
import { fetchPage } from '../../core/lists/page.ts';
import type { ListPlan } from '../../core/lists/query.ts';
import type { Notification } from '../posting/rules.ts';
import { NOTIFICATION_OUTCOMES } from '../posting/rules.ts';
import type { NotificationRow } from '../rules.ts';
import { notificationColumns, type ReadableFields, readableColumns } from './rules.ts';
import { MAX_LISTED_BODY_LENGTH } from './schema.ts';

/** Condition on notifications `n`: processing created a payment, or linked the notification to one. */
export const HAS_PAYMENT = sql<boolean>`n.outcome in ${literalList(
  Object.entries(NOTIFICATION_OUTCOMES).flatMap(([outcome, { hasPayment }]) => (hasPayment ? [outcome] : [])),
)}`;

/** Stores a notification whose posting failed, for a retry. Does nothing if the same content is already stored. */
export async function insertPending(db: Db, notification: Notification, failure: string): Promise<void> {
  await db
    .insertInto('notifications')
    .values({ ...notificationColumns(notification), status: 'pending', failure })
    .onConflict((conflict) => conflict.constraint('notifications_content_unique').doNothing())
    .execute();
}

/**
 * Stores a notification that posts nothing.
 * @param fields - the fields that could be read, so that staff and status queries find the transaction.
 */
export async function insertRejected(
  db: Db,
  provider: string,
  rawBody: string,
  failure: string,
  source: PaymentSource = 'webhook',
  fields: Partial<ReadableFields> = {},
): Promise<void> {
  await db
    .insertInto('notifications')
    .values({
      ...readableColumns(fields),
      provider,
      raw_body: rawBody,
      status: 'rejected',
      failure,
      source,
      processed_at: sql`business_now()`,
    })
    .execute();
}

/** Like `insertRejected`, but does nothing if the same body is already stored as rejected. A small partial index finds it. */
export async function insertRejectedOnce(
  db: Db,
  ...row: DropFirst<Parameters<typeof insertRejected>>
): Promise<void> {
  const [provider, rawBody] = row;
  const { rows } = await sql`
    select from notifications where status = 'rejected' and provider = ${provider} and raw_body = ${rawBody}
    limit 1`.execute(db);
  if (rows.length === 0) await insertRejected(db, ...row);
}

type DropFirst<T extends readonly unknown[]> = T extends [unknown, ...infer Rest] ? Rest : never;

export function findPending(db: Db, limit: number): Promise<NotificationRow[]> {
  return db
    .selectFrom('notifications')
    .selectAll()
    .where(sql<boolean>`status = 'pending'`) // A literal, so that every query plan can use the partial index.
    .orderBy('attempts')
    .orderBy('id')
    .limit(limit)
    .execute();
}

export async function recordNotificationFailure(db: Db, id: number, failure: string): Promise<void> {
  await db
    .updateTable('notifications')
    .set({ failure, attempts: sql`attempts + 1` })
    .where('id', '=', id)
    .where('status', '=', 'pending')
    .execute();
}

/** Locks notifications in the order of their ids (../locks.ts). */
export async function lockNotifications(
  tx: Tx,
  ids: readonly number[],
): Promise<Map<number, NotificationRow>> {
  if (ids.length === 0) return new Map();
  const { rows } = await sql<NotificationRow>`
    select * from notifications where id = any(${[...ids]}::bigint[]) order by id for no key update`.execute(
    tx,
  );
  return new Map(rows.map((row) => [row.id, row]));
}

export function findNotification(db: Db, id: number): Promise<NotificationRow | undefined> {
  return db.selectFrom('notifications').selectAll().where('id', '=', id).executeTakeFirst();
}

export function getNotification(db: Db, id: number): Promise<NotificationRow> {
  return db.selectFrom('notifications').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
}

/**
 * Finds the notifications to reprocess after a payment with this reference was unassigned or reversed: the notifications in
 * conflict, also because of a similar reference, and the notification that is linked to the reversed payment. Does not lock them.
 * @param key - the reference in the form of `referenceKey`.
 */
export function findReprocessable(tx: Tx, key: string, reversedId?: number): Promise<NotificationRow[]> {
  return reprocessable(tx, key, reversedId).execute();
}

/** Like `findReprocessable`, and locks them. */
export function lockReprocessable(tx: Tx, key: string, reversedId?: number): Promise<NotificationRow[]> {
  return reprocessable(tx, key, reversedId).forNoKeyUpdate().execute();
}

function reprocessable(tx: Tx, key: string, reversedId: number | null = null) {
  return tx
    .selectFrom('notifications')
    .selectAll()
    .where(
      sql<boolean>`(trans_id = ${key} and (outcome = 'conflict' or outcome = 'linked' and payment_id = ${reversedId}::bigint)
        or outcome = 'conflict' and conflict_payment_id = ${reversedId}::bigint)`,
    )
    .orderBy('id');
}

export type ListedNotification = Omit<
  NotificationRow,
  'provider' | 'content_hash' | 'payer_name' | 'trans_time' | 'provider_statement_id'
>;

const LISTED_BODY = sql.lit(MAX_LISTED_BODY_LENGTH);

export function listNotifications(db: Db, plan: ListPlan): Promise<Page<ListedNotification>> {
  return fetchPage<ListedNotification>(db, plan, {
    computed: { flags: sql`array_to_string(n.flags, ',')` },
    select: sql`
      select n.id, n.status, n.outcome, n.flags, n.source, n.trans_id, n.amount_minor, n.bill_ref, n.payer,
        n.business_short_code, n.payment_id, n.conflict_payment_id, n.failure, n.attempts, n.processed_at,
        n.received_at,
        case when length(n.raw_body) > ${LISTED_BODY} then left(n.raw_body, ${LISTED_BODY}) || '…'
          else n.raw_body end as raw_body
      from notifications n`,
    from: sql`from notifications n`,
  });
}
