import { sql } from 'kysely';
import type { Db, Tx } from '../core/database/db.ts';
import { lookUp } from '../core/database/statements.ts';
import type { MatchMethod } from '../core/database/tables.ts';
import type { Page } from '../core/http/envelope.ts';
import { type ExternalValues, takenExternalId } from '../core/http/external-ids.ts';
import { fetchPage } from '../core/lists/page.ts';
import type { ListPlan } from '../core/lists/query.ts';
import type { ListColumns } from '../core/lists/sql.ts';
import type { PaymentRow } from './rules.ts';

export async function findPaymentRow(db: Db, id: number): Promise<PaymentRow | undefined> {
  const [row] = await lookUp<PaymentRow>(db, 'select * from payments where id = $1', [id]);
  return row;
}

/** Locks payments in the order of their ids. A caller that also locks accounts must lock the accounts first. */
export async function lockPaymentRows(tx: Tx, ids: readonly number[]): Promise<Map<number, PaymentRow>> {
  const { rows } = await sql<PaymentRow>`
    select * from payments where id = any(${[...ids]}::bigint[]) order by id for no key update`.execute(tx);
  return new Map(rows.map((row) => [row.id, row]));
}

export function setAssigned(
  tx: Tx,
  id: number,
  accountId: number,
  method: Extract<MatchMethod, 'assigned' | 'payment_request'>,
): Promise<PaymentRow> {
  return tx
    .updateTable('payments')
    .set({
      account_id: accountId,
      status: 'matched',
      match_method: method,
      updated_at: sql`business_now()`,
    })
    .where('id', '=', id)
    .where('status', '=', 'unmatched')
    .returningAll()
    .executeTakeFirstOrThrow();
}

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

/** @throws AppError DUPLICATE_ENTRY if another payment has the external id. */
export function updateExternalFields(
  tx: Tx,
  id: number,
  { externalId, metadata }: ExternalValues,
): Promise<PaymentRow> {
  return tx
    .updateTable('payments')
    .set({ external_id: externalId, metadata, updated_at: sql`business_now()` })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
    .catch((error: unknown) => {
      throw takenExternalId(error, 'payment', externalId) ?? error;
    });
}

/**
 * Finds the manual payments with this reference, and one with a similar reference, that are not reversed and not linked to a
 * provider. Does not lock them.
 * @param key - the reference in the form of `referenceKey`.
 * @param conflictingId - the payment with which the notification is in conflict.
 */
export async function findManualPayments(
  tx: Tx,
  key: string,
  conflictingId: number | null,
): Promise<PaymentRow[]> {
  const { rows } = await sql<PaymentRow>`
    select * from payments
    where (reference_key = ${key} or id = ${conflictingId}) and status <> 'reversed' and provider is null order by id`.execute(
    tx,
  );
  return rows;
}

/**
 * Whether an earlier version stored the payment under a reference with quotes, beside another payment or notification that has the
 * reference without them. An index finds these payments.
 */
const HAS_DUPLICATE_REFERENCE = sql<boolean>`(
  p.reference_key <> without_quotes(p.reference_key) and p.status <> 'reversed')`;

/** The filter `reconciliationId` uses `reconciliations.payment_ids`, because `payments.reconciliation_id` has no index. */
export const PAYMENT_COLUMNS: ListColumns = {
  computed: { hasDuplicateReference: sql`coalesce(${HAS_DUPLICATE_REFERENCE}, false)` },
  indexed: {
    hasDuplicateReference: ({ operator, values }, usual) =>
      operator === 'eq' && values[0] === true ? HAS_DUPLICATE_REFERENCE : usual,
    reconciliationId: ({ operator, values }, usual) =>
      operator === 'eq' || operator === 'in'
        ? sql`(${usual} and p.id = any(array(
            select unnest(payment_ids) from reconciliations where id = any(${values}::bigint[]))))`
        : usual,
  },
};

export function listPayments(db: Db, plan: ListPlan, accountId?: number): Promise<Page<PaymentRow>> {
  return fetchPage<PaymentRow>(db, plan, {
    select: sql`select p.* from payments p`,
    from: sql`from payments p`,
    ...PAYMENT_COLUMNS,
    ...(accountId !== undefined && { where: [sql<boolean>`p.account_id = ${accountId}`], byKey: true }),
  });
}
