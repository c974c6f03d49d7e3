import { type RawBuilder, type Selectable, sql } from 'kysely';
import { formatAccountNumber } from '../accounts/account-number-rules.ts';
import { amountOf, type Currency } from '../core/context.ts';
import type { Db, Tx } from '../core/database/db.ts';
import { violatedUnique } from '../core/database/postgres-errors.ts';
import type { CreditMoves } from '../core/database/tables.ts';
import { duplicate } from '../core/http/errors.ts';
import { fetchPage } from '../core/lists/page.ts';
import type { ListPlan } from '../core/lists/query.ts';
import type { PlainDate } from '../core/values/dates.ts';
import type { Minor } from '../core/values/money.ts';
import { referenceKey } from '../payments/rules.ts';

export type CreditMoveRow = Selectable<CreditMoves>;

export interface NewCreditMoveRow {
  accountId: number;
  /** Null for a refund, which has a payment method instead. */
  toAccountId: number | null;
  paymentMethodId: number | null;
  transactionRef: string | null;
  amountMinor: Minor;
  reason: string;
  valueDate: PlainDate;
  createdBy: number | null;
}

/** @throws AppError DUPLICATE_ENTRY when a refund by the method has the reference already. */
export async function insertCreditMove(tx: Tx, move: NewCreditMoveRow): Promise<CreditMoveRow> {
  try {
    return await tx
      .insertInto('credit_moves')
      .values({
        account_id: move.accountId,
        to_account_id: move.toAccountId,
        amount_minor: move.amountMinor,
        reason: move.reason,
        payment_method_id: move.paymentMethodId,
        transaction_ref: move.transactionRef,
        reference_key: move.transactionRef === null ? null : referenceKey(move.transactionRef),
        value_date: move.valueDate,
        created_by: move.createdBy,
      })
      .returningAll()
      .executeTakeFirstOrThrow();
  } catch (error) {
    if (violatedUnique(error)) throw duplicate('refund', 'transactionRef', refundWith(move));
    throw error;
  }
}

function refundWith({ transactionRef, paymentMethodId }: NewCreditMoveRow) {
  return sql<{ id: number }>`
    select id from credit_moves
    where reference_key = ${referenceKey(transactionRef ?? '')} and payment_method_id = ${paymentMethodId}`;
}

/** The moves of credit off an account and onto it. */
export function listCreditMovesOf(db: Db, currency: Currency, plan: ListPlan, accountId: number) {
  const isOf = sql<boolean>`(m.account_id = ${accountId} or m.to_account_id = ${accountId})`;
  return listCreditMoves(db, currency, plan, [isOf]);
}

export async function listCreditMoves(
  db: Db,
  currency: Currency,
  plan: ListPlan,
  where: RawBuilder<boolean>[] = [],
) {
  const page = await fetchPage<CreditMoveRow & { actor: string }>(db, plan, {
    computed: { kind: sql`(case when m.to_account_id is null then 'refund' else 'transfer' end)` },
    select: sql`
      select m.*, coalesce(u.email, 'system') as actor
      from credit_moves m left join users u on u.id = m.created_by`,
    from: sql`from credit_moves m`,
    where,
  });
  return { ...page, rows: page.rows.map((row) => toCreditMove(row, row.actor, currency)) };
}

export function toCreditMove(row: CreditMoveRow, actor: string, currency: Currency) {
  const to = row.to_account_id;
  return {
    id: row.id,
    kind: to === null ? ('refund' as const) : ('transfer' as const),
    accountId: row.account_id,
    accountNumber: formatAccountNumber(row.account_id),
    toAccountId: to,
    toAccountNumber: to === null ? null : formatAccountNumber(to),
    amount: amountOf(row.amount_minor, currency),
    currency: currency.code,
    reason: row.reason,
    paymentMethodId: row.payment_method_id,
    transactionRef: row.transaction_ref,
    valueDate: row.value_date,
    actor,
    createdAt: row.created_at,
  };
}
