import { sql } from 'kysely';
import { auditRow } from '../../core/audit.ts';
import type { Tx } from '../../core/database/db.ts';
import { run } from '../../core/database/statements.ts';
import type { Row } from '../../core/database/tables.ts';
import { answerRow } from '../../core/http/idempotency.ts';
import type { Posting, PostingRows } from '../../ledger/rules.ts';
import { providerNamed } from '../providers/registry.ts';
import { type NotificationRow, type PaymentRow, referenceKey } from '../rules.ts';
import type {
  KnownNotification,
  KnownPayment,
  KnownTransaction,
  Outcome,
  PaymentPlan,
  PlannedPayment,
  ReportedReceipt,
} from './rules.ts';

/**
 * Takes the advisory locks of each receipt until the transaction ends, without waiting. They come before every other lock.
 * It also makes PostgreSQL keep generic plans for the transaction: it would plan statements with array parameters at every
 * call, which takes longer than running them.
 *
 * @param keys of each receipt: its reference, as `referenceLockName` gives it, and its idempotency key.
 * @returns for each receipt the keys that are locked elsewhere.
 */
export async function claim(tx: Tx, keys: readonly (readonly string[])[]): Promise<string[][]> {
  const rows = await run<{ held: string[] }>(
    tx,
    `select set_config('plan_cache_mode', 'force_generic_plan', true), array(
        select key from json_array_elements_text(receipt.keys) as key
        where not pg_try_advisory_xact_lock(hashtextextended(key, 0))) as held
    from json_array_elements($1::json) with ordinality as receipt (keys, at)
    order by receipt.at`,
    [JSON.stringify(keys)],
  );
  return rows.map(({ held }) => held);
}

/** All of them: a company has a handful. */
export function findPaymentMethods(tx: Tx): Promise<Row<'payment_methods'>[]> {
  return run(tx, 'select * from payment_methods', []);
}

/** Ids for new payments, ascending. */
export async function nextPaymentIds(tx: Tx, count: number): Promise<number[]> {
  if (count === 0) return [];
  const text = `select nextval('payments_id_seq') as id from generate_series(1, $1::int)`;
  const rows = await run<{ id: number }>(tx, text, [count]);
  return rows.map(({ id }) => id);
}

/**
 * What the books hold under each of the references.
 * @param keys as `referenceKey` gives them.
 * @param recordedKeys those of them that staff record.
 */
export async function findTransactions(
  tx: Tx,
  keys: readonly string[],
  recordedKeys: readonly string[],
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
    recordedKeys.length === 0 ? [] : findStatementLines(tx, recordedKeys),
  ]);
  const known = new Map<string, KnownTransaction>();
  const under = (key: string) => {
    const found = known.get(key) ?? { payments: [], notifications: [], statementId: null };
    known.set(key, found);
    return found;
  };
  for (const payment of payments) under(payment.reference_key ?? '').payments.push(payment);
  for (const notification of notifications) under(notification.trans_id).notifications.push(notification);
  for (const { receipt, statementId } of lines) under(receipt).statementId = statementId;
  return known;
}

/** The first statement that reports each of the transactions as a payment. */
function findStatementLines(tx: Tx, receipts: readonly string[]) {
  return run<{ receipt: string; statementId: number }>(
    tx,
    `select receipt, min(statement_id) as "statementId" from provider_statement_lines
    where receipt = any($1::text[]) and is_payment group by receipt`,
    [receipts],
  );
}

/** Locks payments that a receipt is to be linked with, without waiting; the ids of those that were free. */
export async function tryLockPayments(tx: Tx, ids: readonly number[]): Promise<Set<number>> {
  const { rows } = await sql<{ id: number }>`
    select id from payments where id = any(${[...ids]}::bigint[]) order by id for no key update skip locked`.execute(
    tx,
  );
  return new Set(rows.map(({ id }) => id));
}

/** Stores the outcome of a stored notification. @throws Error where there is no such notification. */
export async function recordOutcome(
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

/** Flags the notification that a report repeats, once. */
export async function addFlag(
  tx: Tx,
  { provider, transId, contentHash }: ReportedReceipt,
  flag: string,
): Promise<void> {
  await sql`
    update notifications set flags = array_append(flags, ${flag})
    where trans_id = ${transId} and provider = ${provider} and content_hash = ${contentHash}
      and not ${flag} = any(flags)`.execute(tx);
}

/** The report that a stored notification holds. @throws Error for one that was never readable. */
export function reportOf(row: NotificationRow): ReportedReceipt {
  const { trans_id: transId, amount_minor: amount, content_hash: contentHash } = row;
  if (transId === null || amount === null || contentHash === null) {
    throw new Error(`Notification ${row.id} was never readable.`);
  }
  return {
    provider: row.provider,
    methodCode: providerNamed(row.provider).methodCode,
    mustMatch: false, // It was acknowledged.
    source: row.source,
    providerStatementId: row.provider_statement_id,
    rawBody: row.raw_body,
    transId,
    amountMinor: BigInt(amount),
    contentHash,
    transTime: new Date(row.trans_time ?? row.received_at),
    businessShortCode: row.business_short_code,
    billRef: row.bill_ref,
    payer: row.payer,
    payerName: row.payer_name,
    flags: row.flags,
    stored: { id: row.id, outcome: row.outcome },
    acceptedPaymentId: null,
  };
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

/** The money event of a new payment, with all rows that belong to it. @param row as `paymentRowOf` makes it. */
export function postingOf(
  { payment, report, flags, keep }: PaymentPlan,
  row: PaymentRow,
  now: Date,
): Posting {
  const { accountId, amountMinor, paymentMethodId, paymentDate: valueDate, transactionRef } = payment;
  return {
    event: 'payment_received',
    valueDate,
    paymentId: row.id,
    movements: accountId === null ? [] : [{ accountId, movement: { kind: 'money_in', amountMinor } }],
    contra: [
      { ledgerAccount: 'clearing', amountMinor, paymentMethodId },
      ...(accountId === null ? [{ ledgerAccount: 'unmatched' as const, amountMinor: -amountMinor }] : []),
    ],
    rows: {
      payments: [{ ...row, reversed_at: null, created_at: now, updated_at: now }],
      audit_entries: [
        auditRow(payment.actor, {
          action: 'payment.record',
          resource: 'payment',
          resourceId: row.id,
          after: { accountId, amountMinor, paymentMethodId, transactionRef, valueDate },
        }),
      ],
      ...(report && rowsOf(report, postedOutcome(row, flags), now)),
      ...(keep && { idempotency_keys: [answerRow(keep.key, keep.status, keep.answerOf(row))] }),
    },
  };
}

/** The row of a report that is new; one that is stored already is updated instead. */
export function rowsOf(report: ReportedReceipt, outcome: Outcome, now: Date): PostingRows {
  return report.stored ? {} : { notifications: [notificationRow(report, outcome, now)] };
}

/** The outcome of a report whose payment was posted. */
export function postedOutcome({ id, account_id: accountId }: PaymentRow, flags: string[]): Outcome {
  const outcome = accountId === null ? 'unmatched' : 'matched';
  return { outcome, paymentId: id, conflictPaymentId: null, flags };
}

/** The payment as it is read back. */
export function paymentRowOf(payment: PlannedPayment, id: number, now: Date): PaymentRow {
  const { transactionRef, provider } = payment;
  return {
    id,
    account_id: payment.accountId,
    amount_minor: Number(payment.amountMinor),
    payment_method_id: payment.paymentMethodId,
    transaction_ref: transactionRef,
    reference_key: transactionRef === null ? null : referenceKey(transactionRef),
    payment_date: payment.paymentDate,
    status: payment.accountId === null ? 'unmatched' : 'matched',
    source: payment.source,
    match_method: payment.matchMethod,
    match_reason: payment.matchReason,
    provider: provider?.name ?? null,
    provider_trans_id: provider?.transId ?? null,
    reversed_at: null,
    reversal_reason: null,
    reconciliation_id: null,
    reconciliation_date: null,
    created_by: payment.actor.userId,
    created_at: now.toISOString(),
    updated_at: now.toISOString(),
  };
}

/** The row of a report that was processed at once. */
function notificationRow(
  report: ReportedReceipt,
  { outcome, paymentId, conflictPaymentId, flags }: Outcome,
  processedAt: Date,
): NonNullable<PostingRows['notifications']>[number] {
  return {
    provider: report.provider,
    source: report.source,
    provider_statement_id: report.providerStatementId,
    raw_body: report.rawBody,
    trans_id: report.transId,
    content_hash: report.contentHash,
    amount_minor: Number(report.amountMinor),
    trans_time: report.transTime,
    business_short_code: report.businessShortCode,
    bill_ref: report.billRef,
    payer: report.payer,
    payer_name: report.payerName,
    flags,
    status: 'processed',
    outcome,
    payment_id: paymentId,
    conflict_payment_id: conflictPaymentId,
    attempts: 1,
    processed_at: processedAt,
  };
}
