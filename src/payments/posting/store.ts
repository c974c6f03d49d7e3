import { sql } from 'kysely';
import type { Tx } from '../../core/database/db.ts';
import { lockId } from '../../core/database/named-locks.ts';
import { rowsAsJson } from '../../core/database/rows.ts';
import { run } from '../../core/database/statements.ts';
import type { Row } from '../../core/database/tables.ts';
import { externalIdKey, hasExternalIdKey } from '../../core/http/external-ids.ts';
import { businessDay } from '../../core/values/dates.ts';
import { referenceKey, similarKey } from '../../core/values/reference.ts';
import type { PaymentRow } from '../rules.ts';
import { hasKey, keysToFind, SIMILAR_WITHIN_DAYS } from './identity-rules.ts';
import {
  type ExternalPayment,
  type KnownNotification,
  type KnownPayment,
  type KnownTransaction,
  type ManualPayment,
  type PaymentToPost,
  REPEATED_AFTER_REVERSAL,
  type StoredOutcome,
  UNKNOWN_TRANSACTION,
} from './rules.ts';
import { type AlikePayment, MAX_NAMED_PAYMENTS } from './warning-rules.ts';

/**
 * Takes advisory locks without waiting, and holds them until the end of the transaction. Call it before taking any other lock.
 * The SQL statement also makes the transaction use generic query plans, because planning a statement with array parameters takes
 * longer than running it.
 *
 * @returns for each payment, the names that another transaction has locked.
 */
export async function takeFreeNames(
  tx: Tx,
  items: readonly Pick<PaymentToPost, 'locks' | 'sharedLocks'>[],
): Promise<string[][]> {
  const rows = await run<{ missed: string[] }>(
    tx,
    `select set_config('plan_cache_mode', 'force_generic_plan', true), array(
        select name from json_array_elements_text(incoming.names -> 'locks') as name
        where not pg_try_advisory_xact_lock(${lockId('name')})
        union all
        select name from json_array_elements_text(incoming.names -> 'sharedLocks') as name
        where not pg_try_advisory_xact_lock_shared(${lockId('name')})) as missed
    from json_array_elements($1::json) with ordinality as incoming (names, at)
    order by incoming.at`,
    [JSON.stringify(items.map(({ locks, sharedLocks }) => ({ locks, sharedLocks })))],
  );
  return rows.map(({ missed }) => missed);
}

/** Finds all payment methods, active and inactive. */
export function findPaymentMethods(tx: Tx): Promise<Row<'payment_methods'>[]> {
  return run(tx, 'select * from payment_methods', []);
}

/**
 * Takes ids for new payments, in ascending order, and for new notifications.
 * @param withNotification - for each payment, whether its notification is new.
 */
export function takeIds(
  tx: Tx,
  withNotification: readonly boolean[],
): Promise<{ payment: number; notification: number | null }[]> {
  const text = `select nextval('payments_id_seq') as payment, case when is_new then nextval('notifications_id_seq') end as notification
    from unnest($1::boolean[]) with ordinality as item (is_new, at) order by at`;
  return run(tx, text, [withNotification]);
}

/**
 * The columns of `KnownPayment` that a payment `p` does not have. They are no joins, because PostgreSQL expects many payments for an array
 * of references, and would read whole tables for a join.
 */
const MORE_COLUMNS = `
  coalesce((select role from users where id = p.created_by), (select role from api_keys where id = p.api_key_id)) as recorder_role,
  (select permissions from api_keys where id = p.api_key_id) as key_permissions,
  (select customer_id from accounts where id = p.account_id) as customer_id,
  exists (select from approvals where payment_id = p.id and status = 'pending') as awaits_approval`;

/**
 * Finds what is stored about the transaction of each payment to post, in the order of the payments. Statement lines are read only for
 * manual payments.
 */
export async function findKnown(
  tx: Tx,
  items: readonly PaymentToPost[],
  timeZone: string,
): Promise<KnownTransaction[]> {
  const keys = items.flatMap(({ reference }) => reference ?? []);
  const manualKeys = items.flatMap((item) => ('manual' in item ? (item.reference ?? []) : []));
  const [payments, notifications, lines, withOtherKeys] = await Promise.all([
    findPaymentsAndSimilar(tx, keys),
    findNotifications(tx, keys),
    findStatementLines(tx, manualKeys),
    findByOtherKeys(tx, items, timeZone),
  ]);
  const stored = payments.map((payment) => ({ payment, similar: similarKey(payment.reference_key ?? '') }));
  return items.map(({ reference }, at) => {
    if (reference === null) return UNKNOWN_TRANSACTION;
    const key = similarKey(reference);
    const similar = stored.filter((one) => one.similar === key).map(({ payment }) => payment);
    return {
      payments: similar.filter((one) => one.reference_key === reference),
      similar: [
        ...similar.filter((one) => one.reference_key !== reference && one.status !== 'reversed'),
        ...(withOtherKeys[at] ?? []),
      ],
      notifications: notifications.filter((one) => one.trans_id === reference),
      statementId: lines.find(({ receipt }) => receipt === reference)?.statementId ?? null,
    };
  });
}

/** Finds payments by references, and by similar ones. @param keys - in the form of `referenceKey`. */
async function findPaymentsAndSimilar(tx: Tx, keys: readonly string[]): Promise<KnownPayment[]> {
  if (keys.length === 0) return [];
  // The index needs the pattern. Without the index, the pattern takes longer than the comparison, so it is the second.
  const similarKeys = [...new Set(keys.map(similarKey))];
  return run(
    tx,
    `select p.*, ${MORE_COLUMNS}
    from payments p
    where (p.reference_key = any($1::text[])
        or translate(p.reference_key, 'OI', '01') = any($2::text[]) and p.reference_key ~ '[OI]')
      and (p.status <> 'reversed' or p.provider is not null)`,
    [[...new Set([...keys, ...similarKeys])], similarKeys],
  );
}

async function findNotifications(tx: Tx, keys: readonly string[]): Promise<KnownNotification[]> {
  if (keys.length === 0) return [];
  return run(
    tx,
    `select id, provider, source, trans_id, status, outcome, content_hash, amount_minor, payment_id, conflict_payment_id,
      payment_request_id, trans_time, business_short_code, bill_ref, payer, flags, time_zone
    from notifications where trans_id = any($1::text[]) and status <> 'rejected' order by id`,
    [keys],
  );
}

/** Finds, for each key, the first statement that has a payment line with this receipt. */
async function findStatementLines(
  tx: Tx,
  keys: readonly string[],
): Promise<{ receipt: string; statementId: number }[]> {
  if (keys.length === 0) return [];
  return run(
    tx,
    `select receipt, min(statement_id) as "statementId" from provider_statement_lines
    where receipt = any($1::text[]) and is_payment group by receipt`,
    [keys],
  );
}

/** What a report says about its payment. Null if the payment was found without its report. */
interface Reported {
  raw_body: string | null;
  bill_ref: string | null;
  payer: string | null;
}

/** More than the payments may differ by: the last day has to end, and the days of the database have another time zone. */
const REPORTED_WITHIN = `${SIMILAR_WITHIN_DAYS + 2} days`;

/**
 * Finds, for each payment to post, the unreversed payments of the other side (staff or providers) of the same amount within a few days
 * whose reference is one of its other ids, or that have its reference as one of theirs. Reports with the reference of a manual payment
 * are searched on its account, and among the unmatched payments that were reported in the days around its date, because no index has
 * the ids.
 */
async function findByOtherKeys(
  tx: Tx,
  items: readonly PaymentToPost[],
  timeZone: string,
): Promise<KnownPayment[][]> {
  const found: KnownPayment[][] = items.map(() => []);
  const asked = items.flatMap((one, at) => {
    const isManual = 'manual' in one;
    const { amountMinor } = isManual ? one.manual : one.notification;
    const day = isManual ? one.manual.paymentDate : businessDay(one.notification.transTime, timeZone);
    return keysToFind(one).map((key) => ({
      ...{ at, key, day, is_manual: isManual, amount_minor: String(amountMinor) },
      ...{ is_own: key === one.reference, account_id: one.namedAccountId },
    }));
  });
  if (asked.length === 0) return found;
  const isNear = `payment_date between asked.day - ${SIMILAR_WITHIN_DAYS} and asked.day + ${SIMILAR_WITHIN_DAYS}`;
  const rows = await run<KnownPayment & { at: number; key: string } & Reported>(
    tx,
    `select asked.at, asked.key, found.*
    from json_to_recordset($1::json) as asked (at int, key text, is_own boolean,
      is_manual boolean, amount_minor bigint, day date, account_id bigint)
    cross join lateral (
      select p.*, ${MORE_COLUMNS}
      from (
        select payments.*, null as raw_body, null as bill_ref, null as payer from payments
        where not asked.is_own and reference_key = asked.key and amount_minor = asked.amount_minor and ${isNear}
          and (provider is null) <> asked.is_manual and status <> 'reversed'
        union all
        select reported.*, n.raw_body, n.bill_ref, n.payer from (
          select * from payments
          where account_id = asked.account_id and amount_minor = asked.amount_minor and ${isNear}
          union all
          select * from payments
          where status = 'unmatched' and amount_minor = asked.amount_minor
            and created_at between asked.day - interval '${REPORTED_WITHIN}' and asked.day + interval '${REPORTED_WITHIN}'
        ) reported join notifications n on n.payment_id = reported.id
        where asked.is_manual and asked.is_own and reported.provider is not null and reported.status <> 'reversed'
          and n.outcome is distinct from 'differs' and strpos(upper(n.raw_body), asked.key) > 0
        union all
        select payments.*, null, null, null from payments
        where not asked.is_manual and asked.is_own and amount_minor = asked.amount_minor and ${isNear}
          and provider is null and transaction_ref ~ '[^A-Za-z0-9]' and status <> 'reversed'
          and strpos(reference_key, asked.key) > 0
      ) p
    ) found`,
    [JSON.stringify(asked)],
  );
  for (const { at, key, raw_body: rawBody, bill_ref: billRef, payer, ...payment } of rows) {
    const report = rawBody === null ? null : { rawBody, billRef, payer };
    if (hasKey(payment, report, key) && !found[at]?.some(({ id }) => id === payment.id))
      found[at]?.push(payment);
  }
  return found;
}

/** Finds payments by their external ids, in the order of the ids. */
export async function findByExternalIds(
  tx: Tx,
  externalIds: readonly (string | null)[],
): Promise<(ExternalPayment | undefined)[]> {
  const keys = externalIds.map((id) => (id === null ? null : externalIdKey(id)));
  const given = keys.flatMap((key) => key ?? []);
  if (given.length === 0) return [];
  const rows = await run<ExternalPayment & { external_id: string }>(
    tx,
    `select id, external_id, account_id, amount_minor, payment_method_id, status
    from payments where ${hasExternalIdKey('any($1::text[])')}`,
    [given],
  );
  const found = new Map(rows.map((row) => [externalIdKey(row.external_id), row]));
  return keys.map((key) => (key === null ? undefined : found.get(key)));
}

/**
 * Finds, for each manual payment, the unreversed payments that `findWarnings` compares with it.
 * @param payments - undefined for a notification, which is compared with nothing.
 */
export async function findAlikePayments(
  tx: Tx,
  payments: readonly (ManualPayment | undefined)[],
): Promise<AlikePayment[][]> {
  const found: AlikePayment[][] = payments.map(() => []);
  if (!payments.some((payment) => payment)) return found;
  const keyOf = (payment: ManualPayment | undefined) =>
    payment?.transactionRef ? referenceKey(payment.transactionRef) : null;
  const rows = await run<AlikePayment & { at: number }>(
    tx,
    `select incoming.at, p.*
    from unnest($1::bigint[], $2::bigint[], $3::date[], $4::text[]) with ordinality
        as incoming (account_id, amount_minor, payment_date, reference_key, at),
      lateral (
        select id, account_id, amount_minor, payment_date, reference_key from payments
        where account_id = incoming.account_id and payment_date = incoming.payment_date
          and amount_minor = incoming.amount_minor and status <> 'reversed'
          and (reference_key is null or incoming.reference_key is null or reference_key = incoming.reference_key)
        order by id desc limit ${MAX_NAMED_PAYMENTS}
      ) p`,
    [
      payments.map((payment) => payment?.accountId ?? null),
      payments.map((payment) => payment?.amountMinor ?? null),
      payments.map((payment) => payment?.paymentDate ?? null),
      payments.map(keyOf),
    ],
  );
  for (const { at, ...payment } of rows) found[at - 1]?.push(payment);
  return found;
}

/** Locks payments without waiting. @returns the ids of the locked payments. */
export async function takeFreePayments(tx: Tx, ids: readonly number[]): Promise<Set<number>> {
  if (ids.length === 0) return new Set();
  const text =
    'select id from payments where id = any($1::bigint[]) order by id for no key update skip locked';
  const rows = await run<{ id: number }>(tx, text, [ids]);
  return new Set(rows.map(({ id }) => id));
}

interface RowsToUpdate {
  payments: readonly PaymentRow[];
  notifications: readonly (StoredOutcome & { id: number })[];
  repeatedAfterReversal: readonly number[];
}

/** The statements that update stored payments, before the new rows are inserted: a new payment can take over a transaction. */
export function paymentUpdates({ payments }: RowsToUpdate) {
  if (payments.length === 0) return [];
  const text = `update payments p set account_id = c.account_id, status = c.status, match_method = c.match_method,
      match_reason = c.match_reason, provider = c.provider, provider_trans_id = c.provider_trans_id,
      reference_key = c.reference_key, updated_at = business_now()
    from json_populate_recordset(null::payments, $1::json) c where p.id = c.id`;
  return [{ text, values: [rowsAsJson(payments)] }];
}

/** The statements that update stored notifications, after the new rows are inserted: an outcome names a new payment. */
export function notificationUpdates({ payments, notifications, repeatedAfterReversal }: RowsToUpdate) {
  const outcomes = notifications.map(({ id, outcome, paymentId, conflictPaymentId, flags }) => ({
    ...{ id, outcome, flags, payment_id: paymentId, conflict_payment_id: conflictPaymentId },
  }));
  return [
    ...(outcomes.length > 0 ? [{ text: UPDATE_OUTCOMES, values: [rowsAsJson(outcomes)] }] : []),
    ...(repeatedAfterReversal.length > 0
      ? [{ text: ADD_FLAG, values: [repeatedAfterReversal, REPEATED_AFTER_REVERSAL] }]
      : []),
    ...(payments.length > 0 ? [{ text: RELEASE_CONFLICTS, values: [payments.map(({ id }) => id)] }] : []),
  ];
}

const UPDATE_OUTCOMES = `
  update notifications n set status = 'processed', outcome = p.outcome, payment_id = p.payment_id,
    conflict_payment_id = p.conflict_payment_id, flags = p.flags, failure = null, attempts = n.attempts + 1,
    processed_at = business_now()
  from json_populate_recordset(null::notifications, $1::json) p where n.id = p.id`;
const ADD_FLAG = `
  update notifications set flags = array_append(flags, $2::text)
  where id = any($1::bigint[]) and not $2 = any(flags)`;
const RELEASE_CONFLICTS = `
  update notifications set status = 'pending', outcome = null, conflict_payment_id = null, processed_at = null
  where outcome = 'conflict' and conflict_payment_id = any($1::bigint[])`;

/**
 * Lets the job process the notifications that are in conflict with a payment again. Called when the payment is no longer an unlinked
 * manual payment: its reference can be similar to several transactions.
 */
export async function releaseConflicts(tx: Tx, paymentId: number): Promise<void> {
  await run(tx, RELEASE_CONFLICTS, [[paymentId]]);
}

/** Removes the provider's transaction from a payment, so that another payment can have the transaction. */
export async function unlinkFromProvider(tx: Tx, id: number): Promise<void> {
  await tx
    .updateTable('payments')
    .set({ provider: null, provider_trans_id: null, updated_at: sql`business_now()` })
    .where('id', '=', id)
    .execute();
}
