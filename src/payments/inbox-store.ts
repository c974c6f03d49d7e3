import { type RawBuilder, type Selectable, sql } from 'kysely';
import { amountOf, type Currency } from '../core/context.ts';
import type { Db, Tx } from '../core/db.ts';
import { fetchPage } from '../core/list-page.ts';
import type { ListPlan } from '../core/list-query.ts';
import type { Minor } from '../core/money.ts';
import type { NotificationOutcome, Notifications, PaymentSource } from '../core/tables.ts';
import { referenceKey } from './rules.ts';
import type { PaymentRow } from './store.ts';

export type NotificationRow = Selectable<Notifications>;

// Written out, so that a plan made for any value still sees that a partial index covers it.
const IS_PENDING = sql<boolean>`status = 'pending'`;
const IS_CONFLICT = sql<boolean>`outcome = 'conflict'`;

/** A notification whose transaction id and amount could be read. */
export interface ReadNotification {
  provider: string;
  /** `import` where the provider's statement told of it. */
  source: PaymentSource;
  rawBody: string;
  transId: string;
  contentHash: Buffer;
  amountMinor: Minor;
  transTime: Date;
  businessShortCode: string | null;
  billRef: string | null;
  payer: string | null;
  payerName: string | null;
  flags: string[];
}

/** @returns undefined when an equal notification of this transaction is stored already. */
export function insertNotification(
  tx: Tx,
  notification: ReadNotification,
  failure: string | null = null,
): Promise<NotificationRow | undefined> {
  return tx
    .insertInto('notifications')
    .values({
      provider: notification.provider,
      source: notification.source,
      raw_body: notification.rawBody,
      trans_id: notification.transId,
      content_hash: notification.contentHash,
      amount_minor: notification.amountMinor,
      trans_time: notification.transTime,
      business_short_code: notification.businessShortCode,
      bill_ref: notification.billRef,
      payer: notification.payer,
      payer_name: notification.payerName,
      flags: notification.flags,
      status: 'pending',
      failure,
    })
    .onConflict((conflict) => conflict.constraint('notifications_content_unique').doNothing())
    .returningAll()
    .executeTakeFirst();
}

export async function insertRejected(
  db: Db,
  provider: string,
  rawBody: string,
  failure: string,
): Promise<void> {
  await db
    .insertInto('notifications')
    .values({ provider, raw_body: rawBody, status: 'rejected', failure, processed_at: sql`now()` })
    .execute();
}

export interface Settlement {
  outcome: NotificationOutcome;
  /** Or, in SQL, that of the payment which the same statement inserts. */
  paymentId: number | RawBuilder<number> | null;
  conflictPaymentId?: number;
  flags: string[];
}

/** The statement that says of a notification what became of it, for use within a larger one too. */
export function settleNotification(id: number, settlement: Settlement): RawBuilder<unknown> {
  const { outcome, paymentId, conflictPaymentId = null, flags } = settlement;
  return sql`
    update notifications set status = 'processed', outcome = ${outcome}, payment_id = ${paymentId},
      conflict_payment_id = ${conflictPaymentId}, flags = ${flags}, failure = null, attempts = attempts + 1,
      processed_at = now()
    where id = ${id}`;
}

/** Another notification of the same transaction that counts: it came before, or led to something. */
export function otherNotification(row: NotificationRow): RawBuilder<{ id: number }> {
  return sql`
    select id from notifications
    where provider = ${row.provider} and trans_id = ${row.trans_id} and id <> ${row.id}
      and (status = 'processed' and outcome <> 'differs' or status = 'pending' and id < ${row.id})
    limit 1`;
}

/** Notifications that wait because of what staff entered by hand under their transaction's reference. */
export function findConflictsAbout(tx: Tx, reference: string): Promise<NotificationRow[]> {
  return tx
    .selectFrom('notifications')
    .selectAll()
    .where('trans_id', '=', referenceKey(reference))
    .where(IS_CONFLICT)
    .execute();
}

export function lockConflictsAbout(tx: Tx, reference: string): Promise<NotificationRow[]> {
  return tx
    .selectFrom('notifications')
    .selectAll()
    .where('trans_id', '=', referenceKey(reference))
    .where(IS_CONFLICT)
    .orderBy('id')
    .forNoKeyUpdate()
    .execute();
}

export async function findPendingIds(db: Db, limit: number): Promise<number[]> {
  const rows = await db
    .selectFrom('notifications')
    .select('id')
    .where(IS_PENDING)
    .orderBy('attempts')
    .orderBy('id')
    .limit(limit)
    .execute();
  return rows.map((row) => row.id);
}

export function lockPending(tx: Tx, id: number): Promise<NotificationRow | undefined> {
  return tx
    .selectFrom('notifications')
    .selectAll()
    .where('id', '=', id)
    .where('status', '=', 'pending')
    .forNoKeyUpdate()
    .skipLocked()
    .executeTakeFirst();
}

export async function recordFailure(db: Db, id: number, failure: string): Promise<void> {
  await db
    .updateTable('notifications')
    .set({ failure, attempts: sql`attempts + 1` })
    .where('id', '=', id)
    .where('status', '=', 'pending')
    .execute();
}

/** What became of the notification that a payment came with, or that was linked to it. */
const IS_OWN = sql<boolean>`n.outcome in ('matched', 'unmatched', 'linked')`;

/** What the payer of a payment sent; undefined where the provider has not told of it. */
export async function findNotificationOf(db: Db, paymentId: number): Promise<NotificationRow | undefined> {
  const { rows } = await sql<NotificationRow>`
    select n.* from notifications n where n.payment_id = ${paymentId} and ${IS_OWN}`.execute(db);
  return rows[0];
}

type Sent = Pick<NotificationRow, 'bill_ref' | 'payer' | 'payer_name'> & { flags: string[] | null };

/** Unmatched payments with what their payers sent. */
export function listUnmatchedRows(db: Db, plan: ListPlan) {
  return fetchPage<PaymentRow & Sent>(db, plan, {
    select: sql`
      select p.*, n.bill_ref, n.payer, n.payer_name, n.flags
      from payments p left join notifications n on n.payment_id = p.id and ${IS_OWN}`,
    from: sql`from payments p`,
    where: [sql<boolean>`p.status = 'unmatched'`],
  });
}

export async function listNotifications(db: Db, currency: Currency, plan: ListPlan) {
  const page = await fetchPage<NotificationRow>(db, plan, {
    select: sql`select n.* from notifications n`,
    from: sql`from notifications n`,
  });
  return { ...page, rows: page.rows.map((row) => toNotification(row, currency)) };
}

const WILL_BE_TRIED_AGAIN = 'It could not be processed yet and is tried again every minute.';

function toNotification(row: NotificationRow, currency: Currency) {
  return {
    id: row.id,
    status: row.status,
    outcome: row.outcome,
    flags: row.flags,
    transactionRef: row.trans_id,
    amount: row.amount_minor === null ? null : amountOf(row.amount_minor, currency),
    reference: row.bill_ref,
    payer: row.payer,
    businessShortCode: row.business_short_code,
    paymentId: row.payment_id,
    conflictingPaymentId: row.conflict_payment_id,
    // What went wrong inside is for those who run the service; the caller learns what comes of it.
    failure: row.status === 'pending' && row.failure !== null ? WILL_BE_TRIED_AGAIN : row.failure,
    attempts: row.attempts,
    rawBody: row.raw_body,
    processedAt: row.processed_at,
    createdAt: row.received_at,
  };
}
