import { sql } from 'kysely';
import { statusesIn } from '../../account-status/rules.ts';
import type { Db, Tx } from '../../core/database/db.ts';
import { literalList } from '../../core/database/literal-list.ts';
import { run } from '../../core/database/statements.ts';
import type { Row } from '../../core/database/tables.ts';
import { referenceKey } from '../../core/values/reference.ts';
import type { Candidate, Readings } from '../matching/rules.ts';
import {
  type KnownNotification,
  type KnownPayment,
  type KnownTransaction,
  type Notification,
  type Outcome,
  REPEATED_AFTER_REVERSAL,
  referenceLockName,
} from './rules.ts';

/**
 * Takes advisory locks until the end of the transaction, without waiting. They come before every other lock.
 * The statement also sets generic plans for the transaction, because planning statements with array parameters takes longer
 * than running them.
 *
 * @param names the lock names of each incoming payment.
 * @returns for each incoming payment the names that another transaction has locked.
 */
export async function tryLockNames(tx: Tx, names: readonly (readonly string[])[]): Promise<string[][]> {
  const rows = await run<{ busy: string[] }>(
    tx,
    `select set_config('plan_cache_mode', 'force_generic_plan', true), array(
        select name from json_array_elements_text(incoming.names) as name
        where not pg_try_advisory_xact_lock(hashtextextended(name, 0))) as busy
    from json_array_elements($1::json) with ordinality as incoming (names, at)
    order by incoming.at`,
    [JSON.stringify(names)],
  );
  return rows.map(({ busy }) => busy);
}

/**
 * Locks a reference until the end of the transaction, and waits while another transaction has locked it: staff and the provider
 * may report one transaction at the same moment. It comes before every other lock.
 */
export async function lockReference(tx: Tx, reference: string): Promise<void> {
  const name = referenceLockName(referenceKey(reference));
  await run(tx, 'select pg_advisory_xact_lock(hashtextextended($1, 0))', [name]);
}

/** All payment methods, active or not; a company has a handful. */
export function findPaymentMethods(tx: Tx): Promise<Row<'payment_methods'>[]> {
  return run(tx, 'select * from payment_methods', []);
}

/** Takes ids for new payments, ascending. */
export async function nextPaymentIds(tx: Tx, count: number): Promise<number[]> {
  if (count === 0) return [];
  const text = `select nextval('payments_id_seq') as id from generate_series(1, $1::int)`;
  const rows = await run<{ id: number }>(tx, text, [count]);
  return rows.map(({ id }) => id);
}

/**
 * Finds what the books have under each of the references.
 * @param keys in the form of `referenceKey`.
 * @param manualKeys the keys of manual payments.
 */
export async function findTransactions(
  tx: Tx,
  keys: readonly string[],
  manualKeys: readonly string[],
): Promise<ReadonlyMap<string, KnownTransaction>> {
  if (keys.length === 0) return new Map();
  const [payments, notifications, lines] = await Promise.all([
    run<KnownPayment>(
      tx,
      `select p.*, u.role as recorder_role, a.customer_id
      from payments p left join users u on u.id = p.created_by left join accounts a on a.id = p.account_id
      where p.reference_key = any($1::text[]) and (p.status <> 'reversed' or p.provider is not null)`,
      [keys],
    ),
    run<KnownNotification>(
      tx,
      `select id, provider, trans_id, status, outcome, content_hash, amount_minor, payment_id, conflict_payment_id
      from notifications where trans_id = any($1::text[]) order by id`,
      [keys],
    ),
    manualKeys.length === 0 ? [] : findStatementLines(tx, manualKeys),
  ]);
  const transactions = new Map<string, KnownTransaction>();
  const under = (key: string) => {
    const transaction = transactions.get(key) ?? { payments: [], notifications: [], statementId: null };
    transactions.set(key, transaction);
    return transaction;
  };
  for (const payment of payments) under(payment.reference_key ?? '').payments.push(payment);
  for (const notification of notifications) under(notification.trans_id).notifications.push(notification);
  for (const { receipt, statementId } of lines) under(receipt).statementId = statementId;
  return transactions;
}

/** The first statement with a payment line for each of the transactions. */
function findStatementLines(tx: Tx, keys: readonly string[]) {
  return run<{ receipt: string; statementId: number }>(
    tx,
    `select receipt, min(statement_id) as "statementId" from provider_statement_lines
    where receipt = any($1::text[]) and is_payment group by receipt`,
    [keys],
  );
}

/** For each reading; more accounts of a customer do not change the decision. */
const MAX_CANDIDATES = 20;

/** A condition on accounts `a`: payments are still expected. */
export const IS_OPEN = sql<boolean>`a.status in ${literalList(statusesIn('open'))}`;

/** Finds for each of the readings the accounts that it points to, with the match method of each. */
export async function findCandidates(db: Db, readings: readonly Readings[]): Promise<Candidate[][]> {
  if (readings.length === 0) return [];
  const { rows } = await sql<At<Candidate>>`
    select r.at::int as at, found.*
    from unnest(
      ${readings.map(({ accountId }) => accountId)}::bigint[],
      ${readings.map(({ nationalIdKey }) => nationalIdKey)}::text[],
      ${readings.map(({ phone }) => phone)}::text[],
      ${readings.map(({ bareAccountId }) => bareAccountId)}::bigint[],
      ${readings.map(({ payerSha256 }) => payerSha256)}::bytea[],
      ${readings.map(({ typedKey }) => typedKey)}::text[]
    ) with ordinality as r (account_id, national_id_key, phone, bare_account_id, payer_sha256, typed_key, at)
    cross join lateral (
      select 'account_number' as method, a.id as "accountId", ${IS_OPEN} as "isOpen",
          null::bigint as "overruledAccountId", null::date as "assignedOn"
        from accounts a where a.id = r.account_id
      union all
      (select 'national_id', a.id, true, null, null from customers c join accounts a on a.customer_id = c.id
        where c.national_id_key = r.national_id_key and ${IS_OPEN} order by a.id limit ${MAX_CANDIDATES})
      union all
      (select 'phone', a.id, true, null, null from customers c join accounts a on a.customer_id = c.id
        where c.phone = r.phone and ${IS_OPEN} order by a.id limit ${MAX_CANDIDATES})
      union all
      select 'account_id', a.id, true, null, null from accounts a join customers c on c.id = a.customer_id
        where a.id = r.bare_account_id and c.phone_sha256 = r.payer_sha256 and ${IS_OPEN}
      union all
      (select 'payer_phone', a.id, true, null, null from customers c join accounts a on a.customer_id = c.id
        where c.phone_sha256 = r.payer_sha256 and ${IS_OPEN} order by a.id limit ${MAX_CANDIDATES})
      union all
      select 'learned', a.id, true, l.overruled_account_id, l.assigned_on
        from (
          select * from learned_references
          where payer_sha256 = r.payer_sha256 and typed_key = r.typed_key order by id desc limit 1
        ) l join accounts a on a.id = l.account_id
        where ${IS_OPEN}
    ) found`.execute(db);
  return grouped(rows, readings.length);
}

/** A row with the position of the input that it belongs to, counted from 1. */
export type At<Row> = Row & { at: number };

/** The rows of each input. */
export function grouped<Row>(rows: At<Row>[], count: number): Row[][] {
  const groups: Row[][] = Array.from({ length: count }, () => []);
  for (const row of rows) groups[row.at - 1]?.push(row);
  return groups;
}

/** Locks payments that the transaction will link or unlink, without waiting. @returns the ids that it has locked. */
export async function tryLockPayments(tx: Tx, ids: readonly number[]): Promise<Set<number>> {
  const text =
    'select id from payments where id = any($1::bigint[]) order by id for no key update skip locked';
  const rows = await run<{ id: number }>(tx, text, [ids]);
  return new Set(rows.map(({ id }) => id));
}

/** Makes a manual payment the payment of the provider's transaction. */
export async function linkToProvider(
  tx: Tx,
  id: number,
  { provider, transId }: Pick<Notification, 'provider' | 'transId'>,
): Promise<void> {
  await tx
    .updateTable('payments')
    .set({
      provider,
      provider_trans_id: transId,
      // A payment that staff have unassigned stays in the worklist: nothing has found its account.
      match_method: sql`case when account_id is null then null else 'manual_entry'::match_method end`,
      match_reason: null,
      updated_at: sql`business_now()`,
    })
    .where('id', '=', id)
    .execute();
}

/** Takes the provider's transaction from a payment, so that another payment can have it. */
export async function unlinkFromProvider(tx: Tx, id: number): Promise<void> {
  await tx
    .updateTable('payments')
    .set({ provider: null, provider_trans_id: null, updated_at: sql`business_now()` })
    .where('id', '=', id)
    .execute();
}

/** Updates the outcome of a stored notification. @throws Error if there is no such notification. */
export async function updateOutcome(
  tx: Tx,
  id: number,
  { outcome, paymentId, conflictPaymentId, flags }: Outcome,
): Promise<void> {
  const { numAffectedRows } = await sql`
    update notifications set status = 'processed', outcome = ${outcome}, payment_id = ${paymentId},
      conflict_payment_id = ${conflictPaymentId}, flags = ${flags}, failure = null, attempts = attempts + 1,
      processed_at = business_now()
    where id = ${id}`.execute(tx);
  if (numAffectedRows !== 1n) throw new Error(`There is no notification ${id}.`);
}

/** Flags the stored notification with the same content as repeated after a reversal. */
export async function flagRepeatAfterReversal(
  tx: Tx,
  { provider, transId, contentHash }: Notification,
): Promise<void> {
  await sql`
    update notifications set flags = array_append(flags, ${REPEATED_AFTER_REVERSAL})
    where trans_id = ${transId} and provider = ${provider} and content_hash = ${contentHash}
      and not ${REPEATED_AFTER_REVERSAL} = any(flags)`.execute(tx);
}
