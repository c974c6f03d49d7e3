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
  const [row] = await lookUp(db, sql<PaymentRow>`select * from payments where id = ${id}`);
  return row;
}

export interface PaymentDetails {
  id: number;
  recordedBy: string | null;
  reversedBy: string | null;
  approvedBy: string | null;
  correctedByPaymentId: number | null;
  /** A notification in conflict with the payment. */
  conflictId: number | null;
  statementId: number | null;
  hasPendingApproval: boolean;
}

/**
 * Finds who recorded, reversed and approved payments, which payments correct them, and what forbids a correction. Who reversed a payment is
 * in the audit log, also for payments of earlier versions, but not for reversals that a portfolio import has written.
 */
export async function findPaymentDetails(
  db: Db,
  ids: readonly number[],
): Promise<Map<number, PaymentDetails>> {
  if (ids.length === 0) return new Map();
  const rows = await lookUp(
    db,
    sql<PaymentDetails>`select p.id, case when p.source <> 'import' then coalesce(u.email, 'api key ' || k.name) end as "recordedBy",
      coalesce(q.requester, r.actor) as "reversedBy", q.approver as "approvedBy", c.id as "correctedByPaymentId",
      exists (select from approvals w where w.status = 'pending' and w.payment_id = p.id) as "hasPendingApproval",
      coalesce(
        (select min(n.id) from notifications n where n.trans_id = p.reference_key and n.outcome = 'conflict'),
        (select min(n.id) from notifications n where n.conflict_payment_id = p.id and n.outcome = 'conflict')
      ) as "conflictId",
      (select min(l.statement_id) from provider_statement_lines l where l.receipt = p.reference_key and l.is_payment) as "statementId"
    from payments p
      left join users u on u.id = p.created_by
      left join api_keys k on k.id = p.api_key_id
      left join payments c on c.corrects_payment_id = p.id
      left join lateral (
        select actor, (after->>'approvalId')::bigint as approval_id from audit_entries
        where p.status = 'reversed' and resource = 'payment' and resource_id = p.id and action = 'payment.reverse'
        order by id desc limit 1
      ) r on true
      left join lateral (
        select coalesce(s.email, 'api key ' || y.name) as requester, d.email as approver
        from approvals a left join users s on s.id = a.requested_by left join api_keys y on y.id = a.api_key_id
          left join users d on d.id = a.decided_by
        where a.id = r.approval_id
      ) q on true
    where p.id = any(${ids}::bigint[])`,
  );
  return new Map(rows.map((row) => [row.id, row]));
}

/** Locks payments in the order of their ids (locks.ts). */
export async function lockPaymentRows(tx: Tx, ids: readonly number[]): Promise<Map<number, PaymentRow>> {
  if (ids.length === 0) return new Map();
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

export function listPayments(
  db: Db,
  plan: ListPlan,
  accountId?: number,
): Promise<Page<PaymentRow, 'amount'>> {
  return fetchPage<PaymentRow, 'amount'>(db, plan, {
    select: sql`select p.* from payments p`,
    from: sql`from payments p`,
    sums: { amount: sql`sum(p.amount_minor) filter (where p.status <> 'reversed')` },
    ...PAYMENT_COLUMNS,
    ...(accountId !== undefined && { where: [sql<boolean>`p.account_id = ${accountId}`], byKey: true }),
  });
}
