import { sql } from 'kysely';
import type { Db } from '../../core/database/db.ts';
import type { Row } from '../../core/database/tables.ts';
import type { Minor } from '../../core/values/money.ts';
import { FUTURE_TIME, UNREADABLE_TIME } from '../../payments/posting/rules.ts';
import type { Period } from './pull-rules.ts';

export type PullRow = Row<'provider_pulls'>;

export interface PullKey {
  provider: string;
  shortCode: string;
}

/** The time at which the latest import was done. Ignores imports that were undone later. */
export async function findLastImportEnd(db: Db): Promise<Date | null> {
  const row = await db
    .selectFrom('imports')
    .select('done_at')
    .where('status', '=', 'done')
    .orderBy('done_at', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row?.done_at == null ? null : new Date(row.done_at);
}

/** Adds the short codes that were never pulled. */
export async function insertPulls(db: Db, keys: readonly PullKey[]): Promise<void> {
  await db
    .insertInto('provider_pulls')
    .values(keys.map(({ provider, shortCode }) => ({ provider, short_code: shortCode })))
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

export async function findDuePulls(db: Db): Promise<PullKey[]> {
  const rows = await db
    .selectFrom('provider_pulls')
    .select(['provider', 'short_code'])
    .where('next_at', '<=', sql<string>`business_now()`)
    .orderBy('next_at')
    .execute();
  return rows.map(({ provider, short_code: shortCode }) => ({ provider, shortCode }));
}

export function findPull(db: Db, { provider, shortCode }: PullKey): Promise<PullRow | undefined> {
  return db
    .selectFrom('provider_pulls')
    .selectAll()
    .where('provider', '=', provider)
    .where('short_code', '=', shortCode)
    .executeTakeFirst();
}

export function findPulls(db: Db): Promise<PullRow[]> {
  return db.selectFrom('provider_pulls').selectAll().orderBy('provider').orderBy('short_code').execute();
}

export async function recordRegistration(db: Db, { provider, shortCode }: PullKey): Promise<void> {
  await sql`update provider_pulls set registered_at = business_now()
    where provider = ${provider} and short_code = ${shortCode}`.execute(db);
}

interface PullProgress {
  /** The value of `complete_until` before this pull. If the row has another value now, an earlier period must be pulled again. */
  expected: Date | null;
  completeUntil: Date;
  incompleteSince: Date | null;
  nextAt: Date;
  lost: Period | null;
}

/** Records nothing and returns false if an earlier period must be pulled again. */
export async function recordProgress(
  db: Db,
  { provider, shortCode }: PullKey,
  { expected, completeUntil, incompleteSince, nextAt, lost }: PullProgress,
): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update provider_pulls set complete_until = ${completeUntil}::timestamptz,
      incomplete_since = ${incompleteSince}::timestamptz, next_at = ${nextAt}, succeeded_at = business_now(),
      lost_from = coalesce(${lost?.from}, lost_from), lost_until = coalesce(${lost?.to}, lost_until),
      failures_in_a_row = 0, failure = null
    where provider = ${provider} and short_code = ${shortCode}
      and complete_until is not distinct from ${expected}::timestamptz`.execute(db);
  return numAffectedRows === 1n;
}

export async function recordPullFailure(
  db: Db,
  { provider, shortCode }: PullKey,
  { failure, nextAt, isIncomplete }: { failure: string; nextAt: Date; isIncomplete: boolean },
): Promise<void> {
  await sql`
    update provider_pulls set failures_in_a_row = failures_in_a_row + 1, failure = ${failure}, next_at = ${nextAt},
      incomplete_since = case when ${isIncomplete} then coalesce(incomplete_since, business_now()) else incomplete_since end
    where provider = ${provider} and short_code = ${shortCode}`.execute(db);
}

export async function addFound(db: Db, { provider, shortCode }: PullKey, count: number): Promise<void> {
  await sql`update provider_pulls set found_count = found_count + ${count}
    where provider = ${provider} and short_code = ${shortCode}`.execute(db);
}

/** Records a period whose list is incomplete. A recorded period that it overlaps or continues is extended. */
export async function recordIncomplete(
  db: Db,
  { provider, shortCode }: PullKey,
  { from, to }: Period,
  reason: string,
): Promise<void> {
  const { numAffectedRows } = await sql`
    update incomplete_pulls set until_time = greatest(until_time, ${to}::timestamptz), reason = ${reason},
      updated_at = business_now()
    where id = (
      select id from incomplete_pulls
      where provider = ${provider} and short_code = ${shortCode} and until_time >= ${from}::timestamptz
        and from_time <= ${to}::timestamptz
      order by until_time desc limit 1)`.execute(db);
  if (numAffectedRows === 1n) return;
  await db
    .insertInto('incomplete_pulls')
    .values({ provider, short_code: shortCode, from_time: from, until_time: to, reason })
    .execute();
}

/** The latest periods whose list is incomplete, of each short code. */
export function findIncompletePulls(db: Db, limit: number): Promise<Row<'incomplete_pulls'>[]> {
  return db.selectFrom('incomplete_pulls').selectAll().orderBy('until_time', 'desc').limit(limit).execute();
}

/**
 * Finds a payment that the provider has reported in a call, with a readable time in the period. Answers to payment requests and
 * reversed payments do not count, because the provider may not list them.
 * @returns the transaction id.
 */
export async function findReportedPayment(
  db: Db,
  { provider, shortCode }: PullKey,
  { from, to }: Period,
): Promise<string | undefined> {
  // Calls arrive after their payments, so the index on `received_at` finds the few rows to look at.
  const { rows } = await sql<{ trans_id: string }>`
    select n.trans_id from notifications n join payments p on p.id = n.payment_id
    where n.received_at >= ${from}::timestamptz and n.trans_time between ${from}::timestamptz and ${to}::timestamptz
      and n.provider = ${provider} and n.business_short_code = ${shortCode} and n.source = 'webhook'
      and n.payment_request_id is null and n.status = 'processed' and n.outcome <> 'differs'
      and not n.flags && ${[UNREADABLE_TIME, FUTURE_TIME]}::text[] and p.status <> 'reversed'
    limit 1`.execute(db);
  return rows[0]?.trans_id;
}

/** Finds the transactions for which a notification with the same amount is stored. The notification may still be pending. */
export async function findKnownTransactions(
  db: Db,
  provider: string,
  transactions: readonly { transId: string; amountMinor: Minor }[],
): Promise<Set<string>> {
  const { rows } = await sql<{ trans_id: string }>`
    select distinct n.trans_id
    from unnest(${transactions.map(({ transId }) => transId)}::text[],
      ${transactions.map(({ amountMinor }) => amountMinor)}::bigint[]) as asked (trans_id, amount_minor)
    join notifications n on n.trans_id = asked.trans_id and n.amount_minor = asked.amount_minor
    where n.provider = ${provider} and n.status <> 'rejected'`.execute(db);
  return new Set(rows.map(({ trans_id: transId }) => transId));
}
