import { sql } from 'kysely';
import type { Db, Tx } from '../core/database/db.ts';
import { lookUp } from '../core/database/statements.ts';
import type { Page } from '../core/http/envelope.ts';
import { fetchPage } from '../core/lists/page.ts';
import type { ListPlan } from '../core/lists/query.ts';
import type { ListColumns } from '../core/lists/sql.ts';
import { type PaymentRow, referenceKey } from './rules.ts';

export interface ProviderTransaction {
  name: string;
  transId: string;
}

export async function findPaymentRow(db: Db, id: number): Promise<PaymentRow | undefined> {
  const [row] = await lookUp<PaymentRow>(db, 'select * from payments where id = $1', [id]);
  return row;
}

export function getPaymentRow(tx: Tx, id: number): Promise<PaymentRow> {
  return tx.selectFrom('payments').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
}

/** Locks payments, ids ascending. The locks come after those of the payments' accounts. */
export async function lockPaymentRows(tx: Tx, ids: readonly number[]): Promise<Map<number, PaymentRow>> {
  const { rows } = await sql<PaymentRow>`
    select * from payments where id = any(${[...ids]}::bigint[]) order by id for no key update`.execute(tx);
  return new Map(rows.map((row) => [row.id, row]));
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

/**
 * Until the transaction ends, whoever else posts money under the same reference waits: staff and the provider may report
 * one transaction at the same moment, and no constraint spans payment methods. It comes before every other lock.
 */
export async function lockReference(tx: Tx, reference: string): Promise<void> {
  const name = referenceLockName(referenceKey(reference));
  await sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`.execute(tx);
}

/** @param key as `referenceKey` gives it. */
export function referenceLockName(key: string): string {
  return `payment reference ${key}`;
}

/** Payments recorded by hand that compete for the transaction of a notification; not locked. */
export async function findManualPayments(tx: Tx, transId: string): Promise<PaymentRow[]> {
  const { rows } = await sql<PaymentRow>`
    select * from payments
    where reference_key = ${referenceKey(transId)} and status <> 'reversed' and provider is null order by id`.execute(
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
      match_method: sql`case when account_id is null then null else 'manual_entry'::match_method end`,
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

/** A reconciliation lists its payments. Their primary key finds them; reconciliation_id has no index. */
export const PAYMENT_COLUMNS: ListColumns = {
  indexed: {
    reconciliationId: ({ operator, values }, usual) =>
      operator === 'eq' || operator === 'in'
        ? sql`(${usual} and p.id = any(array(
            select unnest(payment_ids) from reconciliations where id = any(${values}::bigint[]))))`
        : usual,
  },
};

/** All payments, or those of one account. */
export function listPayments(db: Db, plan: ListPlan, accountId?: number): Promise<Page<PaymentRow>> {
  return fetchPage<PaymentRow>(db, plan, {
    ...PAYMENT_COLUMNS,
    select: sql`select p.* from payments p`,
    from: sql`from payments p`,
    ...(accountId !== undefined && { where: [sql<boolean>`p.account_id = ${accountId}`], byKey: true }),
  });
}
