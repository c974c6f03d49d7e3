import { type RawBuilder, type Selectable, sql } from 'kysely';
import { formatAccountNumber } from '../accounts/account-number.ts';
import { insertAudit } from '../core/audit.ts';
import { type Actor, amountOf, type Currency } from '../core/context.ts';
import type { PlainDate } from '../core/dates.ts';
import { type Db, lookUp, type Tx, violatedForeignKey, violatedUnique } from '../core/db.ts';
import { duplicate, notFound } from '../core/errors.ts';
import { insertEntries, type LedgerLine } from '../core/ledger.ts';
import { fetchPage } from '../core/list-page.ts';
import type { ListPlan } from '../core/list-query.ts';
import type { Minor } from '../core/money.ts';
import type { MatchMethod, PaymentSource, Payments, UserRole } from '../core/tables.ts';
import { REASON } from './matching.ts';
import { referenceKey } from './rules.ts';

export type PaymentRow = Selectable<Payments>;

/** Written out, so that a plan made for any value still sees that a partial index covers it. */
const NOT_REVERSED = sql<boolean>`status <> 'reversed'`;

export interface ProviderTransaction {
  name: string;
  transId: string;
}

export interface NewPaymentRow {
  accountId: number | null;
  amountMinor: Minor;
  paymentMethodId: number;
  transactionRef: string | null;
  paymentDate: PlainDate;
  source: PaymentSource;
  matchMethod: MatchMethod | null;
  /** Where the method alone does not explain the match. */
  matchReason?: string;
  /** Null for a payment entered by hand. */
  provider: ProviderTransaction | null;
}

/** The id of the payment that a statement inserts, in what goes with it. */
const NEW_PAYMENT_ID = sql<number>`(select id from payment)`;

/** What else is written with a payment, given its id in SQL. */
export type Along = (paymentId: RawBuilder<number>) => RawBuilder<unknown>;

/**
 * The statement that inserts a payment with its ledger entries and its audit row: one, since each more would be
 * one more to wait for while the account is locked. What refuses it, `whyRefused` tells.
 */
export function paymentInsert(
  actor: Actor,
  payment: NewPaymentRow,
  lines: LedgerLine[],
  along?: Along,
): RawBuilder<PaymentRow> {
  const { accountId, amountMinor, paymentMethodId, transactionRef, paymentDate: valueDate } = payment;
  const entries = insertEntries({
    event: 'payment_received',
    accountId,
    paymentId: NEW_PAYMENT_ID,
    valueDate,
    lines,
  });
  const audited = insertAudit(actor, {
    action: 'payment.record',
    resource: 'payment',
    resourceId: NEW_PAYMENT_ID,
    after: { accountId, amountMinor, paymentMethodId, transactionRef, valueDate },
  });
  return sql`
    with payment as (
      insert into payments (account_id, amount_minor, payment_method_id, transaction_ref, reference_key,
        payment_date, status, source, match_method, match_reason, provider, provider_trans_id, created_by)
      values (${accountId}, ${amountMinor}, ${paymentMethodId}, ${transactionRef},
        ${transactionRef === null ? null : referenceKey(transactionRef)}, ${valueDate},
        ${accountId === null ? 'unmatched' : 'matched'}, ${payment.source}, ${payment.matchMethod},
        ${payment.matchReason ?? null}, ${payment.provider?.name ?? null}, ${payment.provider?.transId ?? null},
        ${actor.userId})
      returning *
    ), entries as (${entries}), audited as (${audited})${along ? sql`, along as (${along(NEW_PAYMENT_ID)})` : sql``}
    select * from payment`;
}

/** DUPLICATE_ENTRY when an unreversed payment of the method has the reference, NOT_FOUND for the method. */
export function whyRefused(error: unknown, { paymentMethodId, transactionRef }: NewPaymentRow): unknown {
  if (violatedUnique(error)?.startsWith('payments_trans')) {
    // Of the method, or what the provider reported under the reference.
    const isOfMethod = sql`payment_method_id = ${paymentMethodId} and ${NOT_REVERSED}`;
    const existing = sql<{ id: number }>`
      select id from payments
      where reference_key = ${referenceKey(transactionRef ?? '')} and (${isOfMethod} or provider is not null)
      order by not (${isOfMethod}), id limit 1`;
    return duplicate('payment', 'transactionRef', existing);
  }
  if (violatedForeignKey(error) === 'payments_payment_method_id_fkey') {
    return notFound('payment_method', paymentMethodId, 'paymentMethodId');
  }
  return error;
}

export async function findPaymentRow(db: Db, id: number): Promise<PaymentRow | undefined> {
  const [row] = await lookUp<PaymentRow>(db, 'select * from payments where id = $1', [id]);
  return row;
}

export function getPaymentRow(tx: Tx, id: number): Promise<PaymentRow> {
  return tx.selectFrom('payments').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
}

/** Comes after the lock of the payment's account, if it has one. */
export function lockPayment(tx: Tx, id: number): Promise<PaymentRow | undefined> {
  return tx.selectFrom('payments').selectAll().where('id', '=', id).forNoKeyUpdate().executeTakeFirst();
}

export function setAssigned(tx: Tx, id: number, accountId: number): Promise<PaymentRow> {
  return tx
    .updateTable('payments')
    .set({
      account_id: accountId,
      status: 'matched',
      match_method: 'assigned',
      updated_at: sql`business_now()`,
    })
    .where('id', '=', id)
    .where('status', '=', 'unmatched')
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** The account's money no longer: the method and the reason of the match go with it. */
export function setUnassigned(tx: Tx, id: number): Promise<PaymentRow> {
  return tx
    .updateTable('payments')
    .set({
      account_id: null,
      status: 'unmatched',
      match_method: null,
      match_reason: null,
      updated_at: sql`business_now()`,
    })
    .where('id', '=', id)
    .where('status', '=', 'matched')
    .returningAll()
    .executeTakeFirstOrThrow();
}

export function setReversed(tx: Tx, id: number, reason: string, reversedAt: Date): Promise<PaymentRow> {
  return tx
    .updateTable('payments')
    .set({
      status: 'reversed',
      reversed_at: reversedAt,
      reversal_reason: reason,
      updated_at: sql`business_now()`,
    })
    .where('id', '=', id)
    .where('status', '!=', 'reversed')
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** The provider's payment with a TransID, whatever became of it. */
export function providerPayment({ name, transId }: ProviderTransaction): RawBuilder<PaymentRow> {
  return sql`select * from payments where provider = ${name} and provider_trans_id = ${transId}`;
}

/**
 * Until the transaction ends, whoever else books money under the same reference waits: staff and the
 * provider may tell of one transaction at the same moment, and no constraint spans payment methods. It
 * comes before every other lock.
 */
export async function lockReference(tx: Tx, reference: string): Promise<void> {
  await referenceLock(reference).execute(tx);
}

/** The statement of `lockReference`, to be sent together with others. */
export function referenceLock(reference: string): RawBuilder<unknown> {
  const key = `payment reference ${referenceKey(reference)}`;
  return sql`select pg_advisory_xact_lock(hashtextextended(${key}, 0))`;
}

/** A payment that staff recorded, with the role that the person who recorded it has today; null for the system. */
export type ManualPayment = PaymentRow & { recorder_role: UserRole | null };

/**
 * Payments that staff recorded under the provider's transaction id, by whichever method, not reversed and not linked to
 * a notification; locked. Those of the reported amount come first.
 */
export function manualPaymentsLock(transId: string, amountMinor: number): RawBuilder<ManualPayment> {
  return sql`
    select p.*, u.role as recorder_role from payments p left join users u on u.id = p.created_by
    where p.reference_key = ${referenceKey(transId)} and p.status <> 'reversed' and p.provider is null
    order by p.amount_minor = ${amountMinor}::bigint desc, p.id for no key update of p`;
}

/** Payments recorded by hand that compete for the transaction of a notification; not locked. */
export async function findManualPayments(tx: Tx, transId: string): Promise<PaymentRow[]> {
  const { rows } = await sql<PaymentRow>`
    select * from payments
    where reference_key = ${referenceKey(transId)} and ${NOT_REVERSED} and provider is null order by id`.execute(
    tx,
  );
  return rows;
}

/** Makes a payment that was recorded by hand the one payment of the provider's transaction. */
export async function linkToProvider(tx: Tx, id: number, provider: ProviderTransaction): Promise<void> {
  await tx
    .updateTable('payments')
    .set({
      provider: provider.name,
      provider_trans_id: provider.transId,
      // Staff may have taken it back from its account; then nothing has found one yet.
      match_method: sql`case when account_id is null then null else 'hand_entry'::match_method end`,
      match_reason: null,
      updated_at: sql`business_now()`,
    })
    .where('id', '=', id)
    .execute();
}

/** Takes the provider's transaction from a payment that is, or is about to be, reversed: another payment may hold it. */
export async function unlinkFromProvider(tx: Tx, id: number): Promise<void> {
  await tx
    .updateTable('payments')
    .set({ provider: null, provider_trans_id: null, updated_at: sql`business_now()` })
    .where('id', '=', id)
    .execute();
}

/** All payments, or those of one account. */
export async function listPayments(db: Db, currency: Currency, plan: ListPlan, accountId?: number) {
  const page = await fetchPage<PaymentRow>(db, plan, {
    select: sql`select p.* from payments p`,
    from: sql`from payments p`,
    ...(accountId !== undefined && { where: [sql<boolean>`p.account_id = ${accountId}`], byKey: true }),
  });
  return { ...page, rows: page.rows.map((row) => toPayment(row, currency)) };
}

export function toPayment(row: PaymentRow, currency: Currency) {
  return {
    id: row.id,
    accountId: row.account_id,
    accountNumber: row.account_id === null ? null : formatAccountNumber(row.account_id),
    amount: amountOf(row.amount_minor, currency),
    currency: currency.code,
    paymentMethodId: row.payment_method_id,
    transactionRef: row.transaction_ref,
    paymentDate: row.payment_date,
    status: row.status,
    source: row.source,
    matchMethod: row.match_method,
    matchReason: row.match_reason ?? reasonOf(row.match_method),
    reconciliationId: row.reconciliation_id,
    reconciliationDate: row.reconciliation_date,
    reversedAt: row.reversed_at,
    reversalReason: row.reversal_reason,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

/** What is learned is explained where it is stored: by the assignment that it came from. */
function reasonOf(method: MatchMethod | null): string | null {
  return method === null || method === 'learned' ? null : REASON[method];
}
