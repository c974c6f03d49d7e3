import { type RawBuilder, type Selectable, sql } from 'kysely';
import { amountOf, type Currency } from '../core/context.ts';
import type { Db, Tx } from '../core/db.ts';
import { fetchPage } from '../core/list-page.ts';
import type { ListPlan } from '../core/list-query.ts';
import type { Minor } from '../core/money.ts';
import type { NotificationOutcome, Notifications, PaymentSource } from '../core/tables.ts';
import { referenceKey } from './rules.ts';
import { MAX_LISTED_BODY_LENGTH } from './schema.ts';
import type { PaymentRow } from './store.ts';

export type NotificationRow = Selectable<Notifications>;

// Written out, so that a plan made for any value still sees that a partial index covers it.
const IS_PENDING = sql<boolean>`status = 'pending'`;

/** The provider reports a transaction again whose payment was reversed. */
export const REPEATED_AFTER_REVERSAL = 'repeated_after_reversal';
/** The notification names another account than the payment that was recorded by hand. */
export const OTHER_ACCOUNT = 'other_account';

/** A notification whose transaction id and amount could be read. */
export interface ReadNotification {
  provider: string;
  /** `import` where the provider's statement told of it. */
  source: PaymentSource;
  /** Of an import: the provider's statement that it came from. */
  providerStatementId?: number;
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
      provider_statement_id: notification.providerStatementId ?? null,
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

/** A repeat changes nothing; one that comes after its payment was reversed is flagged for staff to see. */
export async function flagRepeatAfterReversal(
  tx: Tx,
  { provider, transId, contentHash }: ReadNotification,
): Promise<void> {
  await sql`
    update notifications set flags = array_append(flags, ${REPEATED_AFTER_REVERSAL})
    where trans_id = ${transId} and provider = ${provider} and content_hash = ${contentHash}
      and not ${REPEATED_AFTER_REVERSAL} = any(flags)`.execute(tx);
}

export async function insertRejected(
  db: Db,
  provider: string,
  rawBody: string,
  failure: string,
): Promise<void> {
  await db
    .insertInto('notifications')
    .values({ provider, raw_body: rawBody, status: 'rejected', failure, processed_at: sql`business_now()` })
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
      processed_at = business_now()
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

/** What is known of a transaction when staff record a payment under its reference. */
export interface KnownTransaction {
  notificationId: number;
  provider: string;
  transId: string;
  outcome: NotificationOutcome;
  amountMinor: number;
  /** The payment that holds the transaction, or that it conflicts with. */
  paymentId: number;
  isReversed: boolean;
}

/** The transaction that the provider reported under a reference, however it is spelt; a payment that stands comes first. */
export function transactionNamed(reference: string): RawBuilder<KnownTransaction> {
  return sql`
    select n.id as "notificationId", n.provider, n.trans_id as "transId", n.outcome, n.amount_minor as "amountMinor",
      coalesce(n.payment_id, n.conflict_payment_id) as "paymentId", p.status = 'reversed' as "isReversed"
    from notifications n join payments p on p.id = coalesce(n.payment_id, n.conflict_payment_id)
    where n.trans_id = ${referenceKey(reference)} and n.outcome in ('matched', 'unmatched', 'linked', 'conflict')
    order by p.status = 'reversed', n.id limit 1`;
}

/**
 * Notifications of a transaction that are decided again when a payment recorded by hand under its reference changes:
 * those in conflict, and the one that is linked to the payment that is reversed. Not locked.
 */
export function findUndecided(tx: Tx, reference: string, reversedId?: number): Promise<NotificationRow[]> {
  return undecided(tx, reference, reversedId).execute();
}

/** As `findUndecided`, locked. */
export function lockUndecided(tx: Tx, reference: string, reversedId?: number): Promise<NotificationRow[]> {
  return undecided(tx, reference, reversedId).forNoKeyUpdate().execute();
}

function undecided(tx: Tx, reference: string, reversedId: number | null = null) {
  return tx
    .selectFrom('notifications')
    .selectAll()
    .where('trans_id', '=', referenceKey(reference))
    .where(sql<boolean>`(outcome = 'conflict' or outcome = 'linked' and payment_id = ${reversedId}::bigint)`)
    .orderBy('id');
}

/** Takes back what was decided of a notification, so that it can be decided again in the same transaction. */
export async function reopenNotification(tx: Tx, id: number): Promise<void> {
  await tx
    .updateTable('notifications')
    .set({ status: 'pending', outcome: null, payment_id: null, conflict_payment_id: null })
    .where('id', '=', id)
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

export function lockNotification(tx: Tx, id: number): Promise<NotificationRow | undefined> {
  return tx.selectFrom('notifications').selectAll().where('id', '=', id).forNoKeyUpdate().executeTakeFirst();
}

export function findNotification(db: Db, id: number): Promise<NotificationRow | undefined> {
  return db.selectFrom('notifications').selectAll().where('id', '=', id).executeTakeFirst();
}

export function getNotification(db: Db, id: number): Promise<NotificationRow> {
  return db.selectFrom('notifications').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
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

type ShownNotification = Omit<
  NotificationRow,
  'provider' | 'source' | 'content_hash' | 'payer_name' | 'trans_time'
>;

const LISTED_BODY = sql.lit(MAX_LISTED_BODY_LENGTH);

export async function listNotifications(db: Db, currency: Currency, plan: ListPlan) {
  const page = await fetchPage<ShownNotification>(db, plan, {
    select: sql`
      select n.id, n.status, n.outcome, n.flags, n.trans_id, n.amount_minor, n.bill_ref, n.payer,
        n.business_short_code, n.payment_id, n.conflict_payment_id, n.failure, n.attempts, n.processed_at,
        n.received_at,
        case when length(n.raw_body) > ${LISTED_BODY} then left(n.raw_body, ${LISTED_BODY}) || '…'
          else n.raw_body end as raw_body
      from notifications n`,
    from: sql`from notifications n`,
  });
  return { ...page, rows: page.rows.map((row) => toNotification(row, currency)) };
}

const WILL_BE_TRIED_AGAIN = 'It could not be processed yet and is tried again every minute.';

export function toNotification(row: ShownNotification, currency: Currency) {
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
