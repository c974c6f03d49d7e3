import { type Selectable, sql } from 'kysely';
import type { Db, Tx } from '../../core/database/db.ts';
import { violatedUnique } from '../../core/database/postgres-errors.ts';
import type { CreditMoves } from '../../core/database/tables.ts';
import type { Page } from '../../core/http/envelope.ts';
import { duplicate } from '../../core/http/errors.ts';
import { fetchPage } from '../../core/lists/page.ts';
import type { ListPlan } from '../../core/lists/query.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import type { Minor } from '../../core/values/money.ts';
import { referenceKey } from '../../core/values/reference.ts';

export type CreditMoveRow = Selectable<CreditMoves>;

export interface NewCreditMoveRow {
  accountId: number;
  /** Null for a refund. */
  toAccountId: number | null;
  paymentMethodId: number | null;
  transactionRef: string | null;
  amountMinor: Minor;
  reason: string;
  valueDate: PlainDate;
  createdBy: number | null;
}

/** @throws AppError DUPLICATE_ENTRY if another refund with the same payment method has the reference. */
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

/** The credit that left an account on a day, by transfers and refunds. */
export async function sumMovedCredit(tx: Tx, accountId: number, day: PlainDate): Promise<Minor> {
  const { rows } = await sql<{ sum: string }>`
    select coalesce(sum(amount_minor), 0)::text as sum from credit_moves
    where account_id = ${accountId} and value_date = ${day}`.execute(tx);
  return BigInt(rows[0]?.sum ?? 0);
}

function refundWith({ transactionRef, paymentMethodId }: NewCreditMoveRow) {
  return sql<{ id: number }>`
    select id from credit_moves
    where reference_key = ${referenceKey(transactionRef ?? '')} and payment_method_id = ${paymentMethodId}`;
}

/** A credit move, with the e-mail of the user who recorded it, or `system` if no user did. */
export type ListedCreditMove = CreditMoveRow & { actor: string };

/** @param accountId - limits the list to moves from or to this account. */
export function listCreditMoves(db: Db, plan: ListPlan, accountId?: number): Promise<Page<ListedCreditMove>> {
  return fetchPage<ListedCreditMove>(db, plan, {
    computed: { kind: sql`(case when m.to_account_id is null then 'refund' else 'transfer' end)` },
    select: sql`
      select m.*, coalesce(u.email, 'system') as actor
      from credit_moves m left join users u on u.id = m.created_by`,
    from: sql`from credit_moves m`,
    where:
      accountId === undefined
        ? []
        : [sql<boolean>`(m.account_id = ${accountId} or m.to_account_id = ${accountId})`],
  });
}
