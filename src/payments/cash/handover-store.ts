import { sql } from 'kysely';
import type { Db, Tx } from '../../core/database/db.ts';
import { violatedUnique } from '../../core/database/postgres-errors.ts';
import type { Page } from '../../core/http/envelope.ts';
import { duplicate } from '../../core/http/errors.ts';
import { fetchPage } from '../../core/lists/page.ts';
import type { ListPlan } from '../../core/lists/query.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import type { Minor } from '../../core/values/money.ts';
import { type HandoverRow, type HolderKey, slipKey, type Visible } from './rules.ts';

export interface NewHandover {
  fromUserId: number;
  paymentMethodId: number;
  /** Null: the bank. */
  toUserId: number | null;
  amountMinor: Minor;
  slipNumber: string | null;
}

/** @throws AppError DUPLICATE_ENTRY if another hand-over to the bank has the slip number. */
export async function insertHandover(tx: Tx, handover: NewHandover): Promise<HandoverRow> {
  const { slipNumber, paymentMethodId } = handover;
  const key = slipNumber === null ? null : slipKey(slipNumber);
  try {
    return await tx
      .insertInto('cash_handovers')
      .values({
        from_user_id: handover.fromUserId,
        payment_method_id: paymentMethodId,
        to_user_id: handover.toUserId,
        amount_minor: handover.amountMinor,
        slip_number: slipNumber,
        slip_key: key,
        status: handover.toUserId === null ? 'deposited' : 'pending',
      })
      .returningAll()
      .executeTakeFirstOrThrow();
  } catch (error) {
    if (violatedUnique(error) !== 'cash_handovers_slip') throw error;
    throw duplicate('cash_handover', 'slipNumber');
  }
}

export async function findHandoverRow(db: Db, id: number): Promise<HandoverRow | undefined> {
  return db.selectFrom('cash_handovers').selectAll().where('id', '=', id).executeTakeFirst();
}

/** Locks a hand-over. Lock its holders first. */
export async function lockHandover(tx: Tx, id: number): Promise<HandoverRow> {
  return tx
    .selectFrom('cash_handovers')
    .selectAll()
    .where('id', '=', id)
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow();
}

export interface HandoverEnding {
  status: 'received' | 'unequal' | 'withdrawn' | 'confirmed' | 'rejected';
  decidedBy: number;
  receivedMinor?: Minor;
  statementDate?: PlainDate;
  statementText?: string;
  reason?: string;
}

export function endHandover(tx: Tx, id: number, ending: HandoverEnding): Promise<HandoverRow> {
  return tx
    .updateTable('cash_handovers')
    .set({
      status: ending.status,
      decided_by: ending.decidedBy,
      decided_at: sql`business_now()`,
      received_minor: ending.receivedMinor,
      statement_date: ending.statementDate,
      statement_text: ending.statementText,
      reason: ending.reason,
      updated_at: sql`business_now()`,
    })
    .where('id', '=', id)
    .where('status', 'in', ['pending', 'deposited'])
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** Locks the hand-overs from and to a holder that wait for a count of the receiver. The transaction has locked the holder. */
export async function lockPendingHandovers(tx: Tx, { holderId, paymentMethodId }: HolderKey) {
  const { rows } = await sql<HandoverRow>`
    select * from cash_handovers
    where status = 'pending' and payment_method_id = ${paymentMethodId}
      and (from_user_id = ${holderId} or to_user_id = ${holderId})
    order by id for no key update`.execute(tx);
  return rows;
}

export interface NewMove extends HolderKey {
  amountMinor: Minor;
  handoverId?: number;
  settlementId?: number;
}

/** Adds moves of cash. The transaction has locked their holders. */
export async function insertMoves(tx: Tx, moves: readonly NewMove[]): Promise<void> {
  await tx
    .insertInto('cash_moves')
    .values(
      moves.map((move) => ({
        holder_id: move.holderId,
        payment_method_id: move.paymentMethodId,
        amount_minor: move.amountMinor,
        handover_id: move.handoverId ?? null,
        settlement_id: move.settlementId ?? null,
      })),
    )
    .execute();
}

export type ListedHandover = HandoverRow & {
  giver: string;
  receiver: string | null;
  decider: string | null;
  method: string;
};

const HANDOVERS = sql`
  from cash_handovers v join users g on g.id = v.from_user_id left join users t on t.id = v.to_user_id
  left join users d on d.id = v.decided_by join payment_methods m on m.id = v.payment_method_id`;
const HANDOVER = sql<ListedHandover>`
  select v.*, g.first_name || ' ' || g.last_name as giver, t.first_name || ' ' || t.last_name as receiver,
    d.first_name || ' ' || d.last_name as decider, m.name as method ${HANDOVERS}`;

export function listHandovers(db: Db, plan: ListPlan, visible: Visible): Promise<Page<ListedHandover>> {
  return fetchPage<ListedHandover>(db, plan, {
    select: HANDOVER,
    from: HANDOVERS,
    where:
      visible === 'all'
        ? []
        : [sql<boolean>`(v.from_user_id = ${visible.userId} or v.to_user_id = ${visible.userId})`],
  });
}

export async function findHandover(db: Db, id: number): Promise<ListedHandover | undefined> {
  const { rows } = await sql<ListedHandover>`${HANDOVER} where v.id = ${id}`.execute(db);
  return rows[0];
}

/** The hand-overs of a user that have not ended: those that wait for the user, and those that the user started. */
export async function findOpenHandovers(db: Db, userId: number): Promise<ListedHandover[]> {
  const { rows } = await sql<ListedHandover>`
    ${HANDOVER} where v.status in ('pending', 'deposited') and (v.from_user_id = ${userId} or v.to_user_id = ${userId})
    order by v.id`.execute(db);
  return rows;
}
