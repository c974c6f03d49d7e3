import { type Insertable, type RawBuilder, sql, type Updateable } from 'kysely';
import type { Db, Tx } from '../../core/database/db.ts';
import { lockName, takeLock } from '../../core/database/named-locks.ts';
import type { PaymentRequests } from '../../core/database/tables.ts';
import type { Page } from '../../core/http/envelope.ts';
import { fetchPage } from '../../core/lists/page.ts';
import type { ListPlan } from '../../core/lists/query.ts';
import { HAS_PAYMENT } from '../../payments/notifications/store.ts';
import { FUTURE_TIME, UNREADABLE_TIME } from '../../payments/posting/rules.ts';
import type { EarlierRequest, PaymentRequestRow, PossiblePayment, ReportedPayment } from './rules.ts';

/** Locks a phone until the end of the transaction, so that two concurrent requests cannot exceed its limits together. */
export async function lockPhone(tx: Tx, phone: string): Promise<void> {
  await takeLock(tx, lockName('payment request phone', phone));
}

/** The account for a new request. Takes the lock that the foreign key of the request needs. */
export function findAccount(tx: Tx, id: number) {
  return tx.selectFrom('accounts').selectAll().where('id', '=', id).forKeyShare().executeTakeFirst();
}

/** Releases the phone from a request whose outcome is still unknown, but whose prompt has certainly ended. */
export async function releasePhone(tx: Tx, phone: string, sentBefore: Date): Promise<void> {
  await tx
    .updateTable('payment_requests')
    .set({ holds_phone: false })
    .where('phone', '=', phone)
    .where('holds_phone', '=', true)
    .where('status', '=', 'unknown')
    .where(sql<boolean>`send_started_at < ${sentBefore}`)
    .execute();
}

/** Finds the request that blocks other requests to the phone. */
export function findOpenRequest(tx: Tx, phone: string): Promise<PaymentRequestRow | undefined> {
  return tx
    .selectFrom('payment_requests')
    .selectAll()
    .where('phone', '=', phone)
    .where('holds_phone', '=', true)
    .executeTakeFirst();
}

/** The requests to a phone since a time, the newest first. Leaves out requests that were certainly not sent. */
export function findEarlier(tx: Tx, phone: string, since: Date): Promise<EarlierRequest[]> {
  return tx
    .selectFrom('payment_requests')
    .select(['id', 'amount_minor', 'created_at'])
    .where('phone', '=', phone)
    .where(sql<boolean>`created_at > ${since}`)
    .where(sql<boolean>`reason is distinct from 'not_sent'`)
    .orderBy('created_at', 'desc')
    .execute();
}

export function insertRequest(tx: Tx, row: Insertable<PaymentRequests>): Promise<PaymentRequestRow> {
  return tx.insertInto('payment_requests').values(row).returningAll().executeTakeFirstOrThrow();
}

export function findRequest(db: Db, id: number): Promise<PaymentRequestRow | undefined> {
  return db.selectFrom('payment_requests').selectAll().where('id', '=', id).executeTakeFirst();
}

export function lockRequest(tx: Tx, id: number): Promise<PaymentRequestRow | undefined> {
  return tx
    .selectFrom('payment_requests')
    .selectAll()
    .where('id', '=', id)
    .forNoKeyUpdate()
    .executeTakeFirst();
}

export function lockRequestByKey(
  tx: Tx,
  provider: string,
  callbackKey: string,
): Promise<PaymentRequestRow | undefined> {
  return tx
    .selectFrom('payment_requests')
    .selectAll()
    .where('callback_key', '=', callbackKey)
    .where('provider', '=', provider)
    .forNoKeyUpdate()
    .executeTakeFirst();
}

export function updateRequest(
  tx: Tx,
  id: number,
  changes: Updateable<PaymentRequests>,
): Promise<PaymentRequestRow> {
  return tx
    .updateTable('payment_requests')
    .set({ ...changes, updated_at: sql`business_now()` })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** The next step of a request: sending it, or asking for its outcome. */
export type Step = 'send' | 'ask';

/** Takes requests whose next step is due, for the time of a lease. If this instance dies, another takes them after the lease. */
export async function claimDue(
  db: Db,
  step: Step,
  limit: number,
  now: Date,
  leaseSeconds: number,
): Promise<PaymentRequestRow[]> {
  const leasedUntil = new Date(now.getTime() + leaseSeconds * 1_000);
  const { rows } = await sql<PaymentRequestRow>`
    update payment_requests r set next_step_at = ${leasedUntil}
    from (
      select id from payment_requests
      where next_step_at <= ${now} and (status = 'requested') = ${step === 'send'}
      order by next_step_at, id limit ${limit} for no key update skip locked
    ) due
    where r.id = due.id
    returning r.*`.execute(db);
  return rows;
}

/** The longest pause between two searches for the payment of a request. */
const LONGEST_SEARCH_PAUSE = sql`interval '1 hour'`;

/** Takes paid requests that are not linked to a payment yet. */
export async function claimWithoutPayment(
  db: Db,
  paidSince: Date,
  now: Date,
  limit: number,
): Promise<PaymentRequestRow[]> {
  const isCandidate = sql`status = 'paid' and payment_id is null and ended_at > ${paidSince}`;
  return claimForSearch(db, { isCandidate, startedAt: sql`ended_at` }, now, limit);
}

/** Takes requests without the provider's id and without an outcome. */
export async function claimUnanswerable(
  db: Db,
  sent: { since: Date; before: Date },
  now: Date,
  limit: number,
): Promise<PaymentRequestRow[]> {
  const isCandidate = sql`status = 'unknown' and provider_request_id is null
    and send_started_at between ${sent.since} and ${sent.before}`;
  return claimForSearch(db, { isCandidate, startedAt: sql`send_started_at` }, now, limit);
}

/**
 * Takes requests whose payment is searched for. Requests that were never tried come first, then the least recently tried ones.
 * The pause before a try is as long as the time from `startedAt` to the last try, up to LONGEST_SEARCH_PAUSE.
 */
async function claimForSearch(
  db: Db,
  { isCandidate, startedAt }: { isCandidate: RawBuilder<unknown>; startedAt: RawBuilder<unknown> },
  now: Date,
  limit: number,
): Promise<PaymentRequestRow[]> {
  const { rows } = await sql<PaymentRequestRow>`
    update payment_requests r set payment_tried_at = ${now}
    from (
      select id from payment_requests
      where ${isCandidate} and (payment_tried_at is null
        or payment_tried_at + least(payment_tried_at - ${startedAt}, ${LONGEST_SEARCH_PAUSE}) <= ${now})
      order by payment_tried_at nulls first, id limit ${limit} for no key update skip locked
    ) untried
    where r.id = untried.id
    returning r.*`.execute(db);
  return rows;
}

/**
 * Whether the payment of this request could also answer another request with the same phone, account and amount. The other request
 * is open, or it is paid and its payment is not known.
 */
export async function hasRival(
  db: Db,
  { id, phone, account_id: accountId, amount_minor: amount }: PaymentRequestRow,
  { from, until }: { from: Date; until: Date },
): Promise<boolean> {
  const { rows } = await sql`
    select from payment_requests
    where phone = ${phone} and account_id = ${accountId} and amount_minor = ${amount} and id <> ${id}
      and payment_id is null and status in ('requested', 'sent', 'unknown', 'paid')
      and send_started_at between ${new Date(from.getTime() - (until.getTime() - from.getTime()))} and ${until}
    limit 1`.execute(db);
  return rows.length > 0;
}

/** Finds the payment of a transaction, with the payer in its notification. */
export async function findPayment(
  db: Db,
  provider: string,
  receipt: string,
): Promise<ReportedPayment | undefined> {
  const { rows } = await sql<ReportedPayment>`
    select p.id, p.amount_minor, p.account_id,
      (select n.payer from notifications n
        where n.payment_id = p.id and ${HAS_PAYMENT}
        order by n.id limit 1) as payer
    from payments p where p.provider = ${provider} and p.provider_trans_id = ${receipt}`.execute(db);
  return rows[0];
}

/** Whether another request has the transaction. */
export async function isReceiptTaken(
  db: Db,
  { id, provider }: Pick<PaymentRequestRow, 'id' | 'provider'>,
  receipt: string,
): Promise<boolean> {
  const row = await db
    .selectFrom('payment_requests')
    .select('id')
    .where('provider', '=', provider)
    .where('receipt', '=', receipt)
    .where('id', '!=', id)
    .executeTakeFirst();
  return row !== undefined;
}

/** Finds the payments of a period that have the account and the amount of the request, and are linked to no request yet. */
export async function findPossiblePayments(
  db: Db,
  { provider, account_id: accountId, amount_minor: amount }: PaymentRequestRow,
  { from, until }: { from: Date; until: Date },
): Promise<PossiblePayment[]> {
  const { rows } = await sql<PossiblePayment>`
    select p.id, p.provider_trans_id as receipt, n.payer,
      not n.flags && ${[UNREADABLE_TIME, FUTURE_TIME]}::text[] as "hasTime"
    from payments p join notifications n on n.payment_id = p.id and ${HAS_PAYMENT}
    where p.account_id = ${accountId} and p.provider = ${provider} and p.amount_minor = ${amount}
      and n.trans_time between ${from} and ${until}
      and not exists (select from payment_requests r where r.payment_id = p.id)
      and not exists (select from payment_requests r where r.receipt = p.provider_trans_id and r.provider = p.provider)
    order by p.id`.execute(db);
  return rows;
}

export function listRequests(db: Db, plan: ListPlan, accountId?: number): Promise<Page<PaymentRequestRow>> {
  return fetchPage<PaymentRequestRow>(db, plan, {
    select: sql`select r.* from payment_requests r`,
    from: sql`from payment_requests r`,
    ...(accountId !== undefined && { where: [sql<boolean>`r.account_id = ${accountId}`], byKey: true }),
  });
}
